// Least squares: L(y, f) = (y - f)^2.
//
// The minimiser solves (K + c diag(1/w)) beta = y with c = lam W.  With S = diag(sqrt w) and beta = S u that is
// (S K S + c) u = S y: lambda is a shift, and all of them share one Krylov space (lanczos.h).  The duality gap in risk units
// is the weighted mean square of what an equation is off,
//   lam ||f||^2 + 1/W sum_i w_i (y_i - f(x_i))^2 - dual = 1/W sum_i w_i e_i^2 = |S y - (S K S + c) u|^2 / W,
//   e = y - K beta - c beta / w,
// and MINRES makes just that as small as the space allows (shifted_minres.h).  Every iteration is one product of K with
// one vector for all lams.
//
// Stops, each lambda for itself, when the gap is at most `tolerance`, what rounding can have hidden included.  Where that
// could be most of it the gap is computed again from beta, in double.
#pragma once

#include "krylov/square_columns.h"

namespace localsvm {

SquareResult solve_ridge(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                         int n_threads);

}  // namespace localsvm
