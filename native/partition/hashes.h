// Hashes of rows: random choices of a fit depend on the content of the rows and a seed, never on their order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace localsvm {

// out[i] = a seeded 64-bit hash of row i.  Equal numbers hash equally: -0 as 0, float32 as the same float64.
template <typename Float>
void content_hashes(const Float* X, size_t n, int n_features, uint64_t seed, uint64_t* out);

}  // namespace localsvm
