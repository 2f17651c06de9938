#include "smo/cell.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/folds.h"
#include "core/parallel.h"
#include "kernel/neighbours.h"

namespace localsvm {

namespace {

constexpr int kBlock = 32;  // rows computed at a time: the samples are read once for all of them

// Memory for the rows that a thread computes and that are not stored.
class BuildScratch {
 public:
  BuildScratch(size_t ld, int n_threads) : ld_(ld), values_(ld * kBlock * n_threads, Uninitialized{}) {}
  float* row(int thread, int r) { return values_.data() + ld_ * (static_cast<size_t>(thread) * kBlock + r); }

 private:
  size_t ld_;
  Aligned<float> values_;
};

// out[r] is the memory of row rows.begin + r.
template <typename RowOf>
void point_to_rows(Range rows, float** out, const RowOf& row_of) {
  for (int r = 0; r < rows.size(); ++r) out[r] = row_of(r);
}

}  // namespace

// Samples are not needed once all distances are stored, but they are while these are computed.
MatrixBytes StoragePlan::bytes(size_t n, size_t n_features, size_t n_threads) {
  const size_t row = padded(n) * sizeof(float);
  return {row * n_features + n * kNeighbourBytes, n * row, row * kBlock * n_threads,
          std::min(n, kMaxPinned * n_threads) * row};
}

StoragePlan::StoragePlan(int n, int n_features, size_t max_bytes, int n_threads) {
  const MatrixBytes needed = bytes(n, n_features, n_threads);
  storage = needed.choose(max_bytes, n, n_features);
  if (storage != Storage::rows) return;
  const size_t row = padded(n) * sizeof(float);
  n_rows = static_cast<int>(std::min<size_t>(n, (max_bytes - needed.always - needed.scratch) / row));
}

Cell::Cell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel, const StoragePlan& plan,
           int n_threads, const CancelFlag* cancelled)
    : n_(n),
      ld_(padded(n)),
      fold_ends_(std::move(fold_ends)),
      kernel_(kernel),
      plan_(plan),
      n_threads_(n_threads),
      samples_(X, n, n_features),
      near_distances_(padded(n) * kNeighbours),
      near_(padded(n)) {
  const bool full = plan.storage == Storage::full;
  if (full) distances_ = Aligned<float>(ld_ * n, Uninitialized{});
  if (plan.storage != Storage::rows) K_ = Aligned<float>(ld_ * n, Uninitialized{});
  if (plan.storage == Storage::rows) cache_ = std::make_unique<RowCache>(samples_, kernel, n, plan.n_rows);
  BuildScratch scratch(ld_, full ? 0 : n_threads);
  std::vector<NeighbourSearch> searches(n_threads, NeighbourSearch(n));
  for_blocks(n, kBlock, n_threads, cancelled, [&](int thread, Range rows) {
    int index[kBlock];
    float* out[kBlock];
    std::iota(index, index + rows.size(), rows.begin);
    point_to_rows(rows, out, [&](int r) {
      return full ? distances_.data() + ld_ * (rows.begin + r) : scratch.row(thread, r);
    });
    samples_.distances(kernel_, index, rows.size(), {0, static_cast<int>(ld_)}, out);
    // While the rows are in the processor's cache.
    for (int r = 0; r < rows.size(); ++r) find_neighbours(searches[thread], rows.begin + r, out[r]);
  });
  if (full) samples_ = Samples();
}

Cell::Cell(const Cell& whole, std::vector<int> rows, const CancelFlag* cancelled)
    : n_(static_cast<int>(rows.size())),
      ld_(padded(rows.size())),
      fold_ends_(ends_within(rows, whole.fold_ends_)),
      kernel_(whole.kernel_),
      plan_(Storage::kernel),
      n_threads_(1),
      whole_(&whole),
      rows_of_whole_(std::move(rows)),
      near_distances_(padded(n_) * kNeighbours),
      near_(padded(n_)) {
  Aligned<float> distances(ld_);
  NeighbourSearch search(n_);
  for (int i = 0; i < n_ && !is_set(cancelled); ++i) {
    copy_distances(i, distances.data());
    find_neighbours(search, i, distances.data());
  }
}

void Cell::find_neighbours(NeighbourSearch& search, int i, const float* distances) {
  int32_t* index = near_[i].index;
  search.find(distances, i, index);
  for (int c = 0; c < kNeighbours; ++c)
    if (index[c] < n_) near_distances_[static_cast<size_t>(i) * kNeighbours + c] = distances[index[c]];
}

void Cell::set_near_kernel() {
  float kernel[kPad * kNeighbours];
  for (int begin = 0; begin < n_; begin += kPad) {
    const float* distances = near_distances_.data() + static_cast<size_t>(begin) * kNeighbours;
    ops().kernel_values(kernel_, width_, distances, kernel, kPad * kNeighbours);
    for (int i = 0; i < kPad; ++i) std::copy_n(kernel + i * kNeighbours, kNeighbours, near_[begin + i].kernel);
  }
}

int Cell::add_problem(const float* target, const float* lo_unit, const float* hi_unit, float clip) {
  OwnedProblem problem{Aligned<float>(ld_),  Aligned<float>(ld_), Aligned<float>(ld_),
                       Aligned<double>(ld_), clip,                std::vector<double>(fold_ends_.size() * n_)};
  for (int i = 0; i < n_; ++i) {
    problem.target[i] = target[i];
    problem.lo_unit[i] = lo_unit[i];
    problem.hi_unit[i] = hi_unit[i];
    problem.at_bound[i] = target[i] > 0 ? hi_unit[i] : lo_unit[i];
  }
  problems_.push_back(std::move(problem));
  return n_problems() - 1;
}

void Cell::release_kernel() {
  K_ = Aligned<float>();
  n_prepared_ = 0;
}

void Cell::set_width(float width, const CancelFlag* cancelled) {
  width_ = width;
  try {
    fill_kernel(cancelled);
  } catch (...) {
    width_ = 0;
    throw;
  }
}

void Cell::fill_kernel(const CancelFlag* cancelled) {
  if (whole_ && !K_.data()) K_ = Aligned<float>(ld_ * n_, Uninitialized{});
  n_prepared_ = n_problems();
  set_near_kernel();
  if (cache_) cache_->set_width(width_);
  BuildScratch scratch(ld_, cache_ ? n_threads_ : 0);
  const bool full = plan_.storage == Storage::full;
  for_blocks(n_, kBlock, n_threads_, cancelled, [&](int thread, Range rows) {
    float* out[kBlock];
    point_to_rows(rows, out, [&](int r) {
      if (!cache_) return K_.data() + ld_ * (rows.begin + r);
      float* held = cache_->row_to_fill(rows.begin + r);
      return held ? held : scratch.row(thread, r);
    });
    if (full)
      for (int r = 0; r < rows.size(); ++r)
        ops().kernel_values(kernel_, width_, distances_.data() + ld_ * (rows.begin + r), out[r], ld_);
    else
      make_kernel_rows(rows, out);
    sum_bounds(rows, out);  // while they are in the processor's cache
  });
}

void Cell::make_kernel_rows(Range rows, float* const* out) const {
  if (whole_) {
    Aligned<float> row(whole_->ld_, Uninitialized{});
    for (int r = 0; r < rows.size(); ++r)
      copy_columns(whole_->kernel_row(rows_of_whole_[rows.begin + r], row.data()), out[r]);
    return;
  }
  int index[kBlock];
  std::iota(index, index + rows.size(), rows.begin);
  samples_.kernel_rows(kernel_, width_, index, rows.size(), {0, static_cast<int>(ld_)}, out);
}

void Cell::sum_bounds(Range rows, const float* const* values) {
  for (OwnedProblem& problem : problems_)
    for (int fold = 0; fold < n_folds(); ++fold)
      ops().weighted_sums(values, rows.size(), problem.at_bound.data(), fold_range(fold),
                          problem.bound_sums.data() + static_cast<size_t>(fold) * n_ + rows.begin);
}

void Cell::copy_columns(const float* row_of_whole, float* out) const {
  for (int c = 0; c < n_; ++c) out[c] = row_of_whole[rows_of_whole_[c]];
  std::fill(out + n_, out + ld_, 0.0f);
}

const float* Cell::kernel_row(int i, float* scratch) const {
  if (plan_.storage != Storage::rows) return K_.data() + ld_ * i;
  copy_kernel(i, scratch);
  return scratch;
}

void Cell::copy_distances(int i, float* out) const {
  if (plan_.storage == Storage::full)
    std::copy_n(distances_.data() + ld_ * i, ld_, out);
  else if (whole_)
    copy_distances_of_whole(i, out);
  else
    samples_.distances(kernel_, &i, 1, {0, static_cast<int>(ld_)}, &out);
}

void Cell::copy_distances_of_whole(int i, float* out) const {
  const int row = rows_of_whole_[i];
  if (whole_->plan_.storage == Storage::full) return copy_columns(whole_->distances_.data() + whole_->ld_ * row, out);
  Aligned<float> made(whole_->ld_, Uninitialized{});
  whole_->copy_distances(row, made.data());
  copy_columns(made.data(), out);
}

void Cell::copy_kernel(int i, float* out) const {
  if (whole_) {
    Aligned<float> row(whole_->ld_, Uninitialized{});
    copy_columns(whole_->kernel_row(rows_of_whole_[i], row.data()), out);
  } else if (plan_.storage == Storage::rows)
    samples_.kernel_rows(kernel_, width_, &i, 1, {0, static_cast<int>(ld_)}, &out);
  else
    std::copy_n(K_.data() + ld_ * i, ld_, out);
}

// Sums the losses of the validation samples: w L(t, f) = max(lo (t - f), hi (t - f)), with the box at scale 1.
void Cell::score(const OwnedProblem& problem, Range validation, const float* values, PathResult& result) {
  double loss = 0, wrong = 0;
  for (int i = validation.begin; i < validation.end; ++i, ++values) {
    const double lo = problem.lo_unit[i], hi = problem.hi_unit[i], target = problem.target[i];
    const double residual = target - std::clamp(*values, -problem.clip, problem.clip);
    loss += std::max(lo * residual, hi * residual);
    wrong += (*values >= 0) == (target > 0) ? 0.0 : hi - lo;
  }
  result.loss.push_back(loss);
  result.wrong.push_back(wrong);
}

PathResult Cell::solve_path(int problem, int fold, const std::vector<double>& lams, double total_weight,
                            const StopRule& stop, const float* guess) const {
  const OwnedProblem& owned = problems_[problem];
  const Range validation = fold < 0 ? Range{n_, n_} : fold_range(fold);
  const int n_validation = validation.end - validation.begin;
  std::vector<double> bound_sums(n_, 0.0);
  for (int other = 0; other < n_folds(); ++other)
    if (other != fold)
      for (int i = 0; i < n_; ++i) bound_sums[i] += owned.bound_sums[static_cast<size_t>(other) * n_ + i];

  const size_t n_lams = lams.size();
  PathResult result;
  result.beta.resize(n_lams * n_);
  result.values.resize(n_lams * n_validation);
  BoxSolver solver(view(stop.cancelled), {owned.target.data(), owned.lo_unit.data(), owned.hi_unit.data(), owned.clip},
                   validation, total_weight, stop.tolerance);
  for (size_t q = 0; q < n_lams && !stop.is_cancelled(); ++q) {
    // 1/(2 lam W), within the range of float32, and rounded so that equal weights have exact bounds.
    const double scale = static_cast<float>(std::clamp(1.0 / (2.0 * lams[q] * total_weight), 1e-30, 1e30));
    if (q > 0) {
      solver.rescale(scale);
    } else {
      solver.start(scale, bound_sums.data());
      if (guess && solver.gap() > stop.tolerance) solver.warm_start(guess, bound_sums.data());
    }
    Certificate certificate = solver.solve(stop);
    solver.coefficients(result.beta.data() + q * n_);
    solver.validation_values(result.values.data() + q * n_validation);
    score(owned, validation, result.values.data() + q * n_validation, result);
    if (stop.is_cancelled()) certificate.status = Status::cancelled;  // sums may be unfinished
    result.gap.push_back(certificate.gap);
    result.status.push_back(static_cast<int8_t>(certificate.status));
    result.steps.push_back(certificate.steps);
    if (certificate.status == Status::cancelled) break;
  }
  return result;
}

}  // namespace localsvm
