#include "neighbours.h"

#include <algorithm>

#include "aligned.h"
#include "ops.h"

namespace localsvm {

NeighbourSearch::NeighbourSearch(int n) : n_(n), found_(n) {
  others_.reserve(n);
  ranked_.reserve(n);
}

// The smallest entries of k + 1 groups are k + 1 samples: all of the k + 1 nearest, i itself among them, are within the largest
// of these distances, and few others are.
void NeighbourSearch::find(const float* distances, int i, int32_t* out) {
  static_assert(kRowGroups > kNeighbours);
  float minima[kRowGroups];
  ops().group_minima(distances, n_, minima);
  std::nth_element(minima, minima + kNeighbours, minima + kRowGroups);
  const int count = ops().find_within(distances, n_, minima[kNeighbours], found_.data(), n_);
  others_.clear();
  for (int c = 0; c < count; ++c)
    if (found_[c] != i) others_.emplace_back(distances[found_[c]], found_[c]);
  std::fill_n(out, kNeighbours, static_cast<int32_t>(padded(n_)));
  const bool all = others_.size() <= kNeighbours;
  const Distant last = all ? Distant{} : farthest_kept();
  for (const Distant& other : others_)
    if (all || other <= last) *out++ = other.second;
}

NeighbourSearch::Distant NeighbourSearch::farthest_kept() {
  ranked_ = others_;
  std::nth_element(ranked_.begin(), ranked_.begin() + kNeighbours - 1, ranked_.end());
  return ranked_[kNeighbours - 1];
}

}  // namespace localsvm
