// Weighted differences of points and support vectors (gradient.h), for one SIMD level.  Compiled once per level like
// ops_level.cpp.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

// sum + w e, or sum + w times the sign of e.
template <bool kManhattan>
inline vf add_weighted(vf w, vf e, vf sum) {
  if constexpr (!kManhattan) return fma(w, e, sum);
  return sum + (vf)(((vi)w ^ ((vi)e & INT32_MIN)) & (e != splat(0.0f)));
}

// H points, F features at a time; `weights` has a row of kStrip numbers for each point.
template <bool kManhattan, int H, int F>
__attribute__((always_inline)) inline void differences(const float* const* x, const float* weights, const float* panels,
                                                       int n_features, int k, Range columns, double* const* out) {
  Sums sums[H * F];
  for (int v = 0; v < kParts; ++v) {
    vf part[H * F];
    LOCALSVM_UNROLL for (int a = 0; a < H * F; ++a) part[a] = splat(0.0f);
    for (int j = columns.begin + v * W; j < columns.end; j += kPad) {
      const float* sample = panels + place_in_panels(j, n_features) + static_cast<size_t>(k) * kPad;
      vf w[H];
      LOCALSVM_UNROLL for (int a = 0; a < H; ++a) w[a] = used<F>(load(weights + a * kStrip + j - columns.begin));
      LOCALSVM_UNROLL for (int q = 0; q < F; ++q) {
        const vf xj = used<H>(load(sample + q * kPad));
        LOCALSVM_UNROLL for (int a = 0; a < H; ++a)
          part[q * H + a] = add_weighted<kManhattan>(w[a], xj - x[a][k + q], part[q * H + a]);
      }
    }
    LOCALSVM_UNROLL for (int a = 0; a < H * F; ++a) sums[a].part[v] = part[a];
  }
  for (int a = 0; a < H * F; ++a) out[a % H][k + a / H] += sum(sums[a]);
}

template <bool kManhattan, int H>
inline void differences_of(const float* const* x, const float* const* slopes, const float* c, const float* panels,
                           int n_features, Range columns, double* const* out) {
  alignas(64) float weights[H * kStrip];
  for (int a = 0; a < H; ++a)
    for (int j = 0; j < columns.size(); j += W)
      store(weights + a * kStrip + j, load(c + columns.begin + j) * load(slopes[a] + j));
  int k = 0;
  for (; k + 2 <= n_features; k += 2) differences<kManhattan, H, 2>(x, weights, panels, n_features, k, columns, out);
  if (k < n_features) differences<kManhattan, H, 1>(x, weights, panels, n_features, k, columns, out);
}

// The sum of a point and a feature runs over the samples in order, whatever the other points are.
template <bool kManhattan>
inline void add_differences_by(const float* const* x, int count, const float* const* slopes, const float* c,
                               const float* panels, int n_features, Range columns, double* const* out) {
  int a = 0;
  for (; a + 4 <= count; a += 4)
    differences_of<kManhattan, 4>(x + a, slopes + a, c, panels, n_features, columns, out + a);
  for (; a < count; ++a) differences_of<kManhattan, 1>(x + a, slopes + a, c, panels, n_features, columns, out + a);
}

}  // namespace

void add_differences(Kernel kernel, const float* const* x, int count, const float* const* slopes, const float* c,
                     const float* panels, int n_features, Range columns, double* const* out) {
  const auto by = kernel == Kernel::manhattan ? add_differences_by<true> : add_differences_by<false>;
  by(x, count, slopes, c, panels, n_features, columns, out);
}

}  // namespace localsvm::LOCALSVM_LEVEL
