// Near neighbours of a sample, from its row of distances.
#pragma once

#include <cstdint>
#include <vector>

namespace localsvm {

class NeighbourSearch {
 public:
  explicit NeighbourSearch(int n);

  // The kNeighbours other samples that are nearest to sample i, of equal ones the first, in ascending order; n padded where
  // there are fewer.  `distances` is row i of them.  Takes no memory: threads that build a cell must not fail.
  void find(const float* distances, int i, int32_t* out);

 private:
  using Key = uint64_t;  // of distance and index
  Key farthest_kept();

  const int n_;
  std::vector<int32_t> found_;
  std::vector<Key> others_, ranked_;
};

}  // namespace localsvm
