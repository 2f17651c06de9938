// Expectiles: L(y, f) = tau (y - f)^2 where y > f, (1 - tau) (y - f)^2 where not.
//
// With a_i = w_i tau or w_i (1 - tau) by the sign of r_i = y_i - f(x_i), c = lam W, the minimiser solves
// (K + c diag(1/a)) beta = y: least squares with weights that depend on the solution.  A step of Newton's method solves
// that equation for the a of the last step; its direction is one of descent, and where the whole step does not bring the
// gap down the best part of it is taken.  As the inner equation is solved for a correction, by MINRES, each step starts
// with a residual that is true.  A lambda starts from the solution of the last one.
//
// The dual has a ridge by the sign of beta, so with a(s) the factor that belongs to the sign of s the duality gap is
//   1/W sum_i [ a(r_i) r_i^2 - 2 c beta_i r_i + c^2 beta_i^2 / a(beta_i) ],      no term of which is negative.
// Stops when it is at most `tolerance`.
#pragma once

#include "krylov/square_columns.h"

namespace localsvm {

SquareResult solve_expectile(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                             double tau, int n_threads);

}  // namespace localsvm
