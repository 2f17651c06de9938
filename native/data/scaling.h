// Scaling of features, row by row.  Built without fused multiply-adds, so that every processor rounds alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace localsvm {

// out (n x d, row-major) = (X - shift) factor, column by column.  Halves are subtracted: the difference of two finite
// numbers may overflow, that of their halves cannot.
template <typename Float>
void scale_affine(const Float* X, size_t n, int n_features, const double* shift, const double* factor, float* out);

// out = ranks of the values, linear between knots, constant beyond the ends, as numpy.interp has it.  Knots ascend
// strictly; those of column j end at ends[j], where those of the next one begin.
template <typename Float>
void scale_to_ranks(const Float* X, size_t n, int n_features, const double* knots, const double* ranks,
                    const int64_t* ends, double* out);

// Whether no number is NaN or infinite.
template <typename Float>
bool all_finite(const Float* values, size_t n);

}  // namespace localsvm
