// Products of a kernel matrix with a block of vectors: one pass over half of the matrix serves all of them.
//
// K is symmetric, and reading it is what takes the time: rows are taken in batches of kBatch, and of every batch only
// the columns from its own on, each entry for both of its products.
//
//   y_i += K_ij x_j     |\ .  .  . |
//   y_j += K_ij x_i     |  \  batch|
//                       |    \ .  .|
//
// A vector that belongs to a fold is zero on the rows left out, and its product is wanted on the others: blocks of the
// matrix that would meet rows left out are skipped.  Every entry of a result is summed in the same order, in single
// precision, whatever the other vectors, the storage and the threads.
#pragma once

#include <vector>

#include "steps.h"

namespace localsvm {

// Vectors have ld entries, and 0 in the padding.
struct Operand {
  const float* x;  // zero on the rows of fold `left_out`
  int left_out;    // -1: none
  float* y;        // becomes K x where it is wanted; other entries are of no meaning
};

class BlockProduct {
 public:
  BlockProduct(const KernelView& kernel, std::vector<int> fold_ends, int n_threads);

  // All of these leave their results unfinished once the kernel's work is cancelled.
  // y = K x on the rows that are not left out.
  void multiply(const std::vector<Operand>& operands) const;
  // y = K x on the rows of fold `left_out`, the same for all operands.
  void validate(const std::vector<Operand>& operands, int left_out) const;
  // r -= K x in double, for a check that must not share the rounding of what it checks.
  void subtract_exactly(const float* x, double* r) const;

 private:
  // Rows or columns of K, whole vectors of them, in one fold; or in several.
  struct Strip {
    Range range;
    int fold;
  };
  static constexpr int kSeveral = -2;

  Range fold_range(int fold) const { return {fold == 0 ? 0 : fold_ends_[fold - 1], fold_ends_[fold]}; }
  int fold_of(Range rows) const;
  void multiply_batch(size_t batch, const std::vector<Operand>& operands) const;
  void multiply_part(size_t batch, Range part, const float* const* rows, const std::vector<Operand>& operands,
                     float* lanes) const;

  const KernelView kernel_;
  const std::vector<int> fold_ends_;
  const int n_threads_;
  std::vector<std::vector<int>> batches_;  // rows
  std::vector<Strip> strips_;              // columns
};

}  // namespace localsvm
