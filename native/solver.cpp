#include "solver.h"

#include <algorithm>
#include <cmath>

namespace localsvm {

namespace {
constexpr int kGapInterval = 16;         // steps between two looks at the gap
constexpr int kSettleInterval = 1 << 15;  // steps between two settlements of a long solve
constexpr double kProgress = 0.999;       // a settlement that lowers the gap by less is no progress
constexpr int kPatience = 4;              // settlements without progress before single precision is blamed
constexpr double kVisible = 0.1;          // of the tolerance: an error of r that matters
}  // namespace

BoxSolver::BoxSolver(const KernelView& kernel, const Problem& problem, Range left_out, double total_weight)
    : kernel_(kernel),
      problem_(problem),
      ops_(ops()),
      loop_({kernel.packed, kernel.ld}, kernel.n),
      left_out_(left_out),
      total_weight_(total_weight),
      base_r_(loop_.nobody),
      base_(loop_.nobody),
      base_at_(kernel.n, At::inside) {
  const Range before = Range{0, left_out.begin}.padded(), after = Range{left_out.end, kernel.n}.padded();
  if (before.end < after.begin)
    sweeps_ = {before, after};
  else
    sweeps_ = {{0, loop_.nobody}};
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
      base_[i] = s * ideal(i, at);
      loop_.beta[i] = s == 1 ? (at == At::hi ? loop_.hi[i] : loop_.lo[i]) : static_cast<float>(base_[i]);
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

double BoxSolver::ideal(int i, At at) const {
  if (at == At::inside) return loop_.beta[i];
  return scale_ * (at == At::hi ? problem_.hi_unit[i] : problem_.lo_unit[i]);
}

void BoxSolver::rescale(double scale) {
  const double rho = scale / scale_;
  // Two ways from base_r to the new r: scale everything, then correct what is not at a bound; or keep everything and
  // correct what is at a bound.  The one that touches fewer rows.
  std::vector<std::pair<int, float>> scaled, kept;
  std::vector<At> at_now(kernel_.n, At::inside);
  for (int i = 0; i < kernel_.n; ++i) at_now[i] = where(i);
  scale_ = scale;
  set_boxes();
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      const At at = at_now[i];
      const double now = ideal(i, at);
      if (at == At::inside || at != base_at_[i])
        if (const auto delta = static_cast<float>(now - rho * base_[i])) scaled.emplace_back(i, delta);
      if (const auto delta = static_cast<float>(now - base_[i])) kept.emplace_back(i, delta);
      if (at != At::inside) loop_.beta[i] = at == At::hi ? loop_.hi[i] : loop_.lo[i];
      base_[i] = now;
      base_at_[i] = at;
    }
  if (scaled.size() <= kept.size())
    for (int i = 0; i < kernel_.n; ++i) base_r_[i] = problem_.target[i] - rho * (problem_.target[i] - base_r_[i]);
  rows_.clear();
  row_coefs_.clear();
  for (const auto& [i, delta] : scaled.size() <= kept.size() ? scaled : kept) {
    rows_.push_back(kernel_.row(i));
    row_coefs_.push_back(delta);
  }
  ops_.subtract_rows(base_r_.data(), rows_.data(), row_coefs_.data(), static_cast<int>(rows_.size()), {0, loop_.nobody});
  refresh();
}

void BoxSolver::collect_moved() {
  rows_.clear();
  row_coefs_.clear();
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i))
      if (const auto delta = static_cast<float>(ideal(i, where(i)) - base_[i])) {
        rows_.push_back(kernel_.row(i));
        row_coefs_.push_back(delta);
      }
}

void BoxSolver::settle() {
  collect_moved();
  ops_.subtract_rows(base_r_.data(), rows_.data(), row_coefs_.data(), static_cast<int>(rows_.size()), {0, loop_.nobody});
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      base_at_[i] = where(i);
      base_[i] = ideal(i, base_at_[i]);
    }
  refresh();
}

void BoxSolver::refresh() {
  for (int i = 0; i < kernel_.n; ++i) loop_.r[i] = static_cast<float>(base_r_[i]);
  loop_.set_rooms();
}

double BoxSolver::gap() const {
  const double total =
      loop_.gap(problem_.target, problem_.clip, sweeps_.data(), static_cast<int>(sweeps_.size()));
  return total / (scale_ * total_weight_);
}

// Steps until the gap is small enough as far as r can be trusted, nothing can move, or max_steps are made.
int64_t BoxSolver::walk(const StopRule& stop, int64_t max_steps) {
  const int n_sweeps = static_cast<int>(sweeps_.size());
  loop_.forget();
  loop_.moved = 0;
  int64_t steps = 0;
  while (steps < max_steps &&
         loop_.advance(sweeps_.data(), n_sweeps, kernel_.neighbours, kernel_.neighbour_kernel)) {
    if (++steps % kGapInterval == 0) {
      loop_.apply(sweeps_.data(), n_sweeps);
      if (stop.is_cancelled() || gap() <= stop.tolerance) return steps;
    }
  }
  loop_.apply(sweeps_.data(), n_sweeps);
  return steps;
}

Certificate BoxSolver::solve(const StopRule& stop) {
  Certificate certificate;
  double lowest = gap();
  int without_progress = 0;
  certificate.gap = lowest;
  while (certificate.gap > stop.tolerance) {
    if (without_progress == kPatience || certificate.steps >= stop.max_steps) {
      certificate.status = without_progress == kPatience ? Status::precision : Status::max_steps;
      return certificate;
    }
    certificate.steps += walk(stop, std::min<int64_t>(stop.max_steps - certificate.steps, kSettleInterval));
    if (PackedMatrix::kError * loop_.moved > kVisible * stop.tolerance) settle();
    certificate.gap = gap();
    if (stop.is_cancelled()) {
      certificate.status = Status::cancelled;
      return certificate;
    }
    without_progress = certificate.gap > kProgress * lowest ? without_progress + 1 : 0;
    lowest = std::min(lowest, certificate.gap);
  }
  return certificate;
}

void BoxSolver::coefficients(float* beta) const { std::copy(loop_.beta, loop_.beta + kernel_.n, beta); }

void BoxSolver::left_out_values(float* values) {
  collect_moved();
  const Range range = left_out_.padded();
  std::vector<double> r(base_r_.data() + range.begin, base_r_.data() + range.end);
  for (const float*& row : rows_) row += range.begin;
  ops_.subtract_rows(r.data(), rows_.data(), row_coefs_.data(), static_cast<int>(rows_.size()), {0, range.size()});
  for (int i = left_out_.begin; i < left_out_.end; ++i)
    *values++ = static_cast<float>(problem_.target[i] - r[i - range.begin]);
}

}  // namespace localsvm
