#include "workloads.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "kernel/half_kernel.h"
#include "krylov/square_cell.h"
#include "partition/center_tree.h"
#include "partition/centers.h"
#include "partition/hashes.h"
#include "predict/evaluate.h"
#include "predict/gradient.h"
#include "smo/paths.h"

namespace localsvm::check {

namespace {

// FNV-1a of bytes.
class Digest {
 public:
  template <typename T>
  void add(const T* values, size_t n) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values);
    for (size_t b = 0; b < n * sizeof(T); ++b) hash_ = (hash_ ^ bytes[b]) * 0x100000001b3;
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size());
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

// Numbers made of integers and sums, so that they are the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  float uniform() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<float>(state_ >> 40) * 0x1p-24f;
  }
  float bell() {
    float sum = -4;
    for (int i = 0; i < 8; ++i) sum += uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

struct Sample {
  Sample(int n_rows, int n_columns, uint64_t seed) : n(n_rows), d(n_columns), X(static_cast<size_t>(n) * d), y(n), side(n) {
    Random random(seed);
    for (float& x : X) x = random.bell();
    for (int i = 0; i < n; ++i) {
      const float* const x = X.data() + static_cast<size_t>(i) * d;
      y[i] = x[0] * x[d - 1] + 0.3f * random.bell();
      side[i] = y[i] > 0.1f * random.bell() ? 1.0f : -1.0f;
    }
    for (int fold = 1; fold <= 4; ++fold) fold_ends.push_back(n * fold / 4);
  }
  int n, d;
  std::vector<float> X, y, side;
  std::vector<int> fold_ends;
};

const std::vector<double> kLams = {0.3, 0.03, 3e-3, 3e-4, 1e-5};

// The boxes of the hinge and of the pinball loss.
void add_problem(Cell& cell, const Sample& sample, const std::vector<int>& rows, bool is_hinge) {
  std::vector<float> target, lo, hi;
  for (const int i : rows) {
    const float side = sample.side[i], weight = i % 7 == 0 ? 0.37f : 1.0f;
    target.push_back(is_hinge ? side : sample.y[i]);
    lo.push_back(is_hinge ? std::min(side, 0.0f) * weight : -0.3f);
    hi.push_back(is_hinge ? std::max(side, 0.0f) * weight : 0.7f);
  }
  cell.add_problem(target.data(), lo.data(), hi.data(), is_hinge ? 1.0f : 20.0f);
}

uint64_t boxes(int n, Kernel kernel, float width, bool is_hinge, const Way& way) {
  const Sample sample(n, 7, 1);
  const StoragePlan plan(sample.n, sample.d, way.max_bytes, way.n_threads);
  Cell cell(sample.X.data(), sample.n, sample.d, sample.fold_ends, kernel, plan, way.n_threads, nullptr);
  std::vector<int> all(sample.n), some;
  for (int i = 0; i < sample.n; ++i) {
    all[i] = i;
    if (i % 3 != 1) some.push_back(i);
  }
  add_problem(cell, sample, all, is_hinge);
  Cell part(cell, some, nullptr);
  add_problem(part, sample, some, is_hinge);
  Digest digest;
  std::vector<float> guesses;
  for (const float at : {width, 1.5f * width}) {
    cell.set_width(at, nullptr);
    const std::vector<double> totals(sample.fold_ends.size(), 0.75 * sample.n);
    const std::vector<PathJob> jobs{{&cell, 0, kLams, totals}, {&part, 0, kLams, totals}};
    const StopRule stop{1e-3, 20000, nullptr};
    const PathsResult found = solve_paths(jobs, {0, 1, 2, 3}, stop, way.n_threads, guesses.empty() ? nullptr : guesses.data());
    guesses.clear();
    for (int fold = 0; fold < 4; ++fold) {
      const auto first = found.beta.begin() + fold * found.n_lams * found.n_columns;
      guesses.insert(guesses.end(), first, first + found.n_columns);
    }
    digest.add(found.beta);
    digest.add(found.values);
    digest.add(found.gap);
    digest.add(found.status);
    digest.add(found.steps);
    digest.add(found.loss);
    digest.add(found.wrong);
  }
  return digest.value();
}

void add(Digest& digest, const SquareResult& found) {
  digest.add(found.beta);
  digest.add(found.values);
  digest.add(found.gap);
  digest.add(found.status);
  digest.add(found.steps);
}

uint64_t squares(int n, Kernel kernel, float width, const Way& way) {
  const Sample sample(n, 7, 2);
  const HalfPlan plan(sample.n, sample.d, way.max_bytes, way.n_threads);
  SquareCell cell(sample.X.data(), sample.n, sample.d, sample.fold_ends, kernel, plan, way.n_threads, nullptr);
  cell.set_width(width, nullptr);
  std::vector<int> some;
  for (int i = 0; i < sample.n; i += 2) some.push_back(i);
  SquareCell part(cell, some);
  std::vector<float> targets = sample.y, weight;
  targets.insert(targets.end(), sample.side.begin(), sample.side.end());
  for (int i = 0; i < sample.n; ++i) weight.push_back(i % 5 == 0 ? 0.3f : 1.0f);
  SquareProblem problem{};
  problem.targets = targets.data();
  problem.n_targets = 2;
  problem.weight = weight.data();
  problem.folds = {0, 1, 2, 3};
  problem.lams = kLams;
  problem.stop = {1e-3, 500, nullptr};
  problem.clip = {20, 2};
  Digest digest;
  add(digest, cell.solve_ridge(problem, way.n_threads));
  problem.patience = 1;
  add(digest, cell.solve_ridge(problem, way.n_threads));
  add(digest, cell.solve_expectile(problem, 0.8, way.n_threads));
  add(digest, part.solve_ridge(problem, way.n_threads));
  return digest.value();
}

uint64_t partitions(int n, const Way&) {
  const Sample sample(2 * n, 5, 3);
  const std::vector<double> counts(sample.n, 1.0);
  Digest digest;
  SplitRule by_size;
  by_size.largest_size = 60;
  by_size.tiny_size = 8;
  SplitRule by_radius;
  by_radius.by_radius = true;
  by_radius.largest_squared_radius = 1.5f;
  for (const SplitRule& rule : {by_size, by_radius}) {
    const Splitting found = farthest_first(sample.X.data(), sample.n, sample.d, counts.data(), rule, nullptr);
    digest.add(found.centers);
    digest.add(found.labels);
    digest.add(found.distances);
  }
  std::vector<int32_t> labels(sample.n);
  std::vector<float> distances(sample.n);
  nearest_centers(sample.X.data(), sample.n, sample.d, sample.X.data(), 37, labels.data(), distances.data(), nullptr);
  digest.add(labels);
  digest.add(distances);
  CenterTree tree(sample.d);
  std::vector<int64_t> leaves(sample.n);
  for (int i = 0; i < sample.n; ++i) leaves[i] = -1 - i;
  tree.add_node(sample.X.data(), leaves.data(), sample.n / 2);
  const Sample others(n, 5, 6);
  tree.descend(others.X.data(), others.n, labels.data(), distances.data());
  digest.add(labels.data(), others.n);
  digest.add(distances.data(), others.n);
  std::vector<uint64_t> hashes(sample.n);
  content_hashes(sample.X.data(), sample.n, sample.d, 5, hashes.data());
  digest.add(hashes);
  return digest.value();
}

std::vector<double> bounds_of(int n_outputs) {
  std::vector<double> bounds;
  for (int o = 0; o < n_outputs; ++o) bounds.insert(bounds.end(), {-30.0, 30.0});
  return bounds;
}

uint64_t predictions(int n, Kernel kernel, float width, const Way& way) {
  const Sample support(n - 7, 9, 4), points(n / 4, 9, 5);
  Digest digest;
  for (const int n_outputs : {1, 3, 6}) {
    std::vector<float> coefficients(static_cast<size_t>(n_outputs) * support.n);
    Random random(n_outputs);
    for (float& c : coefficients) c = random.bell();
    std::vector<int> outputs(n_outputs), slots(points.n, 0);
    std::iota(outputs.begin(), outputs.end(), 0);
    PackedCell cell(points.d, std::vector<double>(n_outputs, 0.1), bounds_of(n_outputs));
    cell.add({kernel, width, support.X.data(), support.n, support.d, coefficients.data(), outputs});
    std::vector<double> f(static_cast<size_t>(points.n) * n_outputs);
    evaluate_rows(points.X.data(), slots, {&cell}, way.n_threads, f.data());
    digest.add(f);
    const KernelSums sums{kernel, width, support.X.data(), support.n, support.d, coefficients.data(), n_outputs};
    std::vector<float> slopes(f.size() * points.d);
    gradients(sums, points.X.data(), points.n, way.n_threads, slopes.data());
    digest.add(slopes);
    const std::vector<double> weights(points.n, 0.7);
    std::vector<double> squares(static_cast<size_t>(n_outputs) * points.d);
    mean_squared_gradients(sums, points.X.data(), weights.data(), points.n, way.n_threads, squares.data());
    digest.add(squares);
  }
  return digest.value();
}

constexpr int kThreads = 4;

// All that is stored, the kernel only, and a few rows of it.
std::vector<Way> ways_of(const std::function<MatrixBytes(int n_threads)>& bytes) {
  std::vector<Way> ways{{1, SIZE_MAX}, {kThreads, SIZE_MAX}};
  for (const int n_threads : {1, kThreads}) {
    ways.push_back({n_threads, bytes(n_threads).kernel_only()});
    ways.push_back({n_threads, bytes(n_threads).smallest()});
  }
  return ways;
}

}  // namespace

std::vector<Workload> all_workloads(int n) {
  const std::vector<Way> box_ways = ways_of([n](int t) { return StoragePlan::bytes(n, 7, t); });
  const std::vector<Way> square_ways = ways_of([n](int t) { return HalfPlan::bytes(n, 7, t); });
  const std::vector<Way> by_threads{{1, SIZE_MAX}, {kThreads, SIZE_MAX}};
  const struct {
    const char* name;
    Kernel kernel;
    float width;
  } kernels[] = {{"gauss", Kernel::gauss, 2.0f}, {"laplace", Kernel::laplace, 3.0f}, {"manhattan", Kernel::manhattan, 8.0f}};
  std::vector<Workload> found{{"partition", [n](const Way& way) { return partitions(n, way); }, {Way{}}}};
  for (const auto& [name, kernel, width] : kernels) {
    const auto add = [&, of = std::string(", ") + name, k = kernel, w = width](const char* what, const auto& work,
                                                                               const std::vector<Way>& ways) {
      found.push_back({what + of, [=](const Way& way) { return work(k, w, way); }, ways});
    };
    add("hinge", [n](Kernel k, float w, const Way& way) { return boxes(n, k, w, true, way); }, box_ways);
    add("pinball", [n](Kernel k, float w, const Way& way) { return boxes(n, k, w, false, way); }, box_ways);
    add("squares", [n](Kernel k, float w, const Way& way) { return squares(n, k, w, way); }, square_ways);
    add("narrow squares", [n](Kernel k, float w, const Way& way) { return squares(n, k, 0.2f * w, way); }, square_ways);
    add("prediction", [n](Kernel k, float w, const Way& way) { return predictions(n, k, w, way); }, by_threads);
    add("narrow prediction", [n](Kernel k, float w, const Way& way) { return predictions(n, k, 0.05f * w, way); },
        by_threads);
  }
  return found;
}

}  // namespace localsvm::check
