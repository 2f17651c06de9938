#include "solver.h"

#include <algorithm>
#include <cmath>

namespace localsvm {

namespace {
constexpr int kGapInterval = 16;       // steps between two looks at the gap
constexpr int kSettleInterval = 1 << 15;  // steps between two settlements of a long solve
constexpr double kProgress = 0.999;    // a settlement that lowers the gap by less is no progress
constexpr int kPatience = 4;           // settlements without progress before single precision is blamed
}  // namespace

BoxSolver::BoxSolver(const KernelView& kernel, const Problem& problem, Range left_out, double total_weight)
    : kernel_(kernel),
      problem_(problem),
      ops_(ops()),
      left_out_(left_out),
      total_weight_(total_weight),
      base_at_(kernel.n, At::inside) {
  nobody_ = static_cast<int>(padded(kernel.n));
  const size_t size = nobody_ + kPad;
  for (Aligned<float>* array : {&r_, &beta_, &lo_, &hi_, &l_, &u_}) *array = Aligned<float>(size);
  base_r_ = Aligned<double>(size);
  base_ = Aligned<double>(size);
  const Range before = Range{0, left_out.begin}.padded(), after = Range{left_out.end, kernel.n}.padded();
  if (before.end < after.begin)
    sweeps_ = {before, after};
  else
    sweeps_ = {{0, nobody_}};
  index_bits_ = 1;
  while ((1 << index_bits_) < kernel.n) ++index_bits_;
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
      beta_[i] = s == 1 ? (at == At::hi ? hi_[i] : lo_[i]) : static_cast<float>(base_[i]);
    }
  refresh();
}

void BoxSolver::set_boxes() {
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      lo_[i] = static_cast<float>(scale_ * problem_.lo_unit[i]);
      hi_[i] = static_cast<float>(scale_ * problem_.hi_unit[i]);
    }
}

// A bound of zero counts as inside: it does not move with the scale.
BoxSolver::At BoxSolver::where(int i) const {
  if (beta_[i] == 0) return At::inside;
  return beta_[i] == hi_[i] ? At::hi : beta_[i] == lo_[i] ? At::lo : At::inside;
}

double BoxSolver::ideal(int i, At at) const {
  if (at == At::inside) return beta_[i];
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
      if (at != At::inside) beta_[i] = at == At::hi ? hi_[i] : lo_[i];
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
  ops_.subtract_rows(base_r_.data(), rows_.data(), row_coefs_.data(), static_cast<int>(rows_.size()), {0, nobody_});
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
  ops_.subtract_rows(base_r_.data(), rows_.data(), row_coefs_.data(), static_cast<int>(rows_.size()), {0, nobody_});
  for (int i = 0; i < kernel_.n; ++i)
    if (takes_part(i)) {
      base_at_[i] = where(i);
      base_[i] = ideal(i, base_at_[i]);
    }
  refresh();
}

void BoxSolver::refresh() {
  for (int i = 0; i < kernel_.n; ++i) {
    r_[i] = static_cast<float>(base_r_[i]);
    l_[i] = lo_[i] - beta_[i];
    u_[i] = hi_[i] - beta_[i];
  }
}

double BoxSolver::gap() const {
  double total = 0;
  for (const Range& range : sweeps_)
    total += ops_.gap(r_.data(), beta_.data(), lo_.data(), hi_.data(), problem_.target, problem_.clip, range);
  return total / (scale_ * total_weight_);
}

// The coordinate that could move farthest, and the partner with which it gains most.
bool BoxSolver::choose_step(const int32_t* keys, Step& step) {
  const int32_t best = *std::max_element(keys, keys + kMaxLanes);
  const int32_t index_mask = (1 << index_bits_) - 1;
  if (best <= index_mask) return false;  // nothing can move
  const int i = best & index_mask;

  int candidates[kCandidates];
  alignas(64) float rj[kCandidates], k[kCandidates], lj[kCandidates], uj[kCandidates];
  const size_t near = static_cast<size_t>(i) * kNeighbours;
  for (int c = 0; c < kNeighbours; ++c) {
    const int j = kernel_.neighbours[near + c];
    candidates[c] = j < 0 ? nobody_ : j;
    k[c] = kernel_.neighbour_kernel[near + c];
  }
  // The rows moved last are still in the cache: read K_ji, not K_ij.
  for (int c = 0; c < kRecent; ++c) {
    const int j = recent_[c];
    candidates[kNeighbours + c] = j == i ? nobody_ : j;
    k[kNeighbours + c] = j == nobody_ ? 0.0f : kernel_.row(j)[i];
  }
  for (int c = kNeighbours + kRecent; c < kCandidates; ++c) {
    candidates[c] = nobody_;
    k[c] = 0;
  }
  for (int c = 0; c < kCandidates; ++c) {
    const int j = candidates[c];
    rj[c] = r_[j];
    lj[c] = l_[j];
    uj[c] = u_[j];
  }
  int chosen = 0;
  const float gain =
      ops_.best_partner(r_[i], l_[i], u_[i], rj, k, lj, uj, kNeighbours + kRecent, &chosen, &step.di, &step.dj);
  if (!(gain > 0)) return false;
  step.i = i;
  step.j = step.dj == 0 ? i : candidates[chosen];
  return true;
}

void BoxSolver::move(int i, float& delta) {
  const float moved = std::clamp(beta_[i] + delta, lo_[i], hi_[i]);
  delta = moved - beta_[i];
  beta_[i] = moved;
  l_[i] = lo_[i] - moved;
  u_[i] = hi_[i] - moved;
}

Certificate BoxSolver::solve(const StopRule& stop) {
  Certificate certificate;
  Step step;
  std::fill(recent_, recent_ + kRecent, nobody_);
  int next_recent = 0, without_progress = 0;
  int64_t settled_at = 0;
  double gap_when_settled = INFINITY;
  certificate.gap = gap();
  if (certificate.gap <= stop.tolerance) return certificate;
  while (true) {
    int32_t keys[kMaxLanes] = {};
    for (const Range& range : sweeps_)
      ops_.update_and_scan(r_.data(), l_.data(), u_.data(), kernel_.row(step.i), kernel_.row(step.j), step.di, step.dj,
                           range, index_bits_, keys);
    if (certificate.steps % kGapInterval == 0) {
      certificate.gap = gap();
      if (stop.cancelled && stop.cancelled->load(std::memory_order_relaxed)) {
        certificate.status = Status::cancelled;
        return certificate;
      }
    }
    // A short solve has no rounding worth a look; a long one is settled before it is believed.
    const bool done = certificate.gap <= stop.tolerance;
    if (done && certificate.steps - settled_at <= kernel_.n / 2) return certificate;
    const bool can_move = choose_step(keys, step);
    if (done || !can_move || certificate.steps - settled_at >= kSettleInterval) {
      settle();
      settled_at = certificate.steps;
      certificate.gap = gap();
      without_progress = certificate.gap > kProgress * gap_when_settled ? without_progress + 1 : 0;
      gap_when_settled = std::min(gap_when_settled, certificate.gap);
      if (certificate.gap <= stop.tolerance) return certificate;
      if (without_progress >= kPatience) {
        certificate.status = Status::precision;
        return certificate;
      }
      step = Step{};
      continue;
    }
    if (certificate.steps >= stop.max_steps) {
      settle();
      certificate.gap = gap();
      certificate.status = certificate.gap <= stop.tolerance ? Status::converged : Status::max_steps;
      return certificate;
    }
    move(step.i, step.di);
    recent_[next_recent++ % kRecent] = step.i;
    if (step.j != step.i) {
      move(step.j, step.dj);
      recent_[next_recent++ % kRecent] = step.j;
    }
    ++certificate.steps;
  }
}

void BoxSolver::coefficients(float* beta) const { std::copy(beta_.data(), beta_.data() + kernel_.n, beta); }

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
