// Products of blocks of a matrix with a few vectors, for one SIMD level.  Compiled once per level like ops_level.cpp.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

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

// Adds to the sums of R rows, for each of C operands, their products with the W columns from j on, or starts them with
// these.
template <int C, int R, bool kStarts>
__attribute__((always_inline)) inline void add_columns(const float* rows, size_t stride, int j,
                                                       const BlockVector* vectors, vf* sum) {
  const auto add = [&](int a, vf k, vf x) { sum[a] = kStarts ? k * x : fma(k, x, sum[a]); };
  if constexpr (C <= R) {
    vf x[C];
    LOCALSVM_UNROLL for (int c = 0; c < C; ++c) x[c] = used<R>(load(vectors[c].x + j));
    LOCALSVM_UNROLL for (int r = 0; r < R; ++r) {
      const vf k = used<C>(load(rows + r * stride + j));
      LOCALSVM_UNROLL for (int c = 0; c < C; ++c) add(c * R + r, k, x[c]);
    }
  } else {
    vf k[R];
    LOCALSVM_UNROLL for (int r = 0; r < R; ++r) k[r] = used<C>(load(rows + r * stride + j));
    LOCALSVM_UNROLL for (int c = 0; c < C; ++c) {
      const vf x = used<R>(load(vectors[c].x + j));
      LOCALSVM_UNROLL for (int r = 0; r < R; ++r) add(c * R + r, k[r], x);
    }
  }
}

// Adds sums of R rows, of 16 lanes, to y, where they have kLanes = 8: lanes l and l + 8 become one.  Part p of row r is
// sum[p * size + r].
template <int R>
__attribute__((always_inline)) inline void add_folded(const vf* sum, [[maybe_unused]] int size, float* y) {
#if defined(__AVX512F__)
  constexpr int kPairs = R / 2;
  LOCALSVM_UNROLL for (int pair = 0; pair < kPairs; ++pair) {
    const __m512 a = (__m512)sum[2 * pair], b = (__m512)sum[2 * pair + 1];
    const vf folded = (vf)_mm512_shuffle_f32x4(a, b, 0x44) + (vf)_mm512_shuffle_f32x4(a, b, 0xee);
    store(y + pair * W, load(y + pair * W) + folded);
  }
  if (R % 2 == 1) {
    const __m512 last = (__m512)sum[R - 1];
    const __m256 folded = _mm256_add_ps(_mm512_castps512_ps256(last), _mm512_extractf32x8_ps(last, 1));
    float* const at = y + (R - 1) * kLanes;
    _mm256_storeu_ps(at, _mm256_add_ps(_mm256_loadu_ps(at), folded));
  }
#else
  LOCALSVM_UNROLL for (int r = 0; r < R; ++r)
    LOCALSVM_UNROLL for (int p = 0; p < kParts / 2; ++p) {
      float* const at = y + r * kLanes + p * W;
      store(at, load(at) + (sum[p * size + r] + sum[(p + kParts / 2) * size + r]));
    }
#endif
}

// The sums of R rows stay in registers while the loop runs over the columns.
template <int C, int R>
__attribute__((always_inline)) inline void across(const Block& block, int first, const BlockVector* vectors) {
  const float* const rows = block.values + first * block.stride;
  vf sum[kParts][C * R];
  LOCALSVM_UNROLL for (int p = 0; p < kParts; ++p)
    add_columns<C, R, true>(rows, block.stride, p * W, vectors, sum[p]);
  if (block.n_columns == kTile) {  // as most blocks: without a loop
    LOCALSVM_UNROLL for (int j = kPad; j < kTile; j += kPad)
      LOCALSVM_UNROLL for (int p = 0; p < kParts; ++p)
        add_columns<C, R, false>(rows, block.stride, j + p * W, vectors, sum[p]);
  } else {
    for (int j = kPad; j < block.n_columns; j += kPad)
      LOCALSVM_UNROLL for (int p = 0; p < kParts; ++p)
        add_columns<C, R, false>(rows, block.stride, j + p * W, vectors, sum[p]);
  }
  LOCALSVM_UNROLL for (int c = 0; c < C; ++c)
    add_folded<R>(sum[0] + c * R, C * R, vectors[c].y + first * kLanes);
}

// Enough sums to keep the multipliers busy, but no more than there are registers.
struct Down {
  static constexpr int kMost = 5;  // vectors at a time

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
  static constexpr int kMost = W == 16 ? 5 : 3;

  template <int C>
  static void all(const Block& block, const BlockVector* vectors) {
    constexpr int kSums = W == 16 ? (C < 3 ? 8 * C : 24) : 12 / kParts;
    constexpr int R = W == 8 && C == 1 ? 4 : kSums < C ? 1 : kSums / C;
    int first = 0;
    for (; first + R <= block.n_rows; first += R) across<C, R>(block, first, vectors);
    if (R > 2)
      for (; first + 2 <= block.n_rows; first += 2) across<C, 2>(block, first, vectors);
    for (; first < block.n_rows; ++first) across<C, 1>(block, first, vectors);
  }
};

template <typename Direction>
inline void in_groups(const Block& block, const BlockVector* vectors, int count) {
  constexpr int kMost = Direction::kMost;
  for (int left = (count + kMost - 1) / kMost; left > 0; --left) {
    const int size = (count + left - 1) / left;
    switch (size) {
      case 1: Direction::template all<1>(block, vectors); break;
      case 2: Direction::template all<2>(block, vectors); break;
      case 3: Direction::template all<3>(block, vectors); break;
      case 4:
        if constexpr (kMost > 3) Direction::template all<4>(block, vectors);
        break;
      default:
        if constexpr (kMost > 3) Direction::template all<5>(block, vectors);
    }
    vectors += size;
    count -= size;
  }
}

}  // namespace

void add_down(const Block& block, const BlockVector* vectors, int count) { in_groups<Down>(block, vectors, count); }

void add_across(const Block& block, const BlockVector* vectors, int count) { in_groups<Across>(block, vectors, count); }

void sum_lanes(float* lanes, int n, float* y) {
  const int rows = (n + 3) / 4 * 4;
  for (int i = 0; i < rows; i += 4) add_sums(lanes + i * kLanes, y + i);
  for (int i = 0; i < rows * kLanes; i += W) store(lanes + i, splat(0.0f));
}

}  // namespace localsvm::LOCALSVM_LEVEL
