// Products of blocks of a matrix with a few vectors, for one SIMD level.  Compiled once per level like ops_level.cpp.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

constexpr int kMaxTogether = 5;  // vectors at a time

// The sums of V vectors of columns, for each of C operands, stay in registers while the loop runs over the rows.  They
// start at zero: added to y directly, which is large, every product would be rounded more.
template <int C, int V>
__attribute__((always_inline)) inline void down(const Block& block, int at, const BlockVector* vectors) {
  vf sum[C * V];
  LOCALSVM_UNROLL for (int a = 0; a < C * V; ++a) sum[a] = splat(0.0f);
  const float* row = block.values + at;
  for (int i = 0; i < block.n_rows; ++i, row += block.stride) {
    // The smaller set is loaded first, the other one passes through one register.
    if constexpr (C <= V) {
      vf x[C];
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) x[c] = splat(vectors[c].x[i]);
      LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
        const vf k = used<C>(load(row + v * W));
        LOCALSVM_UNROLL for (int c = 0; c < C; ++c) sum[v * C + c] = fma(k, x[c], sum[v * C + c]);
      }
    } else {
      vf k[V];
      LOCALSVM_UNROLL for (int v = 0; v < V; ++v) k[v] = used<C>(load(row + v * W));
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) {
        const vf x = splat(vectors[c].x[i]);
        LOCALSVM_UNROLL for (int v = 0; v < V; ++v) sum[v * C + c] = fma(k[v], x, sum[v * C + c]);
      }
    }
  }
  LOCALSVM_UNROLL for (int a = 0; a < C * V; ++a) {
    float* const y = vectors[a % C].y + at + a / C * W;
    store(y, load(y) + sum[a]);
  }
}

// Adds to the sums of R rows, for each of C operands, the products with the column at j and those after it, or starts
// them with these.
template <int C, int R, bool kStarts>
__attribute__((always_inline)) inline void add_columns(const float* rows, size_t stride, int j,
                                                       const BlockVector* vectors, vf* sum) {
  const auto add = [&](int a, vf k, vf x) { sum[a] = kStarts ? k * x : fma(k, x, sum[a]); };
  if constexpr (C <= R) {
    vf x[C];
    LOCALSVM_UNROLL for (int c = 0; c < C; ++c) x[c] = used<R>(load(vectors[c].x + j));
    LOCALSVM_UNROLL for (int r = 0; r < R; ++r) {
      const vf k = used<C>(load(rows + r * stride + j));
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) add(r * C + c, k, x[c]);
    }
  } else {
    vf k[R];
    LOCALSVM_UNROLL for (int r = 0; r < R; ++r) k[r] = used<C>(load(rows + r * stride + j));
    LOCALSVM_UNROLL for (int c = 0; c < C; ++c) {
      const vf x = used<R>(load(vectors[c].x + j));
      LOCALSVM_UNROLL for (int r = 0; r < R; ++r) add(r * C + c, k[r], x);
    }
  }
}

// The sums of R rows stay in registers while the loop runs over the columns, one part of the 16 lanes after the other.
template <int C, int R>
__attribute__((always_inline)) inline void across(const Block& block, int first, const BlockVector* vectors) {
  const float* const rows = block.values + first * block.stride;
  for (int lane = 0; lane < kPad; lane += W) {
    vf sum[C * R];
    add_columns<C, R, true>(rows, block.stride, lane, vectors, sum);
    if (block.n_columns == kTile) {  // as most blocks: without a loop
      LOCALSVM_UNROLL for (int j = kPad; j < kTile; j += kPad)
        add_columns<C, R, false>(rows, block.stride, lane + j, vectors, sum);
    } else {
      for (int j = kPad; j < block.n_columns; j += kPad)
        add_columns<C, R, false>(rows, block.stride, lane + j, vectors, sum);
    }
    LOCALSVM_UNROLL for (int a = 0; a < C * R; ++a) {
      float* const y = vectors[a % C].y + (first + a / C) * kPad + lane;
      store(y, load(y) + sum[a]);
    }
  }
}

// Enough sums to keep the multipliers busy, but no more than there are registers.
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
  for (int left = (count + kMaxTogether - 1) / kMaxTogether; left > 0; --left) {
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

}  // namespace

void add_down(const Block& block, const BlockVector* vectors, int count) { in_groups<Down>(block, vectors, count); }

void add_across(const Block& block, const BlockVector* vectors, int count) { in_groups<Across>(block, vectors, count); }

void sum_lanes(float* lanes, int n, float* y) {
  for (int i = 0; i < n; i += 4) add_sums(lanes + i * kPad, y + i);
  for (int i = 0; i < n * kPad; i += W) store(lanes + i, splat(0.0f));
}

}  // namespace localsvm::LOCALSVM_LEVEL
