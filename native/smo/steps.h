// The step loop of the solver.
//
// Holds one box-constrained problem (see solver.h) in the arrays the hot loops want, and walks: update r by the last
// step and look, at one half of the coordinates after the other, for the one that adds most to the gap; choose its partner; move
// both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/aligned.h"
#include "core/range.h"
#include "kernel/kernel_view.h"
#include "simd/ops.h"
#include "simd/slack.h"

namespace localsvm {

class StepLoop {
 public:
  // One coordinate per sample, and one more that does not exist, `sentinel`, with the box [0, 0].
  StepLoop(const KernelView& kernel, Range validation)
      : sentinel(static_cast<int>(padded(kernel.n))), kernel_(kernel), ops_(ops()) {
    const Range before = Range{0, validation.begin}.padded(), after = Range{validation.end, kernel.n}.padded();
    for (const Range& range : {before, after})
      if (range.size() > 0) sweeps_.push_back(range);
    if (sweeps_.empty() || before.end >= after.begin) sweeps_ = {{0, sentinel}};
    // Starts differ modulo 4096 bytes: a load that shares its low address bits with a store just made has to wait.
    constexpr int kStagger = 11 * kPad;
    const size_t stride = (sentinel + kPad + 1023) / 1024 * 1024 + kStagger;
    arrays_ = Aligned<float>(6 * stride);
    float* words;
    float** const starts[] = {&r, &words, &beta, &lo, &hi, &zero_row_};
    for (size_t a = 0; a < 6; ++a) *starts[a] = arrays_.data() + a * stride;
    slack = reinterpret_cast<uint32_t*>(words);
    index_bits_ = 1;
    while ((1 << index_bits_) < sentinel) ++index_bits_;
    if (kernel_.cache) seat_ = kernel_.cache->enter();
    reset();
  }
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;
  ~StepLoop() {
    reset();
    if (kernel_.cache) kernel_.cache->leave(seat_);
  }

  // Bytes of the arrays of one loop, at most.
  static size_t bytes(size_t n) { return 6 * (padded(n) * sizeof(float) + 8192); }

  // No coordinate was moved lately; no row is in use.
  void reset() {
    if (kernel_.cache) kernel_.cache->release(in_use_, kRecent);
    half_ = 0;
    std::fill(recent_, recent_ + kRecent, sentinel);
    std::fill(in_use_, in_use_ + kRecent, -1);
    std::fill(recent_rows_, recent_rows_ + kRecent, zero_row_);
    clear_pending();
  }

  void set_slack() { ops_.set_slack(arrays(), {0, sentinel}); }

  // Applies the last step to r; returns the key of the coordinate that adds most to the gap then, of the half whose turn it is,
  // and about that gap.
  Scan apply() {
    const Sweep sweep{r, slack, row_i_, row_j_, pending_.di, pending_.dj, slack_cap, index_bits_, kernel_.near, half_};
    half_ = 1 - half_;
    const Scan scan = ops_.update_and_scan(sweep, sweeps_.data(), static_cast<int>(sweeps_.size()));
    clear_pending();
    return scan;
  }

  // Makes the next step, from the key that `apply` returned; its effect on r is pending then.  False when no coordinate
  // can move.
  bool step(int32_t key) {
    if (!choose(key)) {
      clear_pending();
      if (!choose(apply().key)) {  // in the other half
        clear_pending();
        return false;
      }
    }
    fetch_rows();
    move(pending_.i, pending_.di);
    if (pending_.j != pending_.i) move(pending_.j, pending_.dj);
    return true;
  }

  double gap(const float* target, float clip) const {
    return ops_.gap(r, beta, lo, hi, target, clip, sweeps_.data(), static_cast<int>(sweeps_.size()));
  }

  const std::vector<Range>& sweeps() const { return sweeps_; }
  LoopArrays arrays() const { return {beta, r, lo, hi, slack}; }

  const int sentinel;
  float *r, *beta, *lo, *hi;
  uint32_t* slack;           // how far beta is from lo and hi
  float slack_cap = 1;     // more does not count when a coordinate is chosen
  double squared_steps = 0;  // rounding is random: r is off by about 2^-24 times the root of this

 private:
  void clear_pending() {
    pending_ = Step{};
    row_i_ = row_j_ = zero_row_;
  }

  // The coordinate that adds most to the gap, and the partner with which it gains most.
  bool choose(int32_t key) {
    const int32_t index_mask = (1 << index_bits_) - 1;
    if (key <= index_mask) return false;
    const int i = key & index_mask;
    prefetch_row(i);
    const Partners partners{kernel_.near[i], recent_, recent_rows_, sentinel};
    if (!ops_.best_partner(r, slack, i, partners, &pending_)) return false;
    prefetch_row(pending_.j);
    return true;
  }

  // Starts to fetch a stored row, from where each sweep will begin; the sweep asks for the rest on its way.
  void prefetch_row(int i) const {
    if (!kernel_.K) return;
    for (const Range& sweep : sweeps_)
      for (int c = 0; c < kAhead; c += kPad) __builtin_prefetch(kernel_.row(i) + sweep.begin + c);
  }

  // Rows i and j of the step to come take the place of those moved longest ago.
  void fetch_rows() {
    const int wanted[2] = {pending_.i, pending_.j}, count = pending_.j == pending_.i ? 1 : 2;
    const float* rows[2];
    if (kernel_.cache)
      fetch_cached(wanted, count, rows);
    else
      for (int c = 0; c < count; ++c) rows[c] = kernel_.row(wanted[c]);
    row_i_ = rows[0];
    row_j_ = rows[count - 1];
    for (int c = 0; c < count; ++c) {
      const unsigned at = next_recent_++ % kRecent;
      recent_[at] = wanted[c];
      recent_rows_[at] = rows[c];
    }
  }

  void fetch_cached(const int* wanted, int count, const float** rows) {
    int released[2];
    for (int c = 0; c < count; ++c) released[c] = std::exchange(in_use_[(next_recent_ + c) % kRecent], wanted[c]);
    kernel_.cache->exchange(seat_, {r, slack}, wanted, released, count, rows);
  }

  void move(int i, float& delta) {
    const float next = std::clamp(beta[i] + delta, lo[i], hi[i]);
    delta = next - beta[i];
    beta[i] = next;
    slack[i] = pack_slack(lo[i] - next, hi[i] - next);
    squared_steps += static_cast<double>(delta) * delta;
  }

  Aligned<float> arrays_;
  const KernelView kernel_;
  const Ops& ops_;
  // The rows that take part, rounded outwards to whole vectors.  Rows of the fold left out that this lets in have the
  // box [0, 0] and are never chosen; their r is not used.
  std::vector<Range> sweeps_;
  int index_bits_;
  int half_ = 0;  // whose turn it is
  Step pending_;
  const float *row_i_, *row_j_;  // of the pending step
  float* zero_row_;               // a row of zeros, for no step
  int32_t recent_[kRecent];
  const float* recent_rows_[kRecent];
  int seat_ = -1;                // in the cache, and the rows pinned there
  int in_use_[kRecent] = {-1, -1, -1, -1, -1, -1, -1, -1};
  unsigned next_recent_ = 0;
};

}  // namespace localsvm
