// The step loop of the solver.
//
// Holds one box-constrained problem (see solver.h) in the arrays that the hot loops need.  One step is:
//
//   apply   update r by the pending step, and find the coordinate i that contributes most to the gap, in one half of
//           the coordinates; the halves alternate (steps_level.cpp draws the sweep)
//   choose  its partner j, with which the joint step gains most
//   move    beta_i and beta_j, clipped to their boxes; the step is pending until the next sweep applies it to r
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
  // One coordinate per sample, and a sentinel with the box [0, 0], which never moves.
  StepLoop(const KernelView& kernel, Range validation)
      : sentinel(static_cast<int>(padded(kernel.n))), kernel_(kernel), ops_(ops()) {
    const Range before = Range{0, validation.begin}.padded(), after = Range{validation.end, kernel.n}.padded();
    for (const Range& range : {before, after})
      if (range.size() > 0) sweeps_.push_back(range);
    if (sweeps_.empty() || before.end >= after.begin) sweeps_ = {{0, sentinel}};
    const size_t stride = (sentinel + kPad + kWindow - 1) / kWindow * kWindow + kStagger;
    arrays_ = Aligned<float>(5 * stride + kStagger);
    r = arrays_.data();
    float** const others[] = {&beta, &lo, &hi, &zero_row_};
    for (size_t a = 0; a < 4; ++a) *others[a] = r + kStagger + (a + 1) * stride;
    words_ = Aligned<uint32_t>(stride + kWindow);
    slack = words_.data() + (place(r) + kStagger - place(words_.data())) % kWindow;
    index_bits_ = 1;
    while ((1 << index_bits_) < sentinel) ++index_bits_;
    if (kernel_.cache) slot_ = kernel_.cache->acquire_slot();
    reset();
  }
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;
  ~StepLoop() {
    reset();
    if (kernel_.cache) kernel_.cache->release_slot(slot_);
  }

  // Bytes of the arrays of one loop, at most.
  static size_t bytes(size_t n) { return 6 * (padded(n) * sizeof(float) + 8192) + 4096; }

  // Forgets the coordinates updated last and releases their rows; no step is pending.
  void reset() {
    if (kernel_.cache) kernel_.cache->release(pinned_, kRecent);
    half_ = 0;
    std::fill(recent_, recent_ + kRecent, sentinel);
    std::fill(pinned_, pinned_ + kRecent, -1);
    std::fill(recent_rows_, recent_rows_ + kRecent, zero_row_);
    clear_pending();
  }

  void set_slack() { ops_.set_slack(arrays(), {0, sentinel}); }

  // Applies the pending step to r.  Returns the key of the coordinate that contributes most to the gap, of the half
  // whose turn it is, and an estimate of the gap.
  Scan apply() {
    const Sweep sweep{r, slack, row_i_, row_j_, pending_.di, pending_.dj, slack_cap, index_bits_, kernel_.near, half_};
    half_ = 1 - half_;
    const Scan scan = ops_.update_and_scan(sweep, sweeps_.data(), static_cast<int>(sweeps_.size()));
    clear_pending();
    return scan;
  }

  // Makes the next step from the key that `apply` returned and leaves it pending.  False if no coordinate can move.
  bool step(int32_t key) {
    if (!choose(key)) {
      clear_pending();
      if (!choose(apply().key)) {  // of the other half
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
  uint32_t* slack;           // of every coordinate, packed (slack.h)
  float slack_cap = 1;       // slack beyond this does not count when a coordinate is chosen
  // Sum of squares of all steps since r was loaded.  Rounding is random: the error of r is about 2^-24 times its root.
  double squared_steps = 0;

 private:
  // Array starts differ modulo 4096 bytes, or loads would wait for recent stores with the same low address bits: r,
  // which is stored, has the lowest, then slack, beta, lo and hi.
  static constexpr size_t kWindow = 4096 / sizeof(float), kStagger = 11 * kPad;
  static size_t place(const void* start) { return reinterpret_cast<uintptr_t>(start) / sizeof(float); }

  void clear_pending() {
    pending_ = Step{};
    row_i_ = row_j_ = zero_row_;
  }

  // Finds the step of the coordinate in `key` and of its best partner.  False if no step gains.
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

  // Prefetches a stored row where each range of the sweep begins; the sweep prefetches the rest.
  void prefetch_row(int i) const {
    if (!kernel_.K) return;
    for (const Range& sweep : sweeps_)
      for (int c = 0; c < kAhead; c += kPad) __builtin_prefetch(kernel_.row(i) + sweep.begin + c);
  }

  // Fetches rows i and j of the step; they replace those of the coordinates updated longest ago.
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
    for (int c = 0; c < count; ++c) released[c] = std::exchange(pinned_[(next_recent_ + c) % kRecent], -1);
    kernel_.cache->exchange(slot_, {r, slack}, wanted, released, count, rows);
    for (int c = 0; c < count; ++c) pinned_[(next_recent_ + c) % kRecent] = wanted[c];
  }

  void move(int i, float& delta) {
    const float next = std::clamp(beta[i] + delta, lo[i], hi[i]);
    delta = next - beta[i];
    beta[i] = next;
    slack[i] = pack_slack(lo[i] - next, hi[i] - next);
    squared_steps += static_cast<double>(delta) * delta;
  }

  Aligned<float> arrays_;
  Aligned<uint32_t> words_;
  const KernelView kernel_;
  const Ops& ops_;
  // The training rows, rounded outwards to whole vectors.  Rows of the validation fold that this includes have the box
  // [0, 0] and are never chosen; their r is not used.
  std::vector<Range> sweeps_;
  int index_bits_;
  int half_ = 0;  // of the coordinates, whose turn it is
  Step pending_;
  const float *row_i_, *row_j_;  // of the pending step
  float* zero_row_;              // the rows while no step is pending
  int32_t recent_[kRecent];
  const float* recent_rows_[kRecent];
  int slot_ = -1;  // of this solver in the cache
  int pinned_[kRecent] = {-1, -1, -1, -1, -1, -1, -1, -1};
  unsigned next_recent_ = 0;
};

}  // namespace localsvm
