// The samples of a cell, laid out so that a row of its kernel matrix is computed in one pass over them.
//
// Every entry is summed over the features in the same order, whatever rows and columns are asked for: a recomputed row
// is the same to the bit.
#pragma once

#include "core/aligned.h"
#include "simd/ops.h"

namespace localsvm {

class Samples {
 public:
  Samples() = default;
  Samples(const float* X, int n, int n_features);  // X row-major

  // out[a][j - columns.begin] = d(x_rows[a], x_j), as the kernel takes it, for j in columns, whose ends are multiples
  // of kPad.
  void distances(Kernel kernel, const int* rows, int count, Range columns, float* const* out) const;

  // The same for k(x_rows[a], x_j).
  void kernel_rows(Kernel kernel, float width, const int* rows, int count, Range columns, float* const* out) const;

  const float* panels() const { return panels_.data(); }

 private:
  class Packed;

  int n_features_ = 0;
  Aligned<float> panels_;
};

}  // namespace localsvm
