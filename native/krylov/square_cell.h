// One cell with squared losses: its kernel matrix at one width at a time, and all solutions on it.
//
// Rows are ordered by fold (folds.h).  The matrix is computed once per width, its upper half only (half_kernel.h), and
// shared by all targets, folds and lams.  A part of a cell is a cell of some of its rows.
#pragma once

#include <vector>

#include "core/cancel.h"
#include "kernel/half_kernel.h"
#include "krylov/square_columns.h"

namespace localsvm {

class SquareCell {
 public:
  // See HalfKernel.
  SquareCell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel, const HalfPlan& plan,
             int n_threads, const CancelFlag* cancelled);
  SquareCell(const SquareCell& whole, const std::vector<int>& rows);

  void set_width(float width, const CancelFlag* cancelled) { kernel_.set_width(width, cancelled); }

  // All targets, folds and lams of this width at once.
  SquareResult solve_ridge(const SquareProblem& problem, int n_threads);
  SquareResult solve_expectile(const SquareProblem& problem, double tau, int n_threads);

  // K x for each of the vectors, of n entries, one after the other.
  std::vector<float> multiply(const float* x, size_t n_vectors, int n_threads);

  int n() const { return kernel_.n(); }
  int n_folds() const { return static_cast<int>(fold_ends_.size()); }
  bool has_width() const { return kernel_.has_width(); }
  bool is_part() const { return kernel_.is_part(); }
  Storage storage() const { return kernel_.storage(); }
  void copy_kernel(float* out);

 private:
  const std::vector<int> fold_ends_;
  HalfKernel kernel_;
};

}  // namespace localsvm
