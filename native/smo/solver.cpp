#include "smo/solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/subnormals.h"
#include "kernel/row_batches.h"

namespace localsvm {

namespace {
constexpr int kGapCheckInterval = 32;       // steps between duality-gap checks
constexpr int kExtrapolationInterval = 96;  // steps between extrapolation steps
constexpr double kNearTolerance = 1.5;      // times the tolerance: the gap below which there is no extrapolation
constexpr double kLeastSlackCap = 1e-3;     // of the widest box
constexpr int kRefreshInterval = 1 << 15;   // steps between residual refreshes of a long solve
constexpr int kMaxStepsPerRefresh = 8;      // times n: steps along a path between residual refreshes
constexpr double kProgress = 0.999;         // a refresh that leaves more of the gap than this made no progress
constexpr int kMaxStalls = 4;               // residual refreshes without progress before giving up on float32
constexpr double kVisible = 0.3;            // of the tolerance: an error of r that matters
constexpr double kVisibleError = 1e-5;      // the same for a rescaled r, which is of order one
constexpr double kTooLarge = 3;             // times the tolerance: an error of r for which float32 sums are too coarse
}  // namespace

BoxSolver::BoxSolver(const KernelView& kernel, const Problem& problem, Range validation, double total_weight,
                     double tolerance)
    : kernel_(kernel),
      problem_(problem),
      ops_(ops()),
      loop_(kernel, validation),
      extrapolation_(kernel, loop_.sentinel, loop_.sweeps()),
      all_{0, loop_.sentinel},
      validation_(validation),
      total_weight_(total_weight),
      tolerance_(tolerance),
      unit_lo_(loop_.sentinel),
      unit_hi_(loop_.sentinel),
      base_r_(loop_.sentinel),
      base_(loop_.sentinel),
      bound_unit_(loop_.sentinel),
      bound_f_(loop_.sentinel),
      validation_r_(validation.padded().size()),
      start_(loop_.sentinel),
      found_(loop_.sentinel),
      found_units_(loop_.sentinel) {
  for (int i = 0; i < kernel.n; ++i)
    if (i < validation.begin || i >= validation.end) {
      unit_lo_[i] = problem.lo_unit[i];
      unit_hi_[i] = problem.hi_unit[i];
      largest_unit_ = std::max<double>({largest_unit_, problem.hi_unit[i], -problem.lo_unit[i]});
      for (const float unit : {problem.hi_unit[i], problem.lo_unit[i]})
        exact_bounds_ = exact_bounds_ && (unit == 0 || unit == 1 || unit == -1);
    }
}

void BoxSolver::start(double scale, const double* bound_sums) {
  scale_ = scale;
  // Exact line search from zero towards "every coefficient at its bound": maximize s a - s^2 b / 2, s <= 1.
  double a = 0, b = 0;
  for (int i = 0; i < kernel_.n; ++i) {
    const double e = scale * bound_at_target(i);
    a += e * problem_.target[i];
    b += e * scale * bound_sums[i];
  }
  const double s = b > 0 ? std::min(1.0, a / b) : 1.0;
  set_boxes();
  put_at_bounds(s, bound_sums);
  load_residual();
  copy_validation_residual();
}

// Every coefficient at s times its bound.
void BoxSolver::put_at_bounds(double s, const double* bound_sums) {
  n_at_bound_ = 0;
  for (int i = 0; i < kernel_.n; ++i) {
    base_r_[i] = problem_.target[i] - s * scale_ * bound_sums[i];
    loop_.beta[i] = static_cast<float>(s * (problem_.target[i] > 0 ? loop_.hi[i] : loop_.lo[i]));
    base_[i] = start_[i] = loop_.beta[i];
    bound_unit_[i] = s == 1 ? bound_at_target(i) : 0;
    bound_f_[i] = s == 1 ? bound_sums[i] : 0;
    n_at_bound_ += bound_unit_[i] != 0;
  }
}

void BoxSolver::warm_start(const float* beta, const double* bound_sums) {
  if (sums_are_too_large()) return;
  put_at_bounds(1, bound_sums);
  moved_.clear();
  for (int i = 0; i < kernel_.n; ++i) {
    const float bound = std::exchange(loop_.beta[i], std::clamp(beta[i], loop_.lo[i], loop_.hi[i]));
    if (loop_.beta[i] != bound) moved_.add(i, loop_.beta[i] - scale_ * bound_at_target(i));
    base_[i] = start_[i] = loop_.beta[i];
  }
  subtract_moved(base_r_.data(), all_, ops_.subtract_rows);
  load_residual();
  copy_validation_residual();
}

// Products of two floats, rounded once.
void BoxSolver::set_boxes() {
  const float scale = static_cast<float>(scale_);
  for (int i = 0; i < kernel_.n; ++i) {
    loop_.lo[i] = scale * unit_lo_[i];
    loop_.hi[i] = scale * unit_hi_[i];
  }
}

void BoxSolver::rescale(double scale) {
  update_bound_sums();
  shift_bounds(scale);
  if (sums_are_too_large()) {
    for (int i = 0; i < kernel_.n; ++i) base_[i] = start_[i] = loop_.beta[i];
    reconstruct_residual();
    load_residual();
    copy_validation_residual();
  } else {
    loop_.set_slack();
  }
}

void BoxSolver::copy_validation_residual() {
  const Range range = validation_.padded();
  std::copy(base_r_.data() + range.begin, base_r_.data() + range.end, validation_r_.begin());
}

void BoxSolver::update_bound_sums() {
  moved_.clear();
  const int changed = ops_.find_bound_changes(loop_.arrays(), bounds(), all_, found_.data(), found_units_.data());
  for (int c = 0; c < changed; ++c) {
    const float unit = found_units_[c], before = std::exchange(bound_unit_[found_[c]], unit);
    n_at_bound_ += (unit != 0) - (before != 0);
    moved_.add(found_[c], before - unit);
  }
  rebuild_if_shorter();
  subtract_moved(bound_f_.data(), all_, ops_.subtract_rows_exactly);
}

// If fewer coefficients are at a bound than have changed, summing from scratch needs fewer rows than updating.
void BoxSolver::rebuild_if_shorter() {
  if (n_at_bound_ >= static_cast<int>(moved_.rows.size())) return;
  std::fill(bound_f_.data(), bound_f_.data() + loop_.sentinel, 0.0);
  moved_.clear();
  for (int i = 0; i < kernel_.n; ++i)
    if (bound_unit_[i] != 0) moved_.add(i, -bound_unit_[i]);
}

void BoxSolver::shift_bounds(double scale) {
  const double growth = scale - scale_;
  scale_ = scale;
  set_boxes();
  if (!exact_bounds_) account_for_rounding(growth);
  ops_.shift_bounds(loop_.arrays(), bounds(), static_cast<float>(scale), growth, all_);
  const Range range = validation_.padded();
  for (int i = range.begin; i < range.end; ++i) validation_r_[i - range.begin] -= growth * bound_f_[i];
}

// Bounds are rounded to float32, so they do not grow by exactly `growth`.
void BoxSolver::account_for_rounding(double growth) {
  const float scale = static_cast<float>(scale_);
  double rounding = 0;
  for (int i = 0; i < kernel_.n; ++i) {
    const float unit = bound_unit_[i];
    const double off = (unit == 0 ? 0.0 : static_cast<double>(scale * unit) - loop_.beta[i]) - growth * unit;
    rounding += off * off;
  }
  loop_.squared_steps += 0x1p48 * rounding;
}

void BoxSolver::collect_moved(double* accounted) {
  const float* beta = loop_.beta;
  const int count = ops_.find_moved(beta, accounted, all_, found_.data());
  // Differences that are only the rounding of bounds are ignored, unless they add up to a visible error.
  const auto is_rounding = [&](int i) { return std::abs(beta[i] - accounted[i]) <= 0x1p-22 * std::abs(accounted[i]); };
  double rounding = 0;
  for (int c = 0; c < (exact_bounds_ ? 0 : count); ++c)
    if (const int i = found_[c]; is_rounding(i)) rounding += (beta[i] - accounted[i]) * (beta[i] - accounted[i]);
  const bool all = std::sqrt(rounding) > kVisibleError;
  moved_.clear();
  for (int c = 0; c < count; ++c)
    if (const int i = found_[c]; all || !is_rounding(i)) {
      moved_.add(i, beta[i] - accounted[i]);
      accounted[i] = beta[i];
    }
}

void BoxSolver::refresh_residual() {
  collect_moved(base_.data());
  if (sums_are_too_large())
    reconstruct_residual();
  else
    subtract_moved(base_r_.data(), all_, ops_.subtract_rows);
  load_residual();
  is_refreshed_ = true;
}

// Whether coefficients are so large that float32 sums of eight products are visibly wrong; double is used then.
bool BoxSolver::sums_are_too_large() const {
  return 6e-8 * scale_ * largest_unit_ * std::sqrt(kernel_.n) > kTooLarge * tolerance_;
}

void BoxSolver::subtract_moved(double* sums, Range columns, SubtractRows subtract) {
  visit_rows(kernel_, moved_.rows, columns, [&](size_t m, int count, const float* const* rows, Range part) {
    subtract(sums + (part.begin - columns.begin), rows, moved_.coefs.data() + m, count, {0, part.size()});
  });
}

void BoxSolver::reconstruct_residual() {
  for (int i = 0; i < kernel_.n; ++i) base_r_[i] = problem_.target[i];
  std::vector<int> nonzero;
  for (int i = 0; i < kernel_.n; ++i)
    if (base_[i] != 0) nonzero.push_back(i);
  visit_rows(kernel_, nonzero, all_, [&](size_t m, int count, const float* const* rows, Range part) {
    for (int c = 0; c < count; ++c) {
      const double beta = base_[nonzero[m + c]];
      for (int j = part.begin; j < part.end; ++j) base_r_[j] -= beta * rows[c][j - part.begin];
    }
  });
}

void BoxSolver::load_residual() {
  for (int i = 0; i < kernel_.n; ++i) loop_.r[i] = static_cast<float>(base_r_[i]);
  loop_.set_slack();
  loop_.squared_steps = 0;
  extrapolation_.clear_carry();
  steps_since_refresh_ = 0;
}

double BoxSolver::gap() const {
  return loop_.gap(problem_.target, problem_.clip) / (scale_ * total_weight_);
}

// A coordinate contributes its residual times its slack to the gap.  Far from the optimum the residuals matter more, so
// slack is capped; near the optimum all of it counts.
float BoxSolver::slack_cap(double tolerances) const {
  const double cap = tolerances > 1 ? std::max(kLeastSlackCap, 1 / tolerances) : 1.0;
  return static_cast<float>(cap * scale_ * largest_unit_);
}

namespace {

// Estimate of the gap between two gap checks.  Sweeps sum the gap without clipping; what clipping takes off changes
// slowly.
class GapEstimate {
 public:
  GapEstimate(double unit, double gap) : unit_(unit), checked_(gap) {}
  void record(double gap) {
    checked_ = gap;
    is_new_ = true;
  }
  // NaN if the sweep did not sum the gap.
  double after(const Scan& scan) {
    if (is_new_ && !std::isnan(scan.open_gap)) {
      clipped_ = checked_ - scan.open_gap / unit_;
      is_new_ = false;
    }
    return clipped_ + scan.open_gap / unit_;
  }

 private:
  const double unit_;
  double checked_, clipped_ = 0;
  bool is_new_ = true;
};

}  // namespace

// Steps until the gap of the current r is small enough, no coordinate can move, or `max_steps` are made.
int64_t BoxSolver::run_steps(const StopRule& stop, int64_t max_steps, double last_gap) {
  const NoSubnormals no_subnormals;
  is_refreshed_ = false;
  loop_.reset();
  loop_.slack_cap = slack_cap(last_gap / stop.tolerance);
  GapEstimate estimate(scale_ * total_weight_, last_gap);
  const int64_t first_extrapolation = std::max(kernel_.n / 4, kExtrapolationInterval);
  int64_t next_gap_check = kGapCheckInterval, next_extrapolation = first_extrapolation;
  for (int64_t steps = 0;; ++steps) {
    Scan scan = loop_.apply();
    if (steps == first_extrapolation - kExtrapolationInterval) extrapolation_.begin(loop_);
    if (steps == next_extrapolation) {
      next_extrapolation += kExtrapolationInterval;
      if (last_gap > kNearTolerance * stop.tolerance && extrapolation_.extrapolate(loop_)) scan = loop_.apply();
    }
    if (steps == next_gap_check || estimate.after(scan) <= stop.tolerance) {
      last_gap = gap();
      if (stop.is_cancelled() || last_gap <= stop.tolerance) return steps;
      estimate.record(last_gap);
      loop_.slack_cap = slack_cap(last_gap / stop.tolerance);
      next_gap_check = steps + kGapCheckInterval;
    }
    if (steps >= max_steps || !loop_.step(scan.key)) return steps;
  }
}

Certificate BoxSolver::solve(const StopRule& stop) {
  Certificate certificate;
  double lowest = gap();
  int n_stalls = 0;
  certificate.gap = lowest;
  while (!(certificate.gap <= stop.tolerance)) {  // also if the gap is NaN
    if (n_stalls == kMaxStalls || certificate.steps >= stop.max_steps) {
      certificate.status = n_stalls == kMaxStalls ? Status::precision : Status::max_steps;
      return certificate;
    }
    const int64_t allowed = std::min<int64_t>(stop.max_steps - certificate.steps, kRefreshInterval);
    const int64_t steps = run_steps(stop, allowed, certificate.gap);
    certificate.steps += steps;
    steps_since_refresh_ += steps;
    // Few steps leave no visible rounding; after many, or if no coordinate can move, r is refreshed before the gap
    // check.
    const double rounding = 0x1p-24 * std::sqrt(loop_.squared_steps);
    if (rounding > kVisible * stop.tolerance || steps == 0 || steps_since_refresh_ >= kMaxStepsPerRefresh * kernel_.n)
      refresh_residual();
    certificate.gap = gap();
    if (stop.is_cancelled()) {
      certificate.status = Status::cancelled;
      return certificate;
    }
    n_stalls = certificate.gap < kProgress * lowest ? 0 : n_stalls + 1;
    lowest = std::min(lowest, certificate.gap);
  }
  if (certificate.gap < 0 && squared_norm() < -stop.tolerance) certificate.status = Status::precision;
  return certificate;
}

// lam ||f||^2, in risk units.  Rounding makes K slightly indefinite, which huge coefficients can exploit: where this is
// negative, the gap that contains it certifies nothing.
double BoxSolver::squared_norm() const {
  double sum = 0;
  for (int i = 0; i < kernel_.n; ++i)
    sum += static_cast<double>(loop_.beta[i]) * (static_cast<double>(problem_.target[i]) - loop_.r[i]);
  return sum / (2 * scale_ * total_weight_);
}

void BoxSolver::coefficients(float* beta) const { std::copy(loop_.beta, loop_.beta + kernel_.n, beta); }

void BoxSolver::validation_values(float* values) {
  const Range range = validation_.padded();
  if (is_refreshed_) {  // base_r covers the validation fold, too
    std::copy(base_.data(), base_.data() + loop_.sentinel, start_.data());
    copy_validation_residual();
  } else {
    collect_moved(start_.data());
    subtract_moved(validation_r_.data(), range, ops_.subtract_rows);
  }
  for (int i = validation_.begin; i < validation_.end; ++i)
    *values++ = static_cast<float>(problem_.target[i] - validation_r_[i - range.begin]);
}

}  // namespace localsvm
