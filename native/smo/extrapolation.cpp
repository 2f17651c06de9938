#include "smo/extrapolation.h"

#include <algorithm>
#include <cmath>

#include "kernel/row_batches.h"

namespace localsvm {

namespace {
constexpr int kMaxClipped = 16;      // coordinates clipped to their bound; each needs a row of K
constexpr int kTooManyClipped = 64;  // if the full step clips more, a shortened one would gain too little
constexpr double kSingular = 1e-6;   // d and p are numerically parallel
}  // namespace

Extrapolation::Extrapolation(const KernelView& kernel, int n, const std::vector<Range>& ranges)
    : kernel_(kernel),
      ops_(ops()),
      n_(n),
      ranges_(ranges),
      from_beta_(n),
      from_r_(n),
      p_(n),
      q_(n),
      carry_(n),
      next_carry_(n),
      point_(n),
      change_(n),
      clipped_(n) {}

void Extrapolation::begin(const StepLoop& loop) {
  std::copy_n(loop.beta, n_, from_beta_.data());
  std::copy_n(loop.r, n_, from_r_.data());
  std::fill_n(p_.data(), n_, 0.0f);
  std::fill_n(q_.data(), n_, 0.0f);
  squares_before_ = loop.squared_steps;
  squares_of_p_ = 0;
}

void Extrapolation::clear_carry() { std::fill_n(carry_.data(), n_, 0.0f); }

bool Extrapolation::extrapolate(StepLoop& loop) {
  const double fraction = choose_point(loop) ? chord_fraction(loop) : 0.0;
  double moved = 0;
  for (const Range& range : ranges_)
    moved += ops_.apply_extrapolation(loop.arrays(), point_.data(), change_.data(), static_cast<float>(fraction),
                                      arrays(), range);
  const double squares_of_d = loop.squared_steps - squares_before_;
  loop.squared_steps += moved + fraction * fraction * (x_ * x_ * squares_of_d + y_ * y_ * squares_of_p_);
  squares_of_p_ = loop.squared_steps - squares_before_;
  squares_before_ = loop.squared_steps;
  return fraction > 0;
}

// The best point maximizes x d'r + y p'r - (x^2 d'Kd + 2 x y d'Kp + y^2 p'Kp) / 2.  False if it is not finite, or far
// outside the boxes.
bool Extrapolation::choose_point(const StepLoop& loop) {
  PlaneSums sums;
  for (const Range& range : ranges_) sums += ops_.plane_sums(loop.beta, loop.r, arrays(), range);
  const double determinant = sums.dKd * sums.pKp - sums.dKp * sums.dKp;
  const bool is_plane = determinant > kSingular * sums.dKd * sums.pKp;
  x_ = static_cast<float>(is_plane ? (sums.dr * sums.pKp - sums.pr * sums.dKp) / determinant : sums.dr / sums.dKd);
  y_ = static_cast<float>(is_plane ? (sums.pr * sums.dKd - sums.dr * sums.dKp) / determinant : 0.0);
  if (!std::isfinite(x_) || !std::isfinite(y_)) {
    x_ = y_ = 0;
    return false;
  }
  int n_clipped = clip(loop);
  if (n_clipped > kTooManyClipped) return false;
  if (n_clipped > kMaxClipped) {
    shorten(loop, n_clipped);
    n_clipped = clip(loop);
  }
  correct_clipped(loop, n_clipped);
  return true;
}

int Extrapolation::clip(const StepLoop& loop) {
  int count = 0;
  for (const Range& range : ranges_)
    count += ops_.point_of_plane(loop.arrays(), arrays(), x_, y_, range, point_.data(), change_.data(),
                                 clipped_.data() + count);
  return count;
}

// Shortens the step so that about kMaxClipped coordinates leave their box.
void Extrapolation::shorten(const StepLoop& loop, int n_clipped) {
  fractions_.clear();
  for (int c = 0; c < n_clipped; ++c) {
    const int i = clipped_[c];
    const float step = displacement(loop, i);
    fractions_.push_back(((step > 0 ? loop.hi[i] : loop.lo[i]) - loop.beta[i]) / step);
  }
  std::nth_element(fractions_.begin(), fractions_.begin() + kMaxClipped, fractions_.end());
  x_ *= fractions_[kMaxClipped];
  y_ *= fractions_[kMaxClipped];
}

// Corrects the change of r for the coordinates that stop at their bound.
void Extrapolation::correct_clipped(const StepLoop& loop, int n_clipped) {
  const std::vector<int> rows(clipped_.begin(), clipped_.begin() + n_clipped);
  std::vector<float> coefs(rows.size());
  for (size_t c = 0; c < rows.size(); ++c)
    coefs[c] = point_[rows[c]] - loop.beta[rows[c]] - displacement(loop, rows[c]);
  for (const Range& range : ranges_)
    visit_rows(kernel_, rows, range, [&](size_t m, int count, const float* const* parts, Range part) {
      ops_.subtract_rows(change_.data() + part.begin, parts, coefs.data() + m, count, {0, part.size()});
    });
}

// Exact line search from beta to the point, which clipping may have moved away from the optimum: the fraction in [0,
// 1].
double Extrapolation::chord_fraction(const StepLoop& loop) const {
  ChordSums chord;
  for (const Range& range : ranges_) chord += ops_.chord_sums(loop.beta, loop.r, point_.data(), change_.data(), range);
  return chord.curvature > 0 ? std::clamp(chord.slope / chord.curvature, 0.0, 1.0) : 0.0;
}

}  // namespace localsvm
