#include "neighbours.h"

#include <algorithm>

#include "aligned.h"
#include "ops.h"

namespace localsvm {

NeighbourSearch::NeighbourSearch(int n) : n_(n), found_(n) { nearest_.reserve(n); }

// The smallest entries of k + 1 groups are k + 1 samples: all of the k + 1 nearest, i itself among them, are within the largest
// of these distances, and few others are.
void NeighbourSearch::find(const float* distances, int i, int32_t* out) {
  static_assert(kRowGroups > kNeighbours);
  float minima[kRowGroups];
  ops().group_minima(distances, n_, minima);
  std::nth_element(minima, minima + kNeighbours, minima + kRowGroups);
  const int count = ops().find_within(distances, n_, minima[kNeighbours], found_.data(), n_);
  nearest_.clear();
  for (int c = 0; c < count; ++c)
    if (found_[c] != i) nearest_.emplace_back(distances[found_[c]], found_[c]);
  const size_t kept = std::min<size_t>(kNeighbours, nearest_.size());
  std::partial_sort(nearest_.begin(), nearest_.begin() + kept, nearest_.end());
  for (size_t c = 0; c < kNeighbours; ++c) out[c] = c < kept ? nearest_[c].second : static_cast<int32_t>(padded(n_));
}

}  // namespace localsvm
