// Least squares in a cell: all targets, all folds and all lambdas of a width at once.
//
//   given     K with k_ii = 1, targets y, weights w, folds to leave out, descending lambdas
//   minimise  lam ||f||^2 + 1/W sum_i w_i (y_i - f(x_i))^2 over the training rows, W the sum of their weights
//   result    beta, f on the rows left out, and a certificate for each
//
// The minimiser solves (K + c diag(1/w)) beta = y with c = lam W.  With S = diag(sqrt w) and beta = S u that is
// (S K S + c) u = S y: lambda is a shift, and all of them share one Krylov space (lanczos.h).  The duality gap in risk units
// is the weighted mean square of what an equation is off,
//   lam ||f||^2 + 1/W sum_i w_i (y_i - f(x_i))^2 - dual = 1/W sum_i w_i e_i^2 = |S y - (S K S + c) u|^2 / W,
//   e = y - K beta - c beta / w,
// and MINRES makes just that as small as the space allows (shifted_minres.h).  Every iteration is one product of K with
// one vector per target and fold.
//
// Stops, each lambda for itself, when the gap is at most `tolerance`, what rounding can have hidden included.  Where that
// could be most of it the gap is computed again from beta, in double.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "solver.h"
#include "steps.h"

namespace localsvm {

struct RidgeProblem {
  const float* targets;  // n_targets x n
  int n_targets;
  const float* weight;  // n, none negative
  std::vector<int> folds;  // to leave out; -1: none
  std::vector<double> lambdas;
  double tolerance;
  int max_iterations;
};

// Axes: target, fold, lambda; row i of `values` is by the machine that left its fold out, 0 where that was not asked for.
struct RidgeResult {
  std::vector<float> beta;    // target, fold, lambda, row
  std::vector<float> values;  // target, lambda, row
  std::vector<double> gap;
  std::vector<int8_t> status;
  std::vector<int32_t> iterations;
};

RidgeResult solve_ridge(const KernelView& kernel, const std::vector<int>& fold_ends, const RidgeProblem& problem,
                        int n_threads);

}  // namespace localsvm
