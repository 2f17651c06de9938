// What a solver sees of a kernel matrix: its rows, stored or made on demand, and the near neighbours of its samples.
#pragma once

#include <cstddef>

#include "core/cancel.h"
#include "kernel/row_cache.h"
#include "simd/ops.h"

namespace localsvm {

// The matrix is symmetric with a unit diagonal.
struct KernelView {
  const float* K = nullptr;   // n rows of ld; nullptr: rows come from the cache
  RowCache* cache = nullptr;  // nullptr: the matrix is stored
  size_t ld = 0;
  int n = 0;
  const Near* near = nullptr;
  const CancelFlag* cancelled = nullptr;
  const float* row(int i) const { return K + ld * static_cast<size_t>(i); }
  bool is_cancelled() const { return is_set(cancelled); }
};

}  // namespace localsvm
