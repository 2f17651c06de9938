// The Krylov spaces of A = S K S, S diagonal: an orthonormal basis V in which A is tridiagonal.
//
// In float32 the three-term recurrence alone loses orthogonality: eigenvectors that have converged come back.  So every
// new vector is orthogonalized against all before it, which costs a few percent of the product with K.
#pragma once

#include <vector>

#include "core/aligned.h"
#include "krylov/shifted_minres.h"
#include "simd/ops.h"

namespace localsvm {

class Lanczos {
 public:
  // b and the diagonal s have ld entries; `dimension` entries of s are not zero, and b is zero where s is.
  Lanczos(const float* b, const float* s, size_t ld, int dimension);

  // One step: `step` takes y = K x of the x that `operand` returned, and computes the next x.
  const float* operand() const { return x_.data(); }
  void step(const float* y);

  // The space cannot grow: the next vector would be only rounding.
  bool is_complete() const { return complete_; }
  const Tridiagonal& matrix() const { return T_; }

  // u[q] += V z[q], ld entries; z[q] may be shorter than the basis.
  void combine(const std::vector<std::vector<double>>& z, float* const* u) const;

 private:
  void extend(double norm);
  float orthogonalize();
  const float* vector(int j) const;
  Block chunk(int number, int n_vectors) const;

  const float* s_;
  const size_t ld_;
  const int dimension_;
  bool complete_ = false;
  double largest_ = 0;
  Tridiagonal T_;
  std::vector<Aligned<float>> basis_;  // in chunks, each a block of vectors
  Aligned<float> x_, next_, lanes_;
};

}  // namespace localsvm
