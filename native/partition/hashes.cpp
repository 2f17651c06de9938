#include "partition/hashes.h"

#include <bit>

namespace localsvm {

namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;

// The finalizer of splitmix64: every input bit reaches every output bit.
uint64_t mix(uint64_t h) {
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EB;
  return h ^ (h >> 31);
}

}  // namespace

template <typename Float>
void content_hashes(const Float* X, size_t n, int n_features, uint64_t seed, uint64_t* out) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t h = (seed + 1) * kMultiplier;
    for (int k = 0; k < n_features; ++k)
      h = mix(h + kMultiplier + std::bit_cast<uint64_t>(static_cast<double>(X[i * n_features + k]) + 0.0));
    out[i] = h;
  }
}

template void content_hashes(const float*, size_t, int, uint64_t, uint64_t*);
template void content_hashes(const double*, size_t, int, uint64_t, uint64_t*);

}  // namespace localsvm
