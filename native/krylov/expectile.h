// Expectiles: L(y, f) = tau (y - f)^2 if y > f, (1 - tau) (y - f)^2 otherwise.
//
//   given     K, targets y, weights w, descending lams, tau
//   minimize  lam ||f||^2 + 1/W sum_i w_i L(y_i, f(x_i))
//   result    beta for every lam, and its duality gap
//
// Method: with c = lam W and a_i = w_i tau or w_i (1 - tau) by the sign of r_i = y_i - f(x_i), the minimizer solves
// (K + c diag(1/a)) beta = y: least squares with weights that depend on the solution.  A Newton step solves this
// equation for the a of the last step.  It is a descent direction; if the full step does not decrease the gap, a line
// search shortens it.  The inner equation is solved by MINRES for a correction, so that each step starts from a true
// residual.  Each lam starts from the solution of the last one.
//
// Stops when the duality gap is at most `tolerance`.  The dual has a ridge that depends on the sign of beta; with a(s)
// the factor for the sign of s the gap is
//   1/W sum_i [ a(r_i) r_i^2 - 2 c beta_i r_i + c^2 beta_i^2 / a(beta_i) ],      no term of which is negative.
#pragma once

#include "krylov/square_columns.h"

namespace localsvm {

SquareResult solve_expectile(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                             double tau, int n_threads);

}  // namespace localsvm
