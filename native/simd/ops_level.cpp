// The hot loops of ops.h for one SIMD level.  Compiled once per level; see simd.h for the rules.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

// Adds the term of one feature to a distance.
template <bool kManhattan>
inline void add_distance(vf difference, vf& sum) {
  if constexpr (kManhattan)
    sum += vabs(difference);
  else
    sum = fma(difference, difference, sum);
}

// Maps a distance to itself, or to the value of the kernel.
struct AsIs {
  vf operator()(vf distance) const { return distance; }
};

inline vf kernel_of(Kernel kernel, vf distance, vf scale) {
  return exp2_nonpositive((kernel == Kernel::laplace ? vsqrt(distance) : distance) * scale);
}

template <Kernel kKernel>
struct KernelValue {
  vf scale;
  vf operator()(vf distance) const { return kernel_of(kKernel, distance, scale); }
};

// H points against V vectors of samples: each loaded x_j serves H points, each broadcast x V vectors.  The sum over
// features runs in order for every entry, so the result does not depend on the blocking, and d(i, j) = d(j, i).
template <bool kManhattan, int H, int V, typename Finish>
inline void distance_block(const float* const* x, const float* panels, int n_features, int j, int at,
                           float* const* out, const Finish& finish) {
  const float* sample[V];
  for (int v = 0; v < V; ++v) {
    const int first = j + v * W;
    sample[v] = panels + place_in_panels(first, n_features);
  }
  vf acc[H][V] = {};
  for (int k = 0; k < n_features; ++k)
    for (int v = 0; v < V; ++v) {
      const float* at_k = sample[v] + static_cast<size_t>(k) * kPad;
      // With one or two points memory is the bottleneck: prefetch the samples of the next block, one cache line at a
      // time.
      if (H <= 2 && v % (kPad / W) == 0) __builtin_prefetch(at_k + static_cast<size_t>(V) * W * n_features);
      const vf xj = load(at_k);
      for (int a = 0; a < H; ++a) add_distance<kManhattan>(x[a][k] - xj, acc[a][v]);
    }
  for (int a = 0; a < H; ++a)
    for (int v = 0; v < V; ++v) store(out[a] + at + v * W, finish(acc[a][v]));
}

// Eight sums at a time keep the multipliers busy, whatever the number of points.
template <bool kManhattan, int H, typename Finish>
inline void distance_rows(const float* const* x, const float* panels, int n_features, Range columns, int at,
                          float* const* out, const Finish& finish) {
  constexpr int V = 8 / H;
  int j = columns.begin;
  for (; j + V * W <= columns.end; j += V * W, at += V * W)
    distance_block<kManhattan, H, V>(x, panels, n_features, j, at, out, finish);
  for (; j < columns.end; j += W, at += W) distance_block<kManhattan, H, 1>(x, panels, n_features, j, at, out, finish);
}

template <bool kManhattan, typename Finish>
inline void distances_by(const float* const* x, int count, const float* panels, int n_features, Range columns,
                         float* const* out, const Finish& finish) {
  constexpr int kStrip = 128;  // samples that stay in the cache while all points are compared with them
  for (int j = columns.begin; j < columns.end; j += kStrip) {
    const Range strip{j, j + kStrip < columns.end ? j + kStrip : columns.end};
    const int at = j - columns.begin;
    int a = 0;
    for (; a + 4 <= count; a += 4) distance_rows<kManhattan, 4>(x + a, panels, n_features, strip, at, out + a, finish);
    if (count - a == 3) distance_rows<kManhattan, 3>(x + a, panels, n_features, strip, at, out + a, finish);
    if (count - a == 2) distance_rows<kManhattan, 2>(x + a, panels, n_features, strip, at, out + a, finish);
    if (count - a == 1) distance_rows<kManhattan, 1>(x + a, panels, n_features, strip, at, out + a, finish);
  }
}

void distances(Kernel kernel, const float* const* x, int count, const float* panels, int n_features, Range columns,
               float* const* out) {
  const auto by = kernel == Kernel::manhattan ? distances_by<true, AsIs> : distances_by<false, AsIs>;
  by(x, count, panels, n_features, columns, out, AsIs{});
}

// The scale that makes the kernel a power of 2.  Finite even where 1/width^2 is not, so that a distance of 0 still
// gives 1.
inline vf kernel_scale(Kernel kernel, float width) {
  constexpr double kLog2E = 1.4426950408889634;
  const double scale = kLog2E / (kernel == Kernel::gauss ? static_cast<double>(width) * width : width);
  return splat(scale > 3e38 ? -3e38f : static_cast<float>(-scale));
}

void kernel_rows(Kernel kernel, float width, const float* const* x, int count, const float* panels, int n_features,
                 Range columns, float* const* out) {
  const vf scale = kernel_scale(kernel, width);
  switch (kernel) {
    case Kernel::gauss:
      return distances_by<false>(x, count, panels, n_features, columns, out, KernelValue<Kernel::gauss>{scale});
    case Kernel::laplace:
      return distances_by<false>(x, count, panels, n_features, columns, out, KernelValue<Kernel::laplace>{scale});
    case Kernel::manhattan:
      return distances_by<true>(x, count, panels, n_features, columns, out, KernelValue<Kernel::manhattan>{scale});
  }
}

// A group is one lane of a stretch of the row.
void group_minima(const float* distances, int n, float* minima) {
  constexpr int kStretches = kRowGroups / W;
  const int n_vectors = (n + W - 1) / W, stretch = (n_vectors + kStretches - 1) / kStretches;
  for (int s = 0, v = 0; s < kStretches; ++s) {
    vf least = splat(INFINITY);
    for (const int end = v + stretch < n_vectors ? v + stretch : n_vectors; v < end; ++v) {
      const vi inside = lanes() < n - v * W;
      least = vmin(least, select(inside, load(distances + v * W), splat(INFINITY)));
    }
    store(minima + s * W, least);
  }
}

int find_within(const float* distances, int n, float limit, int32_t* found, int capacity) {
  int count = 0, j = 0;
#if defined(__AVX512F__)
  for (; j + W <= n && count + W <= capacity; j += W) {
    const __mmask16 within = _mm512_cmp_ps_mask((__m512)load(distances + j), _mm512_set1_ps(limit), _CMP_LE_OQ);
    _mm512_storeu_si512(found + count, _mm512_maskz_compress_epi32(within, (__m512i)(lanes() + j)));
    count += __builtin_popcount(within);
  }
#endif
  for (; j < n; j += W) {
    uint32_t within = bits_of((load(distances + j) <= splat(limit)) & (lanes() < n - j));
    for (; within != 0 && count < capacity; within &= within - 1) found[count++] = j + __builtin_ctz(within);
  }
  return count;
}

void kernel_values(Kernel kernel, float width, const float* distances, float* k, size_t n) {
  const vf scale = kernel_scale(kernel, width);
  for (size_t i = 0; i < n; i += W) store(k + i, kernel_of(kernel, load(distances + i), scale));
}

// Steeper than any useful kernel, but finite: infinity times a difference of 0 would be NaN.
constexpr float kSteepest = 1e30f;

inline vf slope_of(Kernel kernel, vf distance, vf scale) {
  constexpr float kLn2 = 0.69314718f;
  const vf slope_of_1 = -scale * kLn2, k = kernel_of(kernel, distance, scale);
  if (kernel == Kernel::gauss) return vmin(slope_of_1 * (2.0f * k), splat(kSteepest));
  if (kernel == Kernel::manhattan) return vmin(slope_of_1 * k, splat(kSteepest));
  const vf slope = vmin(slope_of_1 * k / vsqrt(distance), splat(kSteepest));
  return select(distance > splat(0.0f), slope, splat(0.0f));
}

void kernel_slopes(Kernel kernel, float width, const float* distances, float* slopes, size_t n) {
  const vf scale = kernel_scale(kernel, width);
  for (size_t i = 0; i < n; i += W) store(slopes + i, slope_of(kernel, load(distances + i), scale));
}

// 32 sums keep the adders busy.
double dot(const float* a, const float* b, Range range) {
  constexpr int H = W / 2, kSums = 2 * kPad / H;
  half_vd sums[kSums] = {};
  int i = range.begin;
  for (; i + 2 * kPad <= range.end; i += 2 * kPad)
    LOCALSVM_UNROLL for (int s = 0; s < kSums; ++s)
      sums[s] = add_product(widen_half(a + i + s * H), widen_half(b + i + s * H), sums[s]);
  for (; i + kPad <= range.end; i += kPad)
    for (int s = 0; s < kSums / 2; ++s)
      sums[s] = add_product(widen_half(a + i + s * H), widen_half(b + i + s * H), sums[s]);
  double total = sum<kSums>(sums);
  for (; i < range.end; ++i) total += static_cast<double>(a[i]) * b[i];
  return total;
}

// Eight sums for each row; each load of w serves N rows.
template <int N>
inline void sums_of_rows(const float* const* rows, const double* w, Range range, double* out) {
  constexpr int H = W / 2, kSums = 8 / H;
  half_vd sums[N][kSums] = {};
  int j = range.begin;
  for (; j + 8 <= range.end; j += 8)
    LOCALSVM_UNROLL for (int s = 0; s < kSums; ++s) {
      const half_vd wj = load_half(w + j + s * H);
      LOCALSVM_UNROLL for (int m = 0; m < N; ++m)
        sums[m][s] = add_product(wj, widen_half(rows[m] + j + s * H), sums[m][s]);
    }
  for (int m = 0; m < N; ++m) {
    out[m] = sum<kSums>(sums[m]);
    for (int rest = j; rest < range.end; ++rest) out[m] += w[rest] * rows[m][rest];
  }
}

void weighted_sums(const float* const* rows, int count, const double* w, Range range, double* out) {
  constexpr int kRows = W / 2;  // as many as there are registers for their sums
  int m = 0;
  for (; m + kRows <= count; m += kRows) sums_of_rows<kRows>(rows + m, w, range, out + m);
  for (; m < count; ++m) sums_of_rows<1>(rows + m, w, range, out + m);
}

void subtract_rows_exactly(double* r, const float* const* rows, const float* c, int count, Range range) {
  for (int m = 0; m < count; m += 8) {
    const float* row[8];
    half_vd coef[8];
    for (int q = 0; q < 8; ++q) {
      row[q] = rows[m + q < count ? m + q : m];
      coef[q] = (m + q < count ? static_cast<double>(c[m + q]) : 0.0) - half_vd{};
    }
    for (int i = range.begin; i < range.end; i += W / 2) {
      half_vd sum = load_half(r + i);
      for (int q = 0; q < 8; ++q) sum = subtract_product(coef[q], widen_half(row[q] + i), sum);
      store_half(r + i, sum);
    }
  }
}

void subtract_rows(double* r, const float* const* rows, const float* c, int count, Range range) {
  constexpr int kSum = 8, kRows = W < 16 ? kSum : 2 * kSum;  // as many as there are registers for their coefficients
  for (int m = 0; m < count; m += kRows) {
    const float* row[kRows];
    float coef[kRows];
    for (int q = 0; q < kRows; ++q) {
      row[q] = rows[m + q < count ? m + q : m];
      coef[q] = m + q < count ? c[m + q] : 0.0f;
    }
    for (int i = range.begin; i < range.end; i += W) {
      half_vd first = load_half(r + i), second = load_half(r + i + W / 2);
      for (int g = 0; g < kRows; g += kSum) {
        vf even = coef[g] * load(row[g] + i), odd = coef[g + 1] * load(row[g + 1] + i);
        for (int q = g + 2; q < g + kSum; q += 2) {
          even = fma(coef[q], load(row[q] + i), even);
          odd = fma(coef[q + 1], load(row[q + 1] + i), odd);
        }
        first -= widen_first(even + odd);
        second -= widen_second(even + odd);
      }
      store_half(r + i, first);
      store_half(r + i + W / 2, second);
    }
  }
}

}  // namespace

#define LOCALSVM_STRING_(x) #x
#define LOCALSVM_STRING(x) LOCALSVM_STRING_(x)

extern const Ops kOps;
const Ops kOps = {
    LOCALSVM_STRING(LOCALSVM_LEVEL),
    distances,
    kernel_rows,
    group_minima,
    find_within,
    kernel_values,
    kernel_slopes,
    add_differences,
    dot,
    weighted_sums,
    update_and_scan,
    gap,
    best_partner,
    plane_sums,
    point_of_plane,
    chord_sums,
    apply_extrapolation,
    set_slack,
    find_bound_changes,
    shift_bounds,
    find_moved,
    subtract_rows,
    subtract_rows_exactly,
    add_down,
    add_across,
    sum_lanes,
    evaluate,
    nearest_in_panels,
    center_products,
    update_nearest,
};

}  // namespace localsvm::LOCALSVM_LEVEL
