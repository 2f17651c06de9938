#include "cell.h"

#include <algorithm>
#include <utility>

namespace localsvm {

Cell::Cell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel,
           const std::atomic<bool>* cancelled)
    : n_(n),
      ld_(padded(n)),
      fold_ends_(std::move(fold_ends)),
      kernel_(kernel),
      distances_(ld_ * n, Uninitialised{}),
      K_(ld_ * n, Uninitialised{}),
      neighbour_distances_(static_cast<size_t>(n) * kNeighbours),
      neighbour_kernel_(static_cast<size_t>(n) * kNeighbours),
      neighbours_(static_cast<size_t>(n) * kNeighbours) {
  Aligned<float> XT(ld_ * n_features);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n_features; ++k) XT[k * ld_ + i] = X[static_cast<size_t>(i) * n_features + k];
  constexpr int kBlock = 64;
  for (int begin = 0; begin < n && !is_set(cancelled); begin += kBlock) {
    const Range rows{begin, std::min(begin + kBlock, n)};
    ops().squared_distances(XT.data(), n_features, ld_, rows, distances_.data() + ld_ * begin);
    // While the rows are in the cache.
    for (int i = rows.begin; i < rows.end; ++i) {
      const size_t near = static_cast<size_t>(i) * kNeighbours;
      ops().neighbours(distance_row(i), n, i, neighbours_.data() + near);
      for (size_t c = near; c < near + kNeighbours; ++c)
        if (neighbours_[c] < n) neighbour_distances_[c] = distance_row(i)[neighbours_[c]];
    }
  }
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
  for (int i = 0; i < n_ && !is_set(cancelled); ++i) {
    float* row = K_.data() + ld_ * i;
    op.kernel_values(kernel_, width, distance_row(i), row, ld_);
    // While the row is in the cache.
    for (OwnedProblem& problem : problems_)
      for (int fold = 0; fold < n_folds(); ++fold)
        problem.bound_sums[static_cast<size_t>(fold) * n_ + i] =
            op.dot(row, problem.at_bound.data(), fold_range(fold));
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
