// Near neighbours of a sample, from its row of distances.
#pragma once

#include <cstdint>
#include <vector>

namespace localsvm {

class NeighbourSearch {
 public:
  explicit NeighbourSearch(int n);

  // Indices of the kNeighbours other samples nearest to sample i, ascending, ties by index; filled up with `padded(n)`
  // if there are fewer.  `distances` is row i of the matrix.
  void find(const float* distances, int i, int32_t* out);

 private:
  using Key = uint64_t;  // distance and index
  Key farthest_kept();

  const int n_;
  std::vector<int32_t> found_;
  std::vector<Key> others_, ranked_;
};

}  // namespace localsvm
