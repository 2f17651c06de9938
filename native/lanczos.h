// The Krylov spaces of A = S K S, S diagonal: an orthonormal basis V in which A is tridiagonal.
//
// In single precision neighbours alone do not keep a basis orthogonal: once an eigenvector is found it comes back.  So
// every new vector is made orthogonal to all before it, which costs a few per cent of the product with K.
#pragma once

#include <vector>

#include "aligned.h"
#include "shifted_minres.h"

namespace localsvm {

class Lanczos {
 public:
  // b and the diagonal s have ld entries; both are zero on the rows of `left_out`, and `dimension` are not zero in s.
  Lanczos(const float* b, const float* s, size_t ld, Range left_out, int dimension);

  // One step: takes y = K x of the x that `operand` gave, and makes the next x.
  const float* operand() const { return x_.data(); }
  void step(const float* y);

  // No vector is left: the space holds the solutions for all shifts.
  bool is_complete() const { return complete_; }
  const Tridiagonal& matrix() const { return T_; }

  // u[q] += V z[q] (ld entries), and f[q] += K S V z[q] on the rows left out; z[q] may be shorter than the basis.
  void combine(const std::vector<std::vector<double>>& z, float* const* u, float* const* f) const;

 private:
  void extend(double norm);

  const float* s_;
  const size_t ld_;
  const Range left_out_;
  const int dimension_;
  bool complete_ = false;
  Tridiagonal T_;
  std::vector<Aligned<float>> basis_, left_out_values_;
  std::vector<const float*> basis_rows_, value_rows_;
  Aligned<float> x_, rounded_;
  Aligned<double> next_;
};

}  // namespace localsvm
