#include "kernel/row_cache.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "simd/slack.h"

namespace localsvm {

namespace {
constexpr int kSampled = 16;  // slots that are drawn to evict one
}

float StepSizes::of(int i) const { return std::fabs(std::clamp(r[i], slack_below(slack[i]), slack_above(slack[i]))); }

RowCache::RowCache(const Samples& samples, Kernel kernel, int n, int capacity)
    : samples_(samples), kernel_(kernel), ld_(padded(n)), slot_of_(n, -1) {
  capacity = std::min(capacity, n);
  memory_.emplace_back(ld_ * capacity, Uninitialized{});
  for (int i = 0; i < capacity; ++i) {
    slots_.push_back({memory_[0].data() + ld_ * i, i});
    slot_of_[i] = i;
  }
}

int RowCache::acquire_slot() {
  const std::lock_guard lock(mutex_);
  size_t solver = 0;
  while (solver < solvers_.size() && solvers_[solver].taken) ++solver;
  if (solver == solvers_.size()) solvers_.emplace_back();
  solvers_[solver].step_sizes.assign(slots_.size(), 0.0f);
  solvers_[solver].taken = true;
  return static_cast<int>(solver);
}

void RowCache::release_slot(int solver) {
  const std::lock_guard lock(mutex_);
  solvers_[solver].taken = false;
}

void RowCache::set_width(float width) {
  width_ = width;
  for (RowSlot& slot : slots_) slot.state = State::missing;
}

float* RowCache::row_to_fill(int i) {
  if (slot_of_[i] < 0) return nullptr;
  slot_of(i).state = State::ready;
  return slot_of(i).row;
}

void RowCache::exchange(int solver, const StepSizes& step_sizes, const int* wanted, const int* released, int count,
                        const float** rows) {
  std::unique_lock lock(mutex_);
  unpin(released, count);
  pin(wanted, count, solver, step_sizes);
  try {
    make_ready(lock, wanted, count);
  } catch (...) {
    unpin(wanted, count);
    throw;
  }
  for (int c = 0; c < count; ++c) rows[c] = slot_of(wanted[c]).row;
}

// Rows that are held are pinned first, so that they are not evicted for the missing ones.
void RowCache::pin(const int* wanted, int count, int solver, const StepSizes& step_sizes) {
  int pinned[2], n_pinned = 0, missing[2], n_missing = 0;
  for (int c = 0; c < count; ++c) {
    const bool is_held = slot_of_[wanted[c]] >= 0;
    (is_held ? pinned[n_pinned++] : missing[n_missing++]) = wanted[c];
    if (is_held) ++slot_of(wanted[c]).pins;
  }
  counts_.hits += n_pinned;
  counts_.misses += n_missing;
  try {
    for (int c = 0; c < n_missing; ++c) {
      reserve(missing[c], solver, step_sizes);
      pinned[n_pinned++] = missing[c];
    }
  } catch (...) {
    unpin(pinned, n_pinned);
    throw;
  }
}

void RowCache::unpin(const int* rows, int count) {
  for (int m = 0; m < count; ++m)
    if (rows[m] >= 0) --slot_of(rows[m]).pins;
}

// Returns when all of these rows, which are pinned, are ready.
void RowCache::make_ready(std::unique_lock<std::mutex>& lock, const int* wanted, int count) {
  const auto any_is = [&](State state) {
    return std::any_of(wanted, wanted + count, [&](int row) { return slot_of(row).state == state; });
  };
  while (any_is(State::missing) || any_is(State::being_made)) {
    int missing[2], n_missing = 0;
    float* out[2];
    for (int c = 0; c < count; ++c)
      if (slot_of(wanted[c]).state == State::missing) {
        out[n_missing] = slot_of(wanted[c]).row;
        missing[n_missing++] = wanted[c];
      }
    if (n_missing > 0) make(lock, missing, n_missing, out);
    // Another thread may be making the other row; it does not wait for others while it does.
    row_made_.wait(lock, [&] { return !any_is(State::being_made); });
  }
}

void RowCache::make(std::unique_lock<std::mutex>& lock, const int* rows, int count, float* const* out) {
  set_state(rows, count, State::being_made);
  lock.unlock();
  State made = State::ready;
  std::exception_ptr failure;
  try {
    make_rows(rows, count, {0, static_cast<int>(ld_)}, out);
  } catch (...) {
    made = State::missing;
    failure = std::current_exception();
  }
  lock.lock();
  set_state(rows, count, made);
  row_made_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

void RowCache::set_state(const int* rows, int count, State state) {
  for (int c = 0; c < count; ++c) slot_of(rows[c]).state = state;
}

void RowCache::release(const int* rows, int count) {
  const std::lock_guard lock(mutex_);
  unpin(rows, count);
}

void RowCache::pin_held(const int* wanted, int count, const float** rows) {
  const std::lock_guard lock(mutex_);
  // In a small cache these pins could leave no slot for the steps of other solvers; their rows are recomputed instead.
  const bool has_spare_slots = slots_.size() >= solvers_.size() * static_cast<size_t>(kMaxPinned + count);
  for (int m = 0; m < count; ++m) {
    rows[m] = nullptr;
    if (has_spare_slots && slot_of_[wanted[m]] >= 0 && slot_of(wanted[m]).state == State::ready) {
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

// Reserves memory for `row`, which is then pinned and missing.
void RowCache::reserve(int row, int solver, const StepSizes& step_sizes) {
  const int chosen = choose_victim(solver, step_sizes);
  RowSlot& slot = slots_[chosen];
  if (slot.owner >= 0) slot_of_[slot.owner] = -1;
  slot_of_[row] = chosen;
  slot.owner = row;
  slot.pins = 1;
  slot.state = State::missing;
  for (SolverSlot& other : solvers_) other.step_sizes[chosen] = 0;
}

int RowCache::choose_victim(int solver, const StepSizes& step_sizes) {
  const auto n_slots = static_cast<uint32_t>(slots_.size());
  int victim = -1;
  float least = std::numeric_limits<float>::infinity();
  for (int s = 0; s < kSampled; ++s) {
    random_ = random_ * 1664525u + 1013904223u;
    const auto slot = static_cast<int>((static_cast<uint64_t>(random_) * n_slots) >> 32);
    if (slots_[slot].pins > 0) continue;
    if (const float w = largest_step(slot, solver, step_sizes); w < least) {
      least = w;
      victim = slot;
    }
  }
  for (uint32_t s = 0; victim < 0 && s < n_slots; ++s)
    if (slots_[s].pins == 0) victim = static_cast<int>(s);
  return victim >= 0 ? victim : grow();
}

// Adds a slot: all rows are pinned, as there are more solvers than the cache was made for.
int RowCache::grow() {
  for (SolverSlot& solver : solvers_) solver.step_sizes.resize(slots_.size() + 1);
  memory_.emplace_back(ld_, Uninitialized{});
  slots_.push_back({memory_.back().data(), -1});
  return static_cast<int>(slots_.size()) - 1;
}

// The largest step of a solver with the row of a slot: of the asking solver as of now, of the others as of when they
// asked last.
float RowCache::largest_step(int slot, int solver, const StepSizes& step_sizes) {
  float most = solvers_[solver].step_sizes[slot] = step_sizes.of(slots_[slot].owner);
  for (const SolverSlot& other : solvers_)
    if (other.taken) most = std::max(most, other.step_sizes[slot]);
  return most;
}

}  // namespace localsvm
