#include "row_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace localsvm {

namespace {
constexpr int kSampled = 16;      // slots looked at for one to give up
constexpr int kMadeTogether = 4;  // rows: the samples are read once for all of them
}  // namespace

RowCache::RowCache(const Samples& samples, Kernel kernel, int n, int capacity)
    : samples_(samples), kernel_(kernel), ld_(padded(n)), slot_of_(n, -1) {
  capacity = std::min(capacity, n);
  memory_.emplace_back(ld_ * capacity, Uninitialised{});
  for (int i = 0; i < capacity; ++i) {
    slots_.push_back({memory_[0].data() + ld_ * i, i});
    slot_of_[i] = i;
  }
}

void RowCache::exchange(const int* wanted, const int* released, int count, const RowHint& hint, const float** rows) {
  int missing[kMadeTogether], n_missing = 0;
  float* made[kMadeTogether];
  const auto miss = [&](int row) {
    made[n_missing] = slots_[reserve(row, hint)].row;
    missing[n_missing++] = row;
  };
  std::unique_lock lock(mutex_);
  clock_ += count;
  for (int c = 0; c < count; ++c)
    if (released[c] >= 0) --slots_[slot_of_[released[c]]].pins;
  // Those held first, before one of them makes room for another.
  bool held[2];
  for (int c = 0; c < count; ++c)
    if ((held[c] = slot_of_[wanted[c]] >= 0)) {
      Slot& slot = slots_[slot_of_[wanted[c]]];
      ++slot.pins;
      slot.last_use = clock_;
    }
  for (int c = 0; c < count; ++c) {
    if (!held[c]) miss(wanted[c]);
    ++(held[c] ? counts_.hits : counts_.misses);
  }
  if (n_missing > 0) {
    const int n_wanted = n_missing;
    for (int c = 0; c < hint.n_soon && n_missing < kMadeTogether; ++c)
      if (slot_of_[hint.soon[c]] < 0) {
        ++counts_.made_ahead;
        miss(hint.soon[c]);
      }
    lock.unlock();
    make_rows(missing, n_missing, {0, static_cast<int>(ld_)}, made);
    lock.lock();
    for (int c = 0; c < n_missing; ++c) {
      Slot& slot = slots_[slot_of_[missing[c]]];
      slot.ready = true;
      if (c >= n_wanted) --slot.pins;
    }
    row_ready_.notify_all();
  }
  // A row that another thread is making.  It waits for nobody until it is done with it.
  for (int c = 0; c < count; ++c) {
    row_ready_.wait(lock, [&] { return slots_[slot_of_[wanted[c]]].ready; });
    rows[c] = slots_[slot_of_[wanted[c]]].row;
  }
}

void RowCache::release(const int* rows, int count) {
  const std::lock_guard lock(mutex_);
  for (int m = 0; m < count; ++m)
    if (rows[m] >= 0) --slots_[slot_of_[rows[m]]].pins;
}

void RowCache::pin_held(const int* wanted, int count, const float** rows) {
  const std::lock_guard lock(mutex_);
  for (int m = 0; m < count; ++m) {
    const int slot = slot_of_[wanted[m]];
    const bool held = slot >= 0 && slots_[slot].ready;
    rows[m] = held ? slots_[slot].row : nullptr;
    slots_[held ? slot : 0].pins += held;
    ++(held ? counts_.settle_hits : counts_.settle_misses);
  }
}

RowCounts RowCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// A slot for `row`, pinned and not ready.
int RowCache::reserve(int row, const RowHint& hint) {
  const int chosen = choose_victim(hint);
  Slot& slot = slots_[chosen];
  if (slot.owner >= 0) slot_of_[slot.owner] = -1;
  slot_of_[row] = chosen;
  slot.owner = row;
  slot.pins = 1;
  slot.ready = false;
  slot.last_use = clock_;
  return chosen;
}

int RowCache::choose_victim(const RowHint& hint) {
  const auto n_slots = static_cast<uint32_t>(slots_.size());
  int victim = -1;
  float least = std::numeric_limits<float>::infinity();
  for (int s = 0; s < kSampled; ++s) {
    random_ = random_ * 1664525u + 1013904223u;
    const auto slot = static_cast<int>((static_cast<uint64_t>(random_) * n_slots) >> 32);
    if (slots_[slot].pins > 0) continue;
    if (const float w = worth(slots_[slot], hint); w < least) {
      least = w;
      victim = slot;
    }
  }
  for (uint32_t s = 0; victim < 0 && s < n_slots; ++s)
    if (slots_[s].pins == 0) victim = static_cast<int>(s);
  return victim >= 0 ? victim : grow();
}

// All rows are pinned: more threads than the cache was made for.
int RowCache::grow() {
  memory_.emplace_back(ld_, Uninitialised{});
  slots_.push_back({memory_.back().data(), -1});
  return static_cast<int>(slots_.size()) - 1;
}

float RowCache::worth(const Slot& slot, const RowHint& hint) const {
  const int i = slot.owner;
  // The asking solver has no use for the rows it leaves out, but others may have: they go when nobody wanted them for a
  // while.
  if (i >= hint.left_out.begin && i < hint.left_out.end)
    return clock_ - slot.last_use > static_cast<int64_t>(slots_.size()) ? 0.0f : std::numeric_limits<float>::max();
  return std::fabs(std::min(std::max(hint.r[i], hint.l[i]), hint.u[i]));
}

}  // namespace localsvm
