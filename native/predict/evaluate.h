// Decision values of many points against the support vectors of one cell, in blocks.
#pragma once

#include "simd/ops.h"

namespace localsvm {

// f (points x outputs) = sum_s coef (outputs x support) k(point, s), all row-major.  Memory beyond the arguments: one
// copy of the support vectors and a block of points.
void evaluate_cell(Kernel kernel, float width, const float* points, int n_points, int n_features,
                   const float* support_vectors, int n_support, const float* coefficients, int n_outputs, float* f);

}  // namespace localsvm
