#include "cell.h"

#include <algorithm>
#include <utility>

namespace localsvm {

namespace {
bool is_set(const std::atomic<bool>* flag) { return flag && flag->load(std::memory_order_relaxed); }
}  // namespace

Cell::Cell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel,
           const std::atomic<bool>* cancelled)
    : n_(n),
      ld_(padded(n)),
      fold_ends_(std::move(fold_ends)),
      kernel_(kernel),
      K_(ld_ * n, Uninitialised{}),
      neighbour_distances_(static_cast<size_t>(n) * kNeighbours),
      neighbour_kernel_(static_cast<size_t>(n) * kNeighbours),
      neighbours_(static_cast<size_t>(n) * kNeighbours) {
  size_t stored = 0;
  for (int b = 0; b < n_blocks(); ++b) {
    block_starts_.push_back(stored);
    stored += (ld_ - b * kBlock) * block(b).size();
  }
  distances_ = Aligned<float>(stored, Uninitialised{});

  Aligned<float> XT(ld_ * n_features), whole(ld_ * kBlock);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n_features; ++k) XT[k * ld_ + i] = X[static_cast<size_t>(i) * n_features + k];
  for (int b = 0; b < n_blocks() && !is_set(cancelled); ++b) {
    const Range rows = block(b);
    ops().squared_distances(XT.data(), n_features, ld_, rows, whole.data());
    for (int i = rows.begin; i < rows.end; ++i) {
      const float* row = whole.data() + ld_ * (i - rows.begin);
      const size_t near = static_cast<size_t>(i) * kNeighbours;
      ops().neighbours(row, n, i, neighbours_.data() + near);
      for (size_t c = near; c < near + kNeighbours; ++c)
        if (neighbours_[c] < n) neighbour_distances_[c] = row[neighbours_[c]];
      std::copy(row + rows.begin, row + ld_, const_cast<float*>(distance_tail(i)));
    }
  }
}

const float* Cell::distance_tail(int i) const {
  const int b = i / kBlock;
  return distances_.data() + block_starts_[b] + (ld_ - b * kBlock) * (i - b * kBlock);
}

float Cell::distance(int i, int j) const {
  if (j < i / kBlock * kBlock) std::swap(i, j);
  return distance_tail(i)[j - i / kBlock * kBlock];
}

int Cell::add_problem(const float* target, const float* lo_unit, const float* hi_unit, float clip) {
  OwnedProblem problem{Aligned<float>(ld_), Aligned<float>(ld_), Aligned<float>(ld_), Aligned<float>(ld_), clip,
                       std::vector<double>(fold_ends_.size() * n_)};
  for (int i = 0; i < n_; ++i) {
    problem.target[i] = target[i];
    problem.lo_unit[i] = lo_unit[i];
    problem.hi_unit[i] = hi_unit[i];
    problem.at_bound[i] = target[i] > 0 ? hi_unit[i] : lo_unit[i];
  }
  problems_.push_back(std::move(problem));
  return n_problems() - 1;
}

void Cell::set_width(float width, const std::atomic<bool>* cancelled) {
  n_prepared_ = n_problems();
  const Ops& op = ops();
  op.kernel_values(kernel_, width, neighbour_distances_.data(), neighbour_kernel_.data(), neighbour_kernel_.size());
  for (int b = 0; b < n_blocks() && !is_set(cancelled); ++b) {
    const Range rows = block(b);
    mirror(rows, rows.begin);
    for (int i = rows.begin; i < rows.end; ++i) {
      float* row = K_.data() + ld_ * i;
      op.kernel_values(kernel_, width, distance_tail(i), row + rows.begin, ld_ - rows.begin);
      // While the row is in the cache.
      for (OwnedProblem& problem : problems_)
        for (int fold = 0; fold < n_folds(); ++fold)
          problem.bound_sums[static_cast<size_t>(fold) * n_ + i] =
              op.dot(row, problem.at_bound.data(), fold_range(fold));
    }
  }
}

// K_ij = K_ji for i in rows and j < end (a whole number of blocks, already known).
void Cell::mirror(Range rows, int end) {
  // Four rows at a time: every line read serves them all, every row is written in order.
  for (int from = 0; from < end; from += kBlock)
    for (int i = rows.begin; i < rows.end; i += 4) {
      const int height = std::min(4, rows.end - i);
      float* row[4];
      for (int a = 0; a < 4; ++a) row[a] = K_.data() + ld_ * (i + (a < height ? a : 0));
      for (int j = from; j < from + kBlock; ++j) {
        const float* column = K_.data() + ld_ * j + i;
        for (int a = height - 1; a >= 0; --a) row[a][j] = column[a];
      }
    }
}

PathResult Cell::solve_path(int problem, int fold, const std::vector<double>& lambdas, double total_weight,
                            const StopRule& stop) const {
  const OwnedProblem& owned = problems_[problem];
  const Range left_out = fold < 0 ? Range{n_, n_} : fold_range(fold);
  const int n_left_out = left_out.end - left_out.begin;
  std::vector<double> bound_sums(n_, 0.0);
  for (int other = 0; other < n_folds(); ++other)
    if (other != fold)
      for (int i = 0; i < n_; ++i) bound_sums[i] += owned.bound_sums[static_cast<size_t>(other) * n_ + i];

  const size_t n_lambdas = lambdas.size();
  PathResult result;
  result.beta.resize(n_lambdas * n_);
  result.values.resize(n_lambdas * n_left_out);
  BoxSolver solver({K_.data(), ld_, n_, neighbours_.data(), neighbour_kernel_.data()},
                   {owned.target.data(), owned.lo_unit.data(), owned.hi_unit.data(), owned.clip}, left_out,
                   total_weight);
  for (size_t q = 0; q < n_lambdas && !stop.is_cancelled(); ++q) {
    // 1/(2 lam W), within what float32 can compute with, and rounded so that equal weights have exact bounds.
    const double scale = static_cast<float>(std::clamp(1.0 / (2.0 * lambdas[q] * total_weight), 1e-30, 1e30));
    if (q == 0)
      solver.start(scale, bound_sums.data());
    else
      solver.rescale(scale);
    const Certificate certificate = solver.solve(stop);
    solver.coefficients(result.beta.data() + q * n_);
    solver.left_out_values(result.values.data() + q * n_left_out);
    result.gap.push_back(certificate.gap);
    result.status.push_back(static_cast<int8_t>(certificate.status));
    result.steps.push_back(certificate.steps);
    if (certificate.status == Status::cancelled) break;
  }
  return result;
}

}  // namespace localsvm
