// Rows of a kernel matrix that is too large to be stored: made when asked for, kept while there is room.
//
// One cache serves all threads that solve at one width.  A row in use is pinned and stays where it is.  When a row has
// to go, the asking solver names the one that it will need last, as far as it can tell: of some slots taken at random,
// that of the coordinate that could move least now.  Against "the one not used for longest" this saves a fifth of the
// misses, and needs no list (docs/solver.md).
//
// Every slot holds a row at all times.  slot_of_[row] is its slot or -1; a slot changes its row only under the lock and
// only while nobody has pinned it; its memory is written without the lock by the thread that reserved it, before
// `ready`, and only read from then on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "aligned.h"
#include "ops.h"
#include "samples.h"

namespace localsvm {

// Rows a solver may have pinned at once: those of the coordinates moved last, two new ones, and two made along.
constexpr int kMostPinned = kRecent + 4;

// What the asking solver knows.  How far a coordinate could move is |clip(r, l, u)|.
struct RowHint {
  const float *r, *l, *u;
  Range left_out;
  const int* soon;  // coordinates that may move next, the likeliest first
  int n_soon;
};

struct RowCounts {
  int64_t hits = 0, misses = 0;  // of steps
  int64_t made_ahead = 0;        // rows made along with a missing one
  int64_t settle_hits = 0, settle_misses = 0;
};

class RowCache {
 public:
  // `capacity` rows of the kernel matrix of `samples`; they are filled in by `row_to_fill`.
  RowCache(const Samples& samples, Kernel kernel, int n, int capacity);

  // A new width: the rows held stay the same ones and have to be written again, where `row_to_fill` says (nullptr: row i
  // is not held).  No solver may be at work.
  void set_width(float width) { width_ = width; }
  float* row_to_fill(int i) { return slot_of_[i] < 0 ? nullptr : slots_[slot_of_[i]].row; }

  // Pins `wanted` (one or two coordinates) and says where their rows are; lets go of as many `released` (-1: none).
  void exchange(const int* wanted, const int* released, int count, const RowHint& hint, const float** rows);
  void release(const int* rows, int count);

  // Pins those of `wanted` that are held; rows[m] is nullptr for the others.
  void pin_held(const int* wanted, int count, const float** rows);

  // Makes rows anew, not to be kept; see Samples.
  void make_rows(const int* rows, int count, Range columns, float* const* out) const {
    samples_.kernel_rows(kernel_, width_, rows, count, columns, out);
  }

  int n_held() const { return static_cast<int>(slots_.size()); }
  RowCounts counts() const;

 private:
  struct Slot {
    float* row;
    int owner;
    int pins = 0;
    bool ready = true;
    int64_t last_use = 0;
  };

  // All of these under the lock.
  int reserve(int row, const RowHint& hint);
  int choose_victim(const RowHint& hint);
  int grow();
  float worth(const Slot& slot, const RowHint& hint) const;

  const Samples& samples_;
  const Kernel kernel_;
  const size_t ld_;
  float width_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable row_ready_;
  std::vector<int32_t> slot_of_;
  std::vector<Slot> slots_;
  std::vector<Aligned<float>> memory_;
  RowCounts counts_;
  int64_t clock_ = 0;
  uint32_t random_ = 1;
};

}  // namespace localsvm
