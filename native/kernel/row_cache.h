// Rows of a kernel matrix that is too large to be stored: made when asked for, kept while there is room.
//
// One cache serves all solvers at work on one width; folds use the same hot rows.  A row in use is pinned and stays
// where it is.  When a row has to go, it is that of the coordinate that could move least, of some taken at random, as
// far as the solvers know: their next steps are the best guess at what will be needed.  Against "the one not used for
// longest" this saves a seventh to a fifth of the misses, and needs no list (docs/solver.md).
//
// Every slot has a row at all times.  slot_of_[row] is its slot or -1; a slot changes its row only under the lock and
// only while nobody has pinned it; its memory is written without the lock by the thread that reserved it, before it is
// `ready`, and only read from then on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/aligned.h"
#include "kernel/samples.h"
#include "simd/ops.h"

namespace localsvm {

// Rows a solver may have pinned at once: those of the coordinates moved last, and two new ones.
constexpr int kMaxPinned = kRecent + 2;

// How far the coordinates of the asking solver could move now: |clip(r, l, u)|.
struct StepSizes {
  const float* r;
  const uint32_t* words;  // see rooms.h
  float of(int i) const;
};

struct RowCounts {
  int64_t hits = 0, misses = 0;                // of steps
  int64_t refresh_hits = 0, refresh_misses = 0;  // of sums over the coefficients that have moved
};

class RowCache {
 public:
  // `capacity` rows of the kernel matrix of `samples`, at first the first ones.  They are to be filled, see below.
  RowCache(const Samples& samples, Kernel kernel, int n, int capacity);

  // A new width.  The cache holds the same rows as before, and they have to be written again where `row_to_fill` says
  // (nullptr: row i is not held).  No solver may be at work.
  void set_width(float width) { width_ = width; }
  float* row_to_fill(int i) { return slot_of_[i] < 0 ? nullptr : slots_[slot_of_[i]].row; }

  // A solver takes a seat before it asks, and leaves it without rows pinned.
  int enter();
  void leave(int seat);

  // Pins `wanted` (one or two coordinates) and says where their rows are; lets go of as many `released` (-1: none).
  void exchange(int seat, const StepSizes& slack, const int* wanted, const int* released, int count, const float** rows);
  void release(const int* rows, int count);

  // Pins those of `wanted` that are held, if there is room; rows[m] is nullptr for the others.
  void pin_held(const int* wanted, int count, const float** rows);

  // Makes rows that are not to be kept; see Samples.
  void make_rows(const int* rows, int count, Range columns, float* const* out) const {
    samples_.kernel_rows(kernel_, width_, rows, count, columns, out);
  }

  int n_held() const;
  RowCounts counts() const;

 private:
  struct Slot {
    float* row;
    int owner;
    int pins = 0;
    bool ready = true;
  };
  // What a solver was last seen to have left for the owner of each slot.
  struct Seat {
    bool taken = false;
    std::vector<float> slack;
  };

  // These are called under the lock.
  float* reserve(int row, int seat, const StepSizes& slack);
  int choose_victim(int seat, const StepSizes& slack);
  int grow();
  float worth(int slot, int seat, const StepSizes& slack);
  Slot& slot_of(int row) { return slots_[slot_of_[row]]; }

  const Samples& samples_;
  const Kernel kernel_;
  const size_t ld_;
  float width_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable row_ready_;
  bool failed_ = false;  // to make a row: all who ask end, too
  std::vector<int32_t> slot_of_;
  std::vector<Slot> slots_;
  std::vector<Seat> seats_;
  std::vector<Aligned<float>> memory_;
  RowCounts counts_;
  uint32_t random_ = 1;
};

}  // namespace localsvm
