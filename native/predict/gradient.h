// Derivatives of the functions of a cell at many points, in blocks.
//
// f(x) = sum_s c_s k(x, s) and k(x, s) = phi(|x - s|^2), so that
//
//   grad f(x) = sum_s c_s slope(|x - s|^2) (s - x),   slope = -2 phi'      (ops.h: kernel_slopes),
//
// and with signs of s - x for the Manhattan distance.
//
// The differences s - x are taken one by one.  W S - diag(W 1) X, with W = c slope, is a quarter less work, but cancels
// where a kernel is steep: near a support vector a Laplace kernel would lose all digits.
#pragma once

#include "simd/ops.h"

namespace localsvm {

// f_o(x) = sum_s coefficients (outputs x support) k(x, s); matrices are row-major.
struct KernelSums {
  Kernel kernel;
  float width;
  const float* support_vectors;
  int n_support, n_features;
  const float* coefficients;
  int n_outputs;
};

// out (points x outputs x features) = grad f_o(x_p).  A point's gradients depend on no other point.  Memory beyond the
// arguments: a copy of the support vectors, and a block of points for every thread.
void gradients(const KernelSums& sums, const float* points, int n_points, int n_threads, float* out);

// out (outputs x features) = sum_p weights_p (d f_o / d x_k (x_p))^2 / sum_p weights_p, in double; the same to the bit
// for any number of threads.
void mean_squared_gradients(const KernelSums& sums, const float* points, const double* weights, int n_points,
                            int n_threads, double* out);

}  // namespace localsvm
