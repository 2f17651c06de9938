#include "kernel/neighbours.h"

#include <algorithm>
#include <bit>

#include "core/aligned.h"
#include "simd/ops.h"

namespace localsvm {

namespace {

// Distances are not negative, so they order as integers; equal distances order by index.
uint64_t key_of(float distance, int32_t index) {
  return static_cast<uint64_t>(std::bit_cast<uint32_t>(distance)) << 32 | static_cast<uint32_t>(index);
}

}  // namespace

NeighbourSearch::NeighbourSearch(int n) : n_(n), found_(n) {
  others_.reserve(n);
  ranked_.reserve(n);
}

// The minima of k + 1 groups are the distances of k + 1 samples.  So the k + 1 nearest samples, i among them, are
// within the largest of these minima, and few others are.
void NeighbourSearch::find(const float* distances, int i, int32_t* out) {
  static_assert(kRowGroups > kNeighbours);
  float minima[kRowGroups];
  ops().group_minima(distances, n_, minima);
  std::nth_element(minima, minima + kNeighbours, minima + kRowGroups);
  const int count = ops().find_within(distances, n_, minima[kNeighbours], found_.data(), n_);
  // Always written, counted only if kept: a branch would be mispredicted.
  others_.resize(count);
  size_t n_others = 0;
  for (int c = 0; c < count; ++c) {
    others_[n_others] = key_of(distances[found_[c]], found_[c]);
    n_others += found_[c] != i;
  }
  others_.resize(n_others);
  const Key last = n_others <= kNeighbours ? ~Key{0} : farthest_kept();
  int32_t kept[kNeighbours + 1];
  size_t n_kept = 0;
  for (const Key other : others_) {
    kept[n_kept] = static_cast<int32_t>(other);
    n_kept += other <= last;
  }
  std::fill(std::copy_n(kept, n_kept, out), out + kNeighbours, static_cast<int32_t>(padded(n_)));
}

NeighbourSearch::Key NeighbourSearch::farthest_kept() {
  ranked_ = others_;
  std::nth_element(ranked_.begin(), ranked_.begin() + kNeighbours - 1, ranked_.end());
  return ranked_[kNeighbours - 1];
}

}  // namespace localsvm
