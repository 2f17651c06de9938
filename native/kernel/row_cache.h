// A cache of rows of a kernel matrix that is too large to be stored.
//
// One cache serves all solvers that work on one width, as folds use the same hot rows.  A row in use is pinned and
// stays where it is.  When a row has to be evicted, some are drawn at random, and the one whose coordinate can make the
// smallest step is chosen: the next steps of the solvers are the best predictor of what will be needed.  Compared with
// least recently used this saves a seventh to a fifth of the misses, and needs no list (docs/solver.md).
//
// Invariants.  Every row slot belongs to a row; slot_of_[row] is its slot, or -1.  A slot changes its row only under the
// lock, and only while it is not pinned.  Its memory is written without the lock, by the one thread that is making the
// row, and is only read while the row is `ready`.  A thread that fails to make a row leaves it `missing`: the next one
// that wants it, perhaps one that is waiting, makes it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/aligned.h"
#include "kernel/samples.h"
#include "simd/ops.h"

namespace localsvm {

// Rows that a solver pins at once, at most: those of the coordinates updated last, and two new ones.
constexpr int kMaxPinned = kRecent + 2;

// The step that each coordinate of a solver could make now: |clip(r, l, u)|.
struct StepSizes {
  const float* r;
  const uint32_t* slack;  // see slack.h
  float of(int i) const;
};

struct RowCounts {
  int64_t hits = 0, misses = 0;                // of steps
  int64_t refresh_hits = 0, refresh_misses = 0;  // of residual refreshes and other sums over many rows
};

class RowCache {
 public:
  // `capacity` rows of the kernel matrix of `samples`, initially the first ones, which are to be filled; see below.
  RowCache(const Samples& samples, Kernel kernel, int n, int capacity);

  // Sets a new width.  The cache holds the same rows as before, and the caller fills each of them again, at
  // `row_to_fill` (nullptr: row i is not held).  No solver may be running.
  void set_width(float width);
  float* row_to_fill(int i);

  // A solver acquires a slot before it asks for rows, and releases it when it has no rows pinned.
  int acquire_slot();
  void release_slot(int solver);

  // Pins `wanted` (one or two coordinates), returns where their rows are, and unpins as many `released` (-1: none).  If
  // it throws, `wanted` are not pinned, but `released` are unpinned.
  void exchange(int solver, const StepSizes& step_sizes, const int* wanted, const int* released, int count,
                const float** rows);
  void release(const int* rows, int count);

  // Pins those of `wanted` that are held, if the cache is large enough; rows[m] is nullptr for the others.
  void pin_held(const int* wanted, int count, const float** rows);

  // Computes rows that are not to be cached; see Samples.
  void make_rows(const int* rows, int count, Range columns, float* const* out) const {
    samples_.kernel_rows(kernel_, width_, rows, count, columns, out);
  }

  int n_held() const;
  RowCounts counts() const;

 private:
  enum class State { missing, being_made, ready };
  struct RowSlot {
    float* row;
    int owner;
    State state = State::missing;
    int pins = 0;
  };
  // The step sizes of a solver for the row of each slot, as of when the cache asked last.
  struct SolverSlot {
    bool taken = false;
    std::vector<float> step_sizes;
  };

  // These are called under the lock; `make_ready` releases it while it works or waits.
  void pin(const int* wanted, int count, int solver, const StepSizes& step_sizes);
  void unpin(const int* rows, int count);
  void make_ready(std::unique_lock<std::mutex>& lock, const int* wanted, int count);
  void make(std::unique_lock<std::mutex>& lock, const int* rows, int count, float* const* out);
  void set_state(const int* rows, int count, State state);
  void reserve(int row, int solver, const StepSizes& step_sizes);
  int choose_victim(int solver, const StepSizes& step_sizes);
  int grow();
  float largest_step(int slot, int solver, const StepSizes& step_sizes);
  RowSlot& slot_of(int row) { return slots_[slot_of_[row]]; }

  const Samples& samples_;
  const Kernel kernel_;
  const size_t ld_;
  float width_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable row_made_;
  std::vector<int32_t> slot_of_;
  std::vector<RowSlot> slots_;
  std::vector<SolverSlot> solvers_;
  std::vector<Aligned<float>> memory_;
  RowCounts counts_;
  uint32_t random_ = 1;
};

}  // namespace localsvm
