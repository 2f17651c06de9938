// Near neighbours of a sample, from its row of distances.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace localsvm {

class NeighbourSearch {
 public:
  explicit NeighbourSearch(int n);

  // The kNeighbours other samples that are nearest to sample i, by distance, then by index; n padded where there are fewer.
  // `distances` is row i of them.
  void find(const float* distances, int i, int32_t* out);

 private:
  const int n_;
  std::vector<int32_t> found_;
  std::vector<std::pair<float, int32_t>> nearest_;
};

}  // namespace localsvm
