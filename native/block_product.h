// Products of a kernel matrix with a block of vectors: one pass over the matrix serves all of them.
//
// A vector that belongs to a fold is zero on the rows left out, so these are skipped; and its product is wanted either on
// the other rows, to train, or on just these, to validate.  Every entry of a result is summed over the rows in their order,
// in single precision, whatever the other vectors, the storage and the threads.
#pragma once

#include <vector>

#include "steps.h"

namespace localsvm {

struct Operand {
  const float* x;  // ld entries, as all vectors here; zero on the rows of fold `left_out` and in the padding
  int left_out;    // -1: none
  float* y;        // becomes K x where it is wanted
};

enum class Wanted { training, left_out };

class BlockProduct {
 public:
  BlockProduct(const KernelView& kernel, const std::vector<int>& fold_ends, int n_threads);

  // Leaves the results unfinished once the kernel's work is cancelled.
  void multiply(const std::vector<Operand>& operands, Wanted wanted) const;

  // r -= K x in double, for a check that must not share the rounding of what it checks.
  void subtract_exactly(const Operand& operand, double* r) const;

 private:
  // Columns of K, whole vectors of them, whose rows are all in one fold; or in several.
  struct Strip {
    Range columns;
    int fold;
  };
  static constexpr int kSeveral = -2;

  const KernelView kernel_;
  const int n_threads_;
  std::vector<std::vector<int>> fold_rows_;
  std::vector<Strip> strips_;
};

}  // namespace localsvm
