// Products of blocks of a matrix with a few vectors, for one SIMD level; see ops.h, and simd.h for the rules.
#include "ops.h"
#include "simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

// V vectors of each of C sums stay in registers while the rows pass by; every row's next cache lines are asked for ahead.
// The sums start at zero: what is added up so far is large, and would round a little of every product away.
template <int C, int V>
inline void products_down(const float* const* rows, int n_rows, int at, const BothProducts* products) {
  vf sum[C][V];
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < V; ++v) sum[c][v] = splat(0.0f);
  for (int i = 0; i < n_rows; ++i) {
    const float* row = rows[i] + at;
    vf k[V];
    for (int v = 0; v < V; ++v) {
      if (v * W % kPad == 0) __builtin_prefetch(row + (2 * V + v) * W);
      k[v] = load(row + v * W);
    }
    for (int c = 0; c < C; ++c) {
      const vf x = splat(products[c].x[i]);
      for (int v = 0; v < V; ++v) sum[c][v] += k[v] * x;
    }
  }
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < V; ++v) {
      float* const down = products[c].down + at + v * W;
      store(down, load(down) + sum[c][v]);
    }
}

template <int C, int R>
inline void products_across(const float* const* rows, int first, Range columns, const BothProducts* products) {
  vf sum[C][R];
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) sum[c][r] = splat(0.0f);
  for (int j = columns.begin; j < columns.end; j += W) {
    vf k[R];
    for (int r = 0; r < R; ++r) k[r] = load(rows[first + r] + j);
    for (int c = 0; c < C; ++c) {
      const vf x = load(products[c].x_across + j);
      for (int r = 0; r < R; ++r) sum[c][r] += k[r] * x;
    }
  }
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) {
      float* const across = products[c].across + (first + r) * kMaxLanes;
      store(across, load(across) + sum[c][r]);
    }
}

// C products; `both`: down and across.  The sums are enough to keep the multipliers busy, and no more than registers.
template <int C, bool both>
inline void product_group(const float* const* rows, int n_rows, Range columns, const BothProducts* products) {
  constexpr int V = C <= 2 ? 4 : 2, R = C <= 3 ? 4 : C == 4 ? 3 : 2;
  int at = columns.begin;
  for (; at + V * W <= columns.end; at += V * W) products_down<C, V>(rows, n_rows, at, products);
  for (; at < columns.end; at += W) products_down<C, 1>(rows, n_rows, at, products);
  if (!both) return;
  int first = 0;
  for (; first + R <= n_rows; first += R) products_across<C, R>(rows, first, columns, products);
  for (; first < n_rows; ++first) products_across<C, 1>(rows, first, columns, products);
}

template <bool both>
inline void all_products(const float* const* rows, int n_rows, Range columns, const BothProducts* products,
                         int count) {
  constexpr int kMost = 6;     // products at a time
  constexpr int kStrip = 256;  // entries of 32 rows that stay in the cache until all have met them
  const int n_groups = (count + kMost - 1) / kMost;
  for (int begin = columns.begin; begin < columns.end; begin += kStrip) {
    const Range strip{begin, begin + kStrip < columns.end ? begin + kStrip : columns.end};
    for (int left = n_groups, c = 0; left > 0; --left) {
      const int size = (count - c + left - 1) / left;
      switch (size) {
        case 1: product_group<1, both>(rows, n_rows, strip, products + c); break;
        case 2: product_group<2, both>(rows, n_rows, strip, products + c); break;
        case 3: product_group<3, both>(rows, n_rows, strip, products + c); break;
        case 4: product_group<4, both>(rows, n_rows, strip, products + c); break;
        case 5: product_group<5, both>(rows, n_rows, strip, products + c); break;
        default: product_group<6, both>(rows, n_rows, strip, products + c);
      }
      c += size;
    }
  }
}

template <int R>
inline void dots_of(const float* const* rows, const float* x, int n, float* out) {
  vf even[R] = {}, odd[R] = {};
  for (int j = 0; j < n; j += kPad)
    for (int v = 0; v < kPad / W; ++v) {
      const vf xj = load(x + j + v * W);
      for (int m = 0; m < R; ++m) (v % 2 ? odd : even)[m] += load(rows[m] + j + v * W) * xj;
    }
  for (int m = 0; m < R; ++m) out[m] = static_cast<float>(sum(even[m]) + sum(odd[m]));
}

}  // namespace

// Called by the table in ops_level.cpp.
void add_products(const float* const* rows, int n_rows, Range columns, const BothProducts* products, int count);
void add_both_products(const float* const* rows, int n_rows, Range columns, const BothProducts* products, int count);
void dots(const float* const* rows, int n_rows, const float* x, int n, float* out);

void add_products(const float* const* rows, int n_rows, Range columns, const BothProducts* products, int count) {
  all_products<false>(rows, n_rows, columns, products, count);
}

void add_both_products(const float* const* rows, int n_rows, Range columns, const BothProducts* products, int count) {
  all_products<true>(rows, n_rows, columns, products, count);
}

void dots(const float* const* rows, int n_rows, const float* x, int n, float* out) {
  int m = 0;
  for (; m + 4 <= n_rows; m += 4) dots_of<4>(rows + m, x, n, out + m);
  for (; m < n_rows; ++m) dots_of<1>(rows + m, x, n, out + m);
}

}  // namespace localsvm::LOCALSVM_LEVEL
