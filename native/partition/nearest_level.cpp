// Nearest centers, for one SIMD level.  Compiled once per level like ops_level.cpp, but without fused multiply-add:
// then every level rounds alike, and a partition is the same on every machine.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {

void update_nearest(const float* XT, int n_features, size_t ld, const float* center, int32_t label, float* nearest,
            int32_t* labels) {
  constexpr int kVectors = kPad / W > 4 ? kPad / W : 4;
  for (size_t j = 0; j < ld; j += kVectors * W) {
    const int count = static_cast<int>(ld - j) / W < kVectors ? static_cast<int>(ld - j) / W : kVectors;
    vf sum[kVectors] = {};
    if (count == kVectors) {
      for (int k = 0; k < n_features; ++k) {
        const vf c = splat(center[k]);
        for (int v = 0; v < kVectors; ++v) {
          const vf e = load(XT + k * ld + j + v * W) - c;
          sum[v] += e * e;
        }
      }
    } else {
      for (int k = 0; k < n_features; ++k) {
        const vf c = splat(center[k]);
        for (int v = 0; v < count; ++v) {
          const vf e = load(XT + k * ld + j + v * W) - c;
          sum[v] += e * e;
        }
      }
    }
    for (int v = 0; v < count; ++v) {
      const size_t at = j + v * W;
      const vf before = load(nearest + at);
      const vi closer = sum[v] < before;
      store(nearest + at, select(closer, sum[v], before));
      vi old;
      std::memcpy(&old, labels + at, sizeof old);
      store(labels + at, (vi)((splat(label) & closer) | (old & ~closer)));
    }
  }
}

}  // namespace localsvm::LOCALSVM_LEVEL
