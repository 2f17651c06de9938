// Products of a kernel matrix with a block of vectors: one pass over the matrix serves all of them.
//
// A vector that belongs to a fold is zero on the rows left out, so they are skipped.  Every entry of a result is summed
// over the rows in their order, in single precision, whatever the other vectors, the storage and the threads.
#pragma once

#include <vector>

#include "steps.h"

namespace localsvm {

struct Operand {
  const float* x;  // ld entries, as all vectors here; zero on the rows of fold `left_out` and in the padding
  int left_out;    // -1: none
  float* y;        // becomes K x, on all rows
};

class BlockProduct {
 public:
  BlockProduct(const KernelView& kernel, const std::vector<int>& fold_ends, int n_threads);

  // Leaves the results unfinished once the kernel's work is cancelled.
  void multiply(const std::vector<Operand>& operands) const;

  // r -= K x in double, for a check that must not share the rounding of what it checks.
  void subtract_exactly(const Operand& operand, double* r) const;

 private:
  const KernelView kernel_;
  const int n_threads_;
  std::vector<std::vector<int>> fold_rows_;
};

}  // namespace localsvm
