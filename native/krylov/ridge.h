// Least squares: L(y, f) = (y - f)^2.
//
//   given     K, targets y, weights w, descending lams
//   minimize  lam ||f||^2 + 1/W sum_i w_i (y_i - f(x_i))^2
//   result    beta for every lam, and its duality gap
//
// Method: the minimizer solves (K + c diag(1/w)) beta = y with c = lam W.  With S = diag(sqrt w) and beta = S u this is
// (S K S + c) u = S y: lam is a shift, and all lams share one Krylov space (lanczos.h).  The duality gap in risk units
// is the squared residual norm of this equation,
//   lam ||f||^2 + 1/W sum_i w_i (y_i - f(x_i))^2 - dual = |S y - (S K S + c) u|^2 / W,
// which MINRES minimizes over the space (shifted_minres.h).  An iteration is one product of K with one vector, for all
// lams.
//
// Stops, for each lam separately, when the gap, including the largest error that rounding can have caused, is at most
// `tolerance`.  If rounding could be most of it, the gap is recomputed from beta in double.
#pragma once

#include "krylov/square_columns.h"

namespace localsvm {

SquareResult solve_ridge(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                         int n_threads);

}  // namespace localsvm
