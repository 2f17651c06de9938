// The dual of an SVM without offset, for every loss whose dual is a box.
//
//   given     a kernel matrix K with k_ii = 1, targets t, boxes [lo_i, hi_i] that contain 0
//   maximize  t'beta - beta'K beta / 2   subject to lo <= beta <= hi
//   result    beta, the residual r = t - K beta, and a certificate
//
// A loss is its box: hinge has t = y and beta_i between 0 and y_i box; pinball has t = y and [(tau-1) box, tau box];
// box = w_i / (2 lam W) with W the sum of the weights.  A sample that does not take part has the box [0, 0].
//
// Method: SMO without offset, two coordinates per step (Steinwart, Hush, Scovel: Training SVMs without offset, JMLR
// 2011).  The first coordinate is the one that contributes most to the gap.  Its partner is the best of its near
// neighbours and of the coordinates updated last: the ill-conditioning of a Gaussian kernel is local, so a close
// neighbour is nearly always the best partner.  Every 96 steps an extrapolation step follows (extrapolation.h).
//
// Stops when the clipped duality gap in risk units,
//   lam ||f||^2 + 1/W sum_i w_i L(y_i, clip(f(x_i))) - dual
//     = sum_i [ max(lo_i rc_i, hi_i rc_i) - beta_i r_i ] / (scale W),     rc_i = t_i - clip(f(x_i)),
// is at most `tolerance`, when float32 allows no further progress, or after `max_steps`; the certificate says which.
//
// State, and what stays true of it:
//
//   beta, r        float32, in the step loop.  lo <= beta <= hi.  r = t - K (beta + carry), up to rounding since the
//                  last refresh, and without the pending step, which is in beta but not yet in r.
//   carry          what rounding took off beta in extrapolation steps (extrapolation.h); zero after a refresh.
//   base, base_r   double.  base_r = t - K base.  `base` is the beta of the last refresh, moved with its bounds since.
//   start,         double.  validation_r = t - K start, on the validation fold.  `start` is the beta for which values
//   validation_r   of the fold were computed last, moved with its bounds since.
//   bound_unit,    bound_unit_i is the bound at scale 1 at which beta_i was when the last lam ended; 0 if inside.
//   bound_f        bound_f = K bound_unit, in double.  When the scale grows by g, coefficients at a bound move by
//                  g bound_unit, and r, base_r and validation_r by -g bound_f: no row of K is needed.
//
// Gradient reconstruction (`refresh_residual`) keeps rounding from accumulating over a path: it brings base_r up to
// date and r with it, before a solve is certified whose steps could have left a visible error in r.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/certificate.h"
#include "kernel/kernel_view.h"
#include "smo/extrapolation.h"
#include "smo/steps.h"

namespace localsvm {

// What does not change along a lambda path.
struct Problem {
  const float* target = nullptr;
  const float* lo_unit = nullptr;  // box at scale 1
  const float* hi_unit = nullptr;
  float clip = 1;
};

class BoxSolver {
 public:
  // `validation` is the range of rows of the validation fold, which do not take part; it may be empty.  Sums are as
  // exact as certificates of gaps of `tolerance` need.
  BoxSolver(const KernelView& kernel, const Problem& problem, Range validation, double total_weight, double tolerance);

  // Bytes of one solver: its arrays (five of floats, four of doubles), those of its parts, and the rows moved.
  static size_t bytes(size_t n) {
    return StepLoop::bytes(n) + padded(n) * (5 * sizeof(float) + 4 * sizeof(double)) + Extrapolation::bytes(n) + 16 * n;
  }

  // Starts a path at `scale` = 1/(2 lam W).  `bound_sums`[i] = sum_j K_ij e_j over the training rows, where e_j is the
  // bound of the unit box on the side of the target: under strong regularization nearly every coefficient is there.
  void start(double scale, const double* bound_sums);

  // After `start`: begins at these coefficients instead, clipped to the box.
  void warm_start(const float* beta, const double* bound_sums);

  // Moves on to a larger scale.  Growing boxes keep beta feasible; coefficients at a bound move with it.
  void rescale(double scale);

  Certificate solve(const StopRule& stop);

  double gap() const;  // in risk units

  void coefficients(float* beta) const;
  // Decision values of the validation fold.
  void validation_values(float* values);

 private:
  // Rows of K, and by how much their coefficients have changed.
  struct Moved {
    std::vector<int> rows;
    std::vector<float> coefs;
    void clear() {
      rows.clear();
      coefs.clear();
    }
    void add(int row, double coef) {
      rows.push_back(row);
      coefs.push_back(static_cast<float>(coef));
    }
  };

  BoundArrays bounds() {
    return {unit_lo_.data(), unit_hi_.data(), bound_unit_.data(), bound_f_.data(),
            base_.data(),    start_.data(),   base_r_.data()};
  }
  float bound_at_target(int i) const { return problem_.target[i] > 0 ? unit_hi_[i] : unit_lo_[i]; }
  void set_boxes();
  void put_at_bounds(double s, const double* bound_sums);
  void update_bound_sums();  // brings bound_unit_ and bound_f_ up to date
  void rebuild_if_shorter();
  void shift_bounds(double scale);  // coefficients at a bound follow it to a new scale, with all that depends on them
  void account_for_rounding(double growth);
  bool sums_are_too_large() const;
  float slack_cap(double tolerances) const;
  int64_t run_steps(const StopRule& stop, int64_t max_steps, double last_gap);
  // Collects into moved_ where beta differs from the coefficients `accounted` for, and updates these.
  void collect_moved(double* accounted);
  void refresh_residual();      // base_r_ from what has moved, and r from it
  void reconstruct_residual();  // base_r_ from scratch
  void load_residual();         // r from base_r_
  void copy_validation_residual();
  using SubtractRows = decltype(Ops::subtract_rows);
  void subtract_moved(double* sums, Range columns, SubtractRows subtract);  // the columns of the rows in moved_
  double squared_norm() const;

  const KernelView kernel_;
  const Problem problem_;
  const Ops& ops_;
  StepLoop loop_;
  Extrapolation extrapolation_;
  const Range all_, validation_;
  const double total_weight_, tolerance_;
  double scale_ = 0, largest_unit_ = 0;
  bool exact_bounds_ = true;  // scale times unit is a float
  int64_t steps_since_refresh_ = 0;
  bool is_refreshed_ = false;  // no step was made since the last refresh

  Aligned<float> unit_lo_, unit_hi_;  // the box at scale 1; [0, 0] on the validation fold
  Aligned<double> base_r_, base_;
  Aligned<float> bound_unit_;
  Aligned<double> bound_f_;
  int n_at_bound_ = 0;
  std::vector<double> validation_r_;
  Aligned<double> start_;
  Moved moved_;
  Aligned<int32_t> found_;  // results of a search
  Aligned<float> found_units_;
};

}  // namespace localsvm
