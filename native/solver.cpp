#include "solver.h"

#include <algorithm>
#include <cmath>

#include "row_batches.h"

namespace localsvm {

namespace {
constexpr int kGapInterval = 16;         // steps between two looks at the gap
constexpr int kSettleInterval = 1 << 15;  // steps between two settlements of a long solve
constexpr double kProgress = 0.999;       // a settlement that lowers the gap by less is no progress
constexpr int kPatience = 4;              // settlements without progress before single precision is blamed
constexpr double kVisible = 0.1;          // of the tolerance: an error of r that matters
constexpr double kVisibleError = 1e-5;    // the same for a rescaled r, which is of order one
constexpr double kTooLarge = 5e-3;        // error of r at which sums in float32 are given up
}  // namespace

BoxSolver::BoxSolver(const KernelView& kernel, const Problem& problem, Range left_out, double total_weight)
    : kernel_(kernel),
      problem_(problem),
      ops_(ops()),
      loop_(kernel, left_out),
      left_out_(left_out),
      total_weight_(total_weight),
      base_r_(loop_.nobody),
      base_(loop_.nobody),
      base_at_(kernel.n, At::inside) {
  for (int i = 0; i < kernel.n; ++i)
    largest_unit_ = std::max<double>({largest_unit_, problem.hi_unit[i], -problem.lo_unit[i]});
}

void BoxSolver::start(double scale, const double* bound_sums) {
  scale_ = scale;
  // The best multiple of "everything at its bound", by an exact line search: maximise s a - s^2 b / 2, s <= 1.
  double a = 0, b = 0;
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      const double e = scale * (problem_.target[i] > 0 ? problem_.hi_unit[i] : problem_.lo_unit[i]);
      a += e * problem_.target[i];
      b += e * scale * bound_sums[i];
    }
  const double s = b > 0 ? std::min(1.0, a / b) : 1.0;
  set_boxes();
  for (int i = 0; i < kernel_.n; ++i) base_r_[i] = problem_.target[i] - s * scale * bound_sums[i];
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      const At at = problem_.target[i] > 0 ? At::hi : At::lo;
      base_at_[i] = s == 1 ? at : At::inside;
      loop_.beta[i] = static_cast<float>(s * (at == At::hi ? loop_.hi[i] : loop_.lo[i]));
      base_[i] = loop_.beta[i];
    }
  refresh();
}

void BoxSolver::set_boxes() {
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      loop_.lo[i] = static_cast<float>(scale_ * problem_.lo_unit[i]);
      loop_.hi[i] = static_cast<float>(scale_ * problem_.hi_unit[i]);
    }
}

// A bound of zero counts as inside: it does not move with the scale.
BoxSolver::At BoxSolver::where(int i) const {
  if (loop_.beta[i] == 0) return At::inside;
  return loop_.beta[i] == loop_.hi[i] ? At::hi : loop_.beta[i] == loop_.lo[i] ? At::lo : At::inside;
}

void BoxSolver::rescale(double scale) {
  const double rho = scale / scale_;
  std::vector<At> at_now(kernel_.n, At::inside);
  for (int i = 0; i < kernel_.n; ++i) at_now[i] = where(i);
  scale_ = scale;
  set_boxes();

  // Two ways from base_r to the new r: scale everything, then correct what is not at a bound; or keep everything and
  // correct what is at a bound.  The one that touches fewer rows.
  std::vector<std::pair<int, float>> scaled, kept, rounded;
  double rounding = 0;
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      if (at_now[i] != At::inside) loop_.beta[i] = at_now[i] == At::hi ? loop_.hi[i] : loop_.lo[i];
      const double off = loop_.beta[i] - rho * base_[i], moved = loop_.beta[i] - base_[i];
      if (off != 0) {
        // At the same bound as before, only the rounding of the bound to float32 is off: zero without weights.
        const bool same_bound = at_now[i] != At::inside && at_now[i] == base_at_[i];
        (same_bound ? rounded : scaled).emplace_back(i, static_cast<float>(off));
        if (same_bound) rounding += off * off;
      }
      if (moved != 0) kept.emplace_back(i, static_cast<float>(moved));
      base_[i] = loop_.beta[i];
      base_at_[i] = at_now[i];
    }
  if (std::sqrt(rounding) > kVisibleError) scaled.insert(scaled.end(), rounded.begin(), rounded.end());
  const bool scale_all = scaled.size() <= kept.size();
  if (scale_all)
    for (int i = 0; i < kernel_.n; ++i) base_r_[i] = problem_.target[i] - rho * (problem_.target[i] - base_r_[i]);
  rows_.clear();
  row_coefs_.clear();
  for (const auto& [i, delta] : scale_all ? scaled : kept) {
    rows_.push_back(i);
    row_coefs_.push_back(delta);
  }
  subtract_moved();
}

void BoxSolver::collect_moved() {
  rows_.clear();
  row_coefs_.clear();
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i) && loop_.beta[i] != base_[i]) {
      rows_.push_back(i);
      row_coefs_.push_back(static_cast<float>(loop_.beta[i] - base_[i]));
    }
}

void BoxSolver::settle() {
  collect_moved();
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      base_at_[i] = where(i);
      base_[i] = loop_.beta[i];
    }
  subtract_moved();
}

void BoxSolver::subtract_moved() {
  // Coefficients so large that sums of eight products in float32 are visibly wrong: from scratch, in double.
  if (6e-8 * scale_ * largest_unit_ * std::sqrt(kernel_.n) > kTooLarge)
    recompute();
  else
    subtract_rows(base_r_.data(), {0, loop_.nobody});
  refresh();
}

void BoxSolver::subtract_rows(double* r, Range columns) {
  visit_rows(kernel_, rows_, columns, [&](size_t m, int count, const float* const* rows, Range part) {
    ops_.subtract_rows(r + (part.begin - columns.begin), rows, row_coefs_.data() + m, count, {0, part.size()});
  });
}

void BoxSolver::recompute() {
  for (int i = 0; i < kernel_.n; ++i) base_r_[i] = problem_.target[i];
  std::vector<int> nonzero;
  for (int i = 0; i < kernel_.n; ++i)
    if (base_[i] != 0) nonzero.push_back(i);
  visit_rows(kernel_, nonzero, {0, loop_.nobody}, [&](size_t m, int count, const float* const* rows, Range part) {
    for (int c = 0; c < count; ++c) {
      const double beta = base_[nonzero[m + c]];
      for (int j = part.begin; j < part.end; ++j) base_r_[j] -= beta * rows[c][j - part.begin];
    }
  });
}

void BoxSolver::refresh() {
  for (int i = 0; i < kernel_.n; ++i) loop_.r[i] = static_cast<float>(base_r_[i]);
  loop_.set_rooms();
}

double BoxSolver::gap() const {
  return loop_.gap(problem_.target, problem_.clip) / (scale_ * total_weight_);
}

// Steps until the gap is small enough as far as r can be trusted, nothing can move, or max_steps are made.
int64_t BoxSolver::walk(const StopRule& stop, int64_t max_steps) {
  loop_.forget();
  loop_.squared_steps = 0;
  for (int64_t steps = 0;; ++steps) {
    const int32_t key = loop_.apply();
    const bool look = steps > 0 && steps % kGapInterval == 0;
    if (look && (stop.is_cancelled() || gap() <= stop.tolerance)) return steps;
    if (steps >= max_steps || !loop_.step(key)) return steps;
  }
}

Certificate BoxSolver::solve(const StopRule& stop) {
  Certificate certificate;
  double lowest = gap();
  int without_progress = 0;
  certificate.gap = lowest;
  while (!(certificate.gap <= stop.tolerance)) {  // a gap of NaN is not a small one
    if (without_progress == kPatience || certificate.steps >= stop.max_steps) {
      certificate.status = without_progress == kPatience ? Status::precision : Status::max_steps;
      return certificate;
    }
    const int64_t steps = walk(stop, std::min<int64_t>(stop.max_steps - certificate.steps, kSettleInterval));
    certificate.steps += steps;
    // A short walk has no rounding worth a look; a long one, or one that found nothing to move, is settled first.
    const double rounding = 0x1p-24 * std::sqrt(loop_.squared_steps);
    if (rounding > kVisible * stop.tolerance || steps == 0 || steps >= kernel_.n) settle();
    certificate.gap = gap();
    if (stop.is_cancelled()) {
      certificate.status = Status::cancelled;
      return certificate;
    }
    without_progress = certificate.gap < kProgress * lowest ? 0 : without_progress + 1;
    lowest = std::min(lowest, certificate.gap);
  }
  return certificate;
}

void BoxSolver::coefficients(float* beta) const { std::copy(loop_.beta, loop_.beta + kernel_.n, beta); }

void BoxSolver::left_out_values(float* values) {
  collect_moved();
  const Range range = left_out_.padded();
  std::vector<double> r(base_r_.data() + range.begin, base_r_.data() + range.end);
  subtract_rows(r.data(), range);
  for (int i = left_out_.begin; i < left_out_.end; ++i)
    *values++ = static_cast<float>(problem_.target[i] - r[i - range.begin]);
}

}  // namespace localsvm
