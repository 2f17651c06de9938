// Extrapolation.  SMO updates two coordinates at a time; on ill-conditioned kernels thousands of updates point in
// nearly the same direction.  Every 96 steps the solver therefore maximizes the dual over the plane
//
//   beta + x d + y p,   d the displacement since the last extrapolation, p the one before it,
//
// as conjugate gradients do, with a block of SMO steps in place of a gradient.
//
//   given     beta, r = t - K beta, d, p and q = -K p
//   maximize  the dual over (x, y); then clip to the boxes, and line-search from beta to the clipped point
//   result    beta and r at the best point of that line
//
// r is affine in beta, so K d and K p are differences of known residuals and cost nothing.  Only coordinates clipped to
// their bounds need a row of K; the step is shortened so that about 16 are clipped at most.
//
// Rounding: an SMO step subtracts from r what beta has moved after rounding.  An extrapolation step rounds all of beta,
// and correcting r for that would need all rows.  What is rounded off is kept in `carry` instead, and added at the next
// extrapolation, so that it does not accumulate: r belongs to beta + carry.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "smo/steps.h"

namespace localsvm {

class Extrapolation {
 public:
  // The training coordinates are those of `ranges`, in arrays of n.
  Extrapolation(const KernelView& kernel, int n, const std::vector<Range>& ranges);

  // Bytes of the arrays: eight of floats, and one of doubles.
  static size_t bytes(size_t n) { return padded(n) * (8 * sizeof(float) + sizeof(double)); }

  // Begins a new d at the current beta, with p = 0.
  void begin(const StepLoop& loop);

  // r belongs to beta itself: it has been loaded anew.
  void clear_carry();

  // Moves beta and r to the best point found.  False if beta stays where it is.
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
  float displacement(const StepLoop& loop, int i) const { return x_ * (loop.beta[i] - from_beta_[i]) + y_ * p_[i]; }

  const KernelView kernel_;
  const Ops& ops_;
  const int n_;
  const std::vector<Range> ranges_;
  Aligned<float> from_beta_, from_r_;  // where the last extrapolation ended
  Aligned<float> p_, q_;               // p, and the change of r along it
  Aligned<float> carry_, next_carry_;  // what rounding took off beta, now and at the point
  float x_ = 0, y_ = 0;
  Aligned<float> point_;    // of the plane, clipped to the boxes
  Aligned<double> change_;  // of r from beta to the point
  std::vector<int32_t> clipped_;
  std::vector<float> fractions_;
  // Sums of squared steps up to the last extrapolation, and between the two before it.  The rounding error of r grows
  // with their roots, and extrapolating r extrapolates its error.
  double squares_before_ = 0, squares_of_p_ = 0;
};

}  // namespace localsvm
