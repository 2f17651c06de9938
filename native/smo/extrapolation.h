// Leaps: what many steps of the solver have moved, carried on.
//
// Steps solve for two coordinates at a time, and where the kernel is ill-conditioned thousands of them go the same way.  So
// every now and then the solver goes to the best point of the plane
//
//   beta + x d + y p,   d: moved by steps since the last leap;  p: moved before that, from one leap to the next,
//
// as conjugate gradients do, with steps in the place of the gradient.  r is affine in beta: its changes along d and p are
// differences of values that are known, so a leap needs no row of K; but one for each coordinate that would leave its box,
// which is why it goes no farther than a few of them allow.
//
// Steps round beta and take from r what it has moved in fact.  A leap rounds all of beta, for which there are no rows: what
// that keeps from beta is carried on to the next leap, so that it does not pile up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "smo/steps.h"

namespace localsvm {

class Extrapolation {
 public:
  // The coordinates that take part are those of `ranges`, in arrays of n.
  Extrapolation(const KernelView& kernel, int n, const std::vector<Range>& ranges);

  // Bytes of the arrays: eight of floats, and one of doubles.
  static size_t bytes(size_t n) { return padded(n) * (8 * sizeof(float) + sizeof(double)); }

  // Forgets what was moved before.
  void begin(const StepLoop& loop);

  // r belongs to beta itself now.
  void clear_carry();

  // Moves the loop to the best point of the plane, as far as the boxes allow.  False if it stays where it is.
  bool extrapolate(StepLoop& loop);

 private:
  ExtrapolationArrays arrays() {
    return {from_beta_.data(), from_r_.data(), p_.data(), q_.data(), carry_.data(), next_carry_.data()};
  }
  bool choose_point(const StepLoop& loop);
  int clip(const StepLoop& loop);
  void shorten(const StepLoop& loop, int n_clipped);
  void correct_clipped(const StepLoop& loop, int n_clipped);
  double chord_fraction(const StepLoop& loop) const;
  float way(const StepLoop& loop, int i) const { return x_ * (loop.beta[i] - from_beta_[i]) + y_ * p_[i]; }

  const KernelView kernel_;
  const Ops& ops_;
  const int n_;
  const std::vector<Range> ranges_;
  Aligned<float> from_beta_, from_r_;  // where the last leap ended
  Aligned<float> p_, q_;               // p, and what r changes by along it
  Aligned<float> carry_, next_carry_;  // what rounding has kept from beta, now and at the point
  float x_ = 0, y_ = 0;
  Aligned<float> point_;    // of the plane, in the boxes
  Aligned<double> change_;  // of r, on the way there
  std::vector<int32_t> clipped_;
  std::vector<float> fractions_;
  // Squares of all that was moved up to the last leap, and between the two before it: rounding of r goes with their roots,
  // and a leap carries it on, too.
  double squares_before_ = 0, squares_of_p_ = 0;
};

}  // namespace localsvm
