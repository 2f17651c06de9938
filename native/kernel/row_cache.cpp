#include "kernel/row_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "simd/slack.h"

namespace localsvm {

namespace {
constexpr int kSampled = 16;  // slots looked at for one to give up
}

float StepSizes::of(int i) const { return std::fabs(std::clamp(r[i], slack_below(words[i]), slack_above(words[i]))); }

RowCache::RowCache(const Samples& samples, Kernel kernel, int n, int capacity)
    : samples_(samples), kernel_(kernel), ld_(padded(n)), slot_of_(n, -1) {
  capacity = std::min(capacity, n);
  memory_.emplace_back(ld_ * capacity, Uninitialised{});
  for (int i = 0; i < capacity; ++i) {
    slots_.push_back({memory_[0].data() + ld_ * i, i});
    slot_of_[i] = i;
  }
}

int RowCache::enter() {
  const std::lock_guard lock(mutex_);
  size_t seat = 0;
  while (seat < seats_.size() && seats_[seat].taken) ++seat;
  if (seat == seats_.size()) seats_.emplace_back();
  seats_[seat].slack.assign(slots_.size(), 0.0f);
  seats_[seat].taken = true;
  return static_cast<int>(seat);
}

void RowCache::leave(int seat) {
  const std::lock_guard lock(mutex_);
  seats_[seat].taken = false;
}

void RowCache::exchange(int seat, const StepSizes& slack, const int* wanted, const int* released, int count,
                        const float** rows) {
  int missing[2], n_missing = 0;
  float* made[2];
  std::unique_lock lock(mutex_);
  for (int c = 0; c < count; ++c)
    if (released[c] >= 0) --slot_of(released[c]).pins;
  // Those held are pinned first, before one of them makes room for the other.
  for (int c = 0; c < count; ++c)
    if (slot_of_[wanted[c]] >= 0)
      ++slot_of(wanted[c]).pins;
    else
      missing[n_missing++] = wanted[c];
  counts_.hits += count - n_missing;
  counts_.misses += n_missing;
  for (int c = 0; c < n_missing; ++c) made[c] = reserve(missing[c], seat, slack);
  if (n_missing > 0) {
    lock.unlock();
    try {
      make_rows(missing, n_missing, {0, static_cast<int>(ld_)}, made);
    } catch (...) {  // out of memory: nobody may wait for these rows
      lock.lock();
      failed_ = true;
      row_ready_.notify_all();
      throw;
    }
    lock.lock();
    for (int c = 0; c < n_missing; ++c) slot_of(missing[c]).ready = true;
    row_ready_.notify_all();
  }
  // Another thread may be making the row; it waits for nobody until that is done.
  for (int c = 0; c < count; ++c) {
    row_ready_.wait(lock, [&] { return slot_of(wanted[c]).ready || failed_; });
    if (failed_) throw std::bad_alloc();
    rows[c] = slot_of(wanted[c]).row;
  }
}

void RowCache::release(const int* rows, int count) {
  const std::lock_guard lock(mutex_);
  for (int m = 0; m < count; ++m)
    if (rows[m] >= 0) --slot_of(rows[m]).pins;
}

void RowCache::pin_held(const int* wanted, int count, const float** rows) {
  const std::lock_guard lock(mutex_);
  // In a small cache these pins could leave no slot for the steps of others: rows are made instead.
  const bool roomy = slots_.size() >= seats_.size() * static_cast<size_t>(kMaxPinned + count);
  for (int m = 0; m < count; ++m) {
    rows[m] = nullptr;
    if (roomy && slot_of_[wanted[m]] >= 0 && slot_of(wanted[m]).ready) {
      rows[m] = slot_of(wanted[m]).row;
      ++slot_of(wanted[m]).pins;
    }
    ++(rows[m] ? counts_.refresh_hits : counts_.refresh_misses);
  }
}

int RowCache::n_held() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(slots_.size());
}

RowCounts RowCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// Memory for `row`, which is pinned and not ready then.
float* RowCache::reserve(int row, int seat, const StepSizes& slack) {
  const int chosen = choose_victim(seat, slack);
  Slot& slot = slots_[chosen];
  if (slot.owner >= 0) slot_of_[slot.owner] = -1;
  slot_of_[row] = chosen;
  slot.owner = row;
  slot.pins = 1;
  slot.ready = false;
  for (Seat& other : seats_) other.slack[chosen] = 0;
  return slot.row;
}

int RowCache::choose_victim(int seat, const StepSizes& slack) {
  const auto n_slots = static_cast<uint32_t>(slots_.size());
  int victim = -1;
  float least = std::numeric_limits<float>::infinity();
  for (int s = 0; s < kSampled; ++s) {
    random_ = random_ * 1664525u + 1013904223u;
    const auto slot = static_cast<int>((static_cast<uint64_t>(random_) * n_slots) >> 32);
    if (slots_[slot].pins > 0) continue;
    if (const float w = worth(slot, seat, slack); w < least) {
      least = w;
      victim = slot;
    }
  }
  for (uint32_t s = 0; victim < 0 && s < n_slots; ++s)
    if (slots_[s].pins == 0) victim = static_cast<int>(s);
  return victim >= 0 ? victim : grow();
}

// All rows are pinned: there are more solvers at work than the cache was made for.
int RowCache::grow() {
  memory_.emplace_back(ld_, Uninitialised{});
  slots_.push_back({memory_.back().data(), -1});
  for (Seat& seat : seats_) seat.slack.push_back(0);
  return static_cast<int>(slots_.size()) - 1;
}

// The asking solver's room is that of now; of the others the cache knows what they had when they last asked.
float RowCache::worth(int slot, int seat, const StepSizes& slack) {
  float most = seats_[seat].slack[slot] = slack.of(slots_[slot].owner);
  for (const Seat& other : seats_)
    if (other.taken) most = std::max(most, other.slack[slot]);
  return most;
}

}  // namespace localsvm
