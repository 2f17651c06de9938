// Nearest centers, for one SIMD level.  Compiled once per level like ops_level.cpp.  Products are not fused with sums,
// so that slow NumPy gives the same distances to the bit.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {

namespace {

// The nearest center so far in every lane, and the first of its register.
struct Nearest {
  vf distance;
  vi first;
};

// H points against V registers of centers, the first of which is number `first`.
template <int H, int V>
inline void update(const float* const* x, const float* panels, int n_centers, int n_features, int first,
                   Nearest* nearest) {
  vf sum[H][V] = {};
  const float* center[V];
  for (int v = 0; v < V; ++v) center[v] = panels + place_in_panels(first + v * W, n_features);
  for (int k = 0; k < n_features; ++k)
    LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
      const vf c = load(center[v] + static_cast<size_t>(k) * kPad);
      LOCALSVM_UNROLL for (int a = 0; a < H; ++a) {
        const vf e = x[a][k] - c;
        sum[a][v] += e * e;
      }
    }
  for (int v = 0; v < V; ++v) {
    const vi inside = lanes() < n_centers - (first + v * W);
    for (int a = 0; a < H; ++a) {
      const vi closer = (sum[a][v] < nearest[a].distance) & inside;
      nearest[a].distance = select(closer, sum[a][v], nearest[a].distance);
      nearest[a].first = (splat(first + v * W) & closer) | (nearest[a].first & ~closer);
    }
  }
}

template <int H>
inline void nearest_of(const float* const* x, const float* panels, int n_centers, int n_features, int32_t* labels,
                       float* distances) {
  constexpr int V = 8 / H, kPadded = kPad / W;
  const int ld = (n_centers + kPad - 1) / kPad * kPadded;  // registers
  Nearest nearest[H];
  for (int a = 0; a < H; ++a) nearest[a] = {splat(INFINITY), splat(0)};
  int v = 0;
  for (; v + V <= ld; v += V) update<H, V>(x, panels, n_centers, n_features, v * W, nearest);
  for (; v < ld; ++v) update<H, 1>(x, panels, n_centers, n_features, v * W, nearest);
  for (int a = 0; a < H; ++a) {
    float distance[W];
    int32_t first[W];
    store(distance, nearest[a].distance);
    store(first, nearest[a].first);
    labels[a] = 0, distances[a] = INFINITY;
    for (int lane = 0; lane < W; ++lane) {
      const int32_t label = first[lane] + lane;
      if (distance[lane] < distances[a] || (distance[lane] == distances[a] && label < labels[a]))
        labels[a] = label, distances[a] = distance[lane];
    }
  }
}

// H points against V registers of centers.
template <int H, int V>
inline void products(const float* const* x, const float* panels, const float* sizes, int n_features, size_t first,
                     float* const* out, vf* least) {
  vf sum[H][V];
  const float* center[V];
  for (int v = 0; v < V; ++v) {
    center[v] = panels + place_in_panels(first + v * W, n_features);
    for (int a = 0; a < H; ++a) sum[a][v] = load(sizes + first + v * W);
  }
  for (int k = 0; k < n_features; ++k)
    LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
      const vf c = load(center[v] + static_cast<size_t>(k) * kPad);
      LOCALSVM_UNROLL for (int a = 0; a < H; ++a) {
        sum[a][v] = fma(c, splat(x[a][k]), sum[a][v]);
      }
    }
  for (int a = 0; a < H; ++a)
    for (int v = 0; v < V; ++v) {
      store(out[a] + first + v * W, sum[a][v]);
      least[a] = vmin(least[a], sum[a][v]);
    }
}

template <int H>
inline void products_of(const float* const* x, const float* panels, const float* sizes, size_t ld, int n_features,
                        float* const* out, float* least) {
  constexpr int V = 8 / H;
  vf smallest[H];
  for (int a = 0; a < H; ++a) smallest[a] = splat(INFINITY);
  size_t first = 0;
  for (; first + V * W <= ld; first += V * W) products<H, V>(x, panels, sizes, n_features, first, out, smallest);
  for (; first < ld; first += W) products<H, 1>(x, panels, sizes, n_features, first, out, smallest);
  for (int a = 0; a < H; ++a) {
    float lanes_of[W];
    store(lanes_of, smallest[a]);
    least[a] = lanes_of[0];
    for (int lane = 1; lane < W; ++lane) least[a] = lanes_of[lane] < least[a] ? lanes_of[lane] : least[a];
  }
}

}  // namespace

void center_products(const float* const* x, int count, const float* panels, const float* sizes, size_t ld,
                     int n_features, float* const* out, float* least) {
  int a = 0;
  for (; a + 4 <= count; a += 4) products_of<4>(x + a, panels, sizes, ld, n_features, out + a, least + a);
  for (; a < count; ++a) products_of<1>(x + a, panels, sizes, ld, n_features, out + a, least + a);
}

void nearest_in_panels(const float* const* x, int count, const float* panels, int n_centers, int n_features,
                       int32_t* labels, float* distances) {
  int a = 0;
  for (; a + 4 <= count; a += 4) nearest_of<4>(x + a, panels, n_centers, n_features, labels + a, distances + a);
  for (; a < count; ++a) nearest_of<1>(x + a, panels, n_centers, n_features, labels + a, distances + a);
}

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
