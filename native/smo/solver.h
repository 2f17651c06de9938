// The dual of a kernel machine without offset, for every loss whose dual is a box.
//
//   given     a kernel matrix K with k_ii = 1, targets t, boxes [lo_i, hi_i] that contain 0
//   maximise  t'beta - beta'K beta / 2   subject to lo <= beta <= hi
//   result    beta, r = t - K beta, and a certificate
//
// A loss is its box: hinge has t = y and beta_i between 0 and y_i box; pinball t = y and [(tau-1) box, tau box];
// box = w_i / (2 lam W), W the sum of the weights.  A sample that does not take part has the box [0, 0].
//
// Method: steps in two coordinates (SMO without offset: Steinwart, Hush, Scovel, JMLR 2011).  The first coordinate is
// the one that adds most to the gap; its partner is the best of its near neighbours and of the coordinates moved last:
// ill-conditioning of a Gaussian kernel is local, so a close neighbour is nearly always the best partner.  What many
// steps have moved is carried on (leap.h).
//
// Stops when the clipped duality gap in risk units,
//   lam ||f||^2 + 1/W sum_i w_i L(y_i, clip(f(x_i))) - dual
//     = sum_i [ max(lo_i rc_i, hi_i rc_i) - beta_i r_i ] / (scale W),     rc_i = t_i - clip(f(x_i)),
// is at most `tolerance`, or when single precision or `max_steps` ends it; the certificate says which.
//
// Precision: steps update r in float32.  `base_r` is the same vector in double for coefficients `base`; what has moved
// since is added to it in one sweep (`refresh_residual`), before a solve is believed whose steps, or those of the solves before it,
// could have left a visible error.  So rounding does not pile up over a path, and certificates are true.
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
  // `validation` are the rows that do not take part (the validation fold; may be empty).  Sums are as exact as certificates of
  // gaps of `tolerance` need.
  BoxSolver(const KernelView& kernel, const Problem& problem, Range validation, double total_weight, double tolerance);

  // Bytes of one solver: its arrays (five of floats, four of doubles), those of its parts, and the rows moved.
  static size_t bytes(size_t n) {
    return StepLoop::bytes(n) + padded(n) * (5 * sizeof(float) + 4 * sizeof(double)) + Extrapolation::bytes(n) + 16 * n;
  }

  // Starts a path at `scale` = 1/(2 lam W).  `bound_sums`[i] = sum_j K_ij e_j over the training rows, e_j the end of
  // the unit box on the side of the target: at strong regularisation nearly every coefficient sits there.
  void start(double scale, const double* bound_sums);

  // Once started: begins at these coefficients instead, as the box allows.
  void warm_start(const float* beta, const double* bound_sums);

  // Moves on to a larger scale.  Growing boxes keep beta feasible; coefficients at a bound move along with it.
  void rescale(double scale);

  Certificate solve(const StopRule& stop);

  double gap() const;  // in risk units

  void coefficients(float* beta) const;
  // Decision values of the rows left out.
  void validation_values(float* values);

 private:
  // Rows of K, and by how much their coefficients have moved.
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
    return {unit_lo_.data(), unit_hi_.data(), bound_unit_.data(), bound_f_.data(), base_.data(), start_.data(), base_r_.data()};
  }
  float bound_at_target(int i) const { return problem_.target[i] > 0 ? unit_hi_[i] : unit_lo_[i]; }
  void set_boxes();
  void put_at_bounds(double s, const double* bound_sums);
  void copy_validation_residual();             // left_out_r_ from base_r_
  void update_bound_sums();             // brings bound_unit_ and bound_f_ up to date
  void rebuild_if_shorter();
  void shift_bounds(double scale);  // coefficients at a bound follow it to a new scale, and so does all that depends on them
  void account_for_rounding(double growth);
  bool sums_are_too_large() const;
  float slack_cap(double tolerances) const;
  int64_t run_steps(const StopRule& stop, int64_t max_steps, double last_gap);
  void collect_moved(double* accounted);  // into moved_: what beta is off from the coefficients accounted for, which follow
  void refresh_residual();
  double squared_norm() const;
  using SubtractRows = decltype(Ops::subtract_rows);
  void subtract_moved(double* sums, Range columns, SubtractRows subtract);  // the columns of the rows in moved_
  void reconstruct_residual();                                                         // base_r, from scratch
  void load_residual();

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
  bool is_refreshed_ = false;  // no step was made since base_r was brought up to date

  Aligned<float> unit_lo_, unit_hi_;  // the box at scale 1; empty for rows left out
  Aligned<double> base_r_, base_;
  // Of the coefficients at a bound: bound_f = sum_i K_i bound_unit_i.  When the scale grows, r moves by a multiple of it.
  Aligned<float> bound_unit_;  // 0: inside
  Aligned<double> bound_f_;
  int n_at_bound_ = 0;
  // Rows left out: r in double for the coefficients `start`, those with which the solve began.
  std::vector<double> validation_r_;
  Aligned<double> start_;
  Moved moved_;
  Aligned<int32_t> found_;  // by a search
  Aligned<float> found_units_;
};

}  // namespace localsvm
