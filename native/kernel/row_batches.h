// Many rows of K at once, for sums over the coefficients that have changed.
//
// The rows are visited in the order given, in batches.  Rows that the cache does not hold are computed and not cached:
// a sum over half the rows would evict those that the steps use.
#pragma once

#include <algorithm>
#include <vector>

#include "kernel/kernel_view.h"

namespace localsvm {

constexpr int kBatch = 32;       // rows; the samples are read once for all of them
constexpr int kBatchPart = 512;  // columns of a batch that are computed at a time, and stay in the processor's cache

// Rows of a batch that the cache holds, pinned while the object lives; rows[m] is nullptr for the others.
class PinnedRows {
 public:
  PinnedRows(RowCache& cache, const int* batch, int count, const float** rows) : cache_(cache), count_(count) {
    cache.pin_held(batch, count, rows);
    for (int c = 0; c < count; ++c) held_[c] = rows[c] ? batch[c] : -1;
  }
  ~PinnedRows() { cache_.release(held_, count_); }
  PinnedRows(const PinnedRows&) = delete;
  PinnedRows& operator=(const PinnedRows&) = delete;
  bool are(int c) const { return held_[c] >= 0; }

 private:
  RowCache& cache_;
  const int count_;
  int held_[kBatch];
};

// Calls visit(m, count, rows, part) for the rows m .. m+count-1 of `wanted` and their entries part.begin .. part.end-1;
// rows[c] points to the first of these.  Stops early when the work is cancelled.
template <typename Visit>
void visit_rows(const KernelView& kernel, const std::vector<int>& wanted, Range columns, const Visit& visit) {
  std::vector<float> scratch(kernel.cache ? kBatch * kBatchPart : 0);
  const float* rows[kBatch];
  for (size_t m = 0; m < wanted.size() && !kernel.is_cancelled(); m += kBatch) {
    const int* batch = wanted.data() + m;
    const int count = static_cast<int>(std::min<size_t>(kBatch, wanted.size() - m));
    if (!kernel.cache) {
      for (int c = 0; c < count; ++c) rows[c] = kernel.row(batch[c]) + columns.begin;
      visit(m, count, rows, columns);
      continue;
    }
    int missing[kBatch], n_missing = 0;
    float* made[kBatch];
    const PinnedRows held(*kernel.cache, batch, count, rows);
    for (int c = 0; c < count; ++c) {
      if (held.are(c)) {
        rows[c] += columns.begin;
      } else {
        rows[c] = made[n_missing] = scratch.data() + static_cast<size_t>(kBatchPart) * n_missing;
        missing[n_missing++] = batch[c];
      }
    }
    for (Range part{columns.begin, 0}; part.begin < columns.end; part.begin = part.end) {
      part.end = std::min(part.begin + kBatchPart, columns.end);
      kernel.cache->make_rows(missing, n_missing, part, made);
      visit(m, count, rows, part);
      for (int c = 0; c < count; ++c)
        if (held.are(c)) rows[c] += part.size();
    }
  }
}

}  // namespace localsvm
