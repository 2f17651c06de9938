// Products of a kernel matrix with a block of vectors: one pass over half of the matrix serves all of them.
//
// K is symmetric, and the time goes into reading it: every tile above the diagonal is used for both of its products.
//
//   y_J += K_IJ' x_I     |\ .  .  . |
//   y_I += K_IJ  x_J     |  \  tile |
//                        |    \ .  .|
//
// A vector is zero on the rows of its validation fold: tiles whose rows or columns all lie in that fold are skipped.
// Every entry of a result is summed in the same order, in float32, whatever the other vectors, the storage and the
// threads.
#pragma once

#include <vector>

#include "core/cancel.h"
#include "kernel/half_kernel.h"

namespace localsvm {

// Vectors have ld entries, and 0 in the padding.
struct Operand {
  const float* x;  // zero on the rows of the validation fold
  int fold;        // the validation fold; -1: none
  float* y;        // K x where it is wanted; other entries are undefined
};

class BlockProduct {
 public:
  BlockProduct(const HalfKernel& kernel, std::vector<int> fold_ends, int n_threads,
               const CancelFlag* cancelled);

  // All of these leave their results unfinished once the work is cancelled.
  // y = K x on the training rows.
  void multiply(const std::vector<Operand>& operands) const;
  // y = K x on the rows of the validation fold.
  void validate(const std::vector<Operand>& operands) const;
  // r -= K x in double, to verify results without sharing their rounding.
  void subtract_exactly(const float* x, double* r) const;

 private:
  // The folds of a block's rows.
  struct Folds {
    int first, last;
    bool are(int fold) const { return first == fold && last == fold; }
    bool include(int fold) const { return first <= fold && fold <= last; }
  };

  struct Workspace;
  template <typename Wanted>
  void sum(const std::vector<Operand>& operands, const Wanted& wanted) const;
  template <typename Wanted>
  void sum_row(int I, const std::vector<Operand>& operands, const Wanted& wanted, Workspace& work) const;

  const HalfKernel& kernel_;
  const int n_threads_;
  const CancelFlag* const cancelled_;
  std::vector<Folds> folds_;  // by block
};

}  // namespace localsvm
