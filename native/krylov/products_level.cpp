// Products of blocks of a matrix with a few vectors, for one SIMD level; see ops.h, and simd.h for the rules.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

// Loops over sums that are to stay in registers: a compiler that unrolls them late leaves the sums in memory.
#define LOCALSVM_UNROLL _Pragma("GCC unroll 16")

// Loaded once however often it is used: GCC would rather load it again with a second use.
template <int times>
inline vf used(vf loaded) {
#if defined(__SSE2__)
  if (times > 1) asm("" : "+x"(loaded));
#endif
  return loaded;
}

constexpr int kMost = 5;  // vectors at a time

// V vectors of columns for each of C sums stay in registers while the rows pass by.  The sums start at zero: what is added
// up so far is large, and would round a little of every product away.
template <int C, int V>
__attribute__((always_inline)) inline void down(const Block& block, int at, const BlockVector* vectors) {
  vf sum[C * V];
  LOCALSVM_UNROLL for (int a = 0; a < C * V; ++a) sum[a] = splat(0.0f);
  const float* row = block.values + at;
  for (int i = 0; i < block.n_rows; ++i, row += block.stride) {
    // The fewer of both are loaded first, the others pass through one register.
    if constexpr (C <= V) {
      vf x[C];
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) x[c] = splat(vectors[c].x[i]);
      LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
        const vf k = used<C>(load(row + v * W));
        LOCALSVM_UNROLL for (int c = 0; c < C; ++c) sum[v * C + c] += k * x[c];
      }
    } else {
      vf k[V];
      LOCALSVM_UNROLL for (int v = 0; v < V; ++v) k[v] = used<C>(load(row + v * W));
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) {
        const vf x = splat(vectors[c].x[i]);
        LOCALSVM_UNROLL for (int v = 0; v < V; ++v) sum[v * C + c] += k[v] * x;
      }
    }
  }
  LOCALSVM_UNROLL for (int a = 0; a < C * V; ++a) {
    float* const y = vectors[a % C].y + at + a / C * W;
    store(y, load(y) + sum[a]);
  }
}

// The same with R rows, while the columns pass by.
template <int C, int R>
__attribute__((always_inline)) inline void across(const Block& block, int first, const BlockVector* vectors) {
  vf sum[C * R];
  LOCALSVM_UNROLL for (int a = 0; a < C * R; ++a) sum[a] = splat(0.0f);
  const float* const rows = block.values + first * block.stride;
  for (int j = 0; j < block.n_columns; j += W) {
    if constexpr (C <= R) {
      vf x[C];
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) x[c] = used<R>(load(vectors[c].x + j));
      LOCALSVM_UNROLL for (int r = 0; r < R; ++r) {
        const vf k = used<C>(load(rows + r * block.stride + j));
        LOCALSVM_UNROLL for (int c = 0; c < C; ++c) sum[r * C + c] += k * x[c];
      }
    } else {
      vf k[R];
      LOCALSVM_UNROLL for (int r = 0; r < R; ++r) k[r] = used<C>(load(rows + r * block.stride + j));
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) {
        const vf x = used<R>(load(vectors[c].x + j));
        LOCALSVM_UNROLL for (int r = 0; r < R; ++r) sum[r * C + c] += k[r] * x;
      }
    }
  }
  LOCALSVM_UNROLL for (int a = 0; a < C * R; ++a) {
    float* const y = vectors[a % C].y + (first + a / C) * W;
    store(y, load(y) + sum[a]);
  }
}

// Sums enough to keep the multipliers busy, and no more than registers.
struct Down {
  template <int C>
  static void all(const Block& block, const BlockVector* vectors) {
    constexpr int V = W == 16 ? 3 : C < 3 ? 6 : C < 5 ? 3 : 2;
    int at = 0;
    for (; at + V * W <= block.n_columns; at += V * W) down<C, V>(block, at, vectors);
    for (; at + 2 * W <= block.n_columns; at += 2 * W) down<C, 2>(block, at, vectors);
    for (; at < block.n_columns; at += W) down<C, 1>(block, at, vectors);
  }
};

struct Across {
  template <int C>
  static void all(const Block& block, const BlockVector* vectors) {
    constexpr int R = C == 1 ? 8 : C == 2 ? 6 : C == 3 ? 4 : C == 4 ? 3 : 2;
    int first = 0;
    for (; first + R <= block.n_rows; first += R) across<C, R>(block, first, vectors);
    if (R > 4)
      for (; first + 3 <= block.n_rows; first += 3) across<C, 3>(block, first, vectors);
    for (; first < block.n_rows; ++first) across<C, 1>(block, first, vectors);
  }
};

template <typename Direction>
inline void in_groups(const Block& block, const BlockVector* vectors, int count) {
  for (int left = (count + kMost - 1) / kMost; left > 0; --left) {
    const int size = (count + left - 1) / left;
    switch (size) {
      case 1: Direction::template all<1>(block, vectors); break;
      case 2: Direction::template all<2>(block, vectors); break;
      case 3: Direction::template all<3>(block, vectors); break;
      case 4: Direction::template all<4>(block, vectors); break;
      default: Direction::template all<5>(block, vectors);
    }
    vectors += size;
    count -= size;
  }
}

// w e, or w times the sign of e.
template <bool kManhattan>
inline vf weighted(vf w, vf e) {
  if constexpr (!kManhattan) return w * e;
  return (vf)(((vi)w ^ ((vi)e & INT32_MIN)) & (e != splat(0.0f)));
}

// H points, F features at a time; `weights` has a row of kStrip numbers for each point.
template <bool kManhattan, int H, int F>
__attribute__((always_inline)) inline void differences(const float* const* x, const float* weights, const float* panels,
                                                       int n_features, int k, Range columns, double* const* out) {
  vf sums[H * F];
  LOCALSVM_UNROLL for (int a = 0; a < H * F; ++a) sums[a] = splat(0.0f);
  for (int j = columns.begin; j < columns.end; j += W) {
    const float* sample = panels + place_in_panels(j, n_features) + static_cast<size_t>(k) * kPad;
    vf w[H];
    LOCALSVM_UNROLL for (int a = 0; a < H; ++a) w[a] = used<F>(load(weights + a * kStrip + j - columns.begin));
    LOCALSVM_UNROLL for (int q = 0; q < F; ++q) {
      const vf xj = used<H>(load(sample + q * kPad));
      LOCALSVM_UNROLL for (int a = 0; a < H; ++a) sums[q * H + a] += weighted<kManhattan>(w[a], xj - x[a][k + q]);
    }
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

void add_down(const Block& block, const BlockVector* vectors, int count) { in_groups<Down>(block, vectors, count); }

void add_across(const Block& block, const BlockVector* vectors, int count) { in_groups<Across>(block, vectors, count); }

void sum_lanes(float* lanes, int n, float* y) {
  for (int i = 0; i < n; i += 4) add_sums(lanes + i * W, y + i);
  for (int i = 0; i < n; ++i) store(lanes + i * W, splat(0.0f));
}

void add_differences(Kernel kernel, const float* const* x, int count, const float* const* slopes, const float* c,
                     const float* panels, int n_features, Range columns, double* const* out) {
  const auto by = kernel == Kernel::manhattan ? add_differences_by<true> : add_differences_by<false>;
  by(x, count, slopes, c, panels, n_features, columns, out);
}

}  // namespace localsvm::LOCALSVM_LEVEL
