// Kernel sums at some points (evaluate.h), for one SIMD level.  Compiled once per level like ops_level.cpp.
//
// Two steps for every strip of support vectors: the kernel values of a few points, which stay in the first-level cache,
// then their products with the coefficients of all outputs.  Every value is summed over the features in order; over the
// support vectors of a strip in 16 lanes in float, support vector s in lane s % 16; then over lanes and strips in
// double: an order that depends neither on the other points and outputs nor on the width of a register.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

constexpr int kRegisters = kParts;  // that a sum takes
constexpr int kSupportStrip = 512;
constexpr int kPoints = kRegisters == 1 ? 8 : kRegisters == 2 ? 4 : 2;  // that share a load of support vectors
constexpr int kSums = 16 / kRegisters;  // of products that stay in registers

// A squared distance d^2 = |x|^2 + |s|^2 - 2 x's that is at most N^2 / 1024, N = |x|^2 + |s|^2, is computed again from
// differences: the rounding of N would change the exponent of a Laplace kernel by more than 16 roundoffs.
constexpr float kNear = 1.0f / 1024;

constexpr bool is_expanded(Form form) {
  return form == Form::gauss || form == Form::laplace || form == Form::manhattan;
}
constexpr bool is_laplace(Form form) { return form == Form::laplace || form == Form::laplace_differences; }
constexpr bool is_manhattan(Form form) { return form == Form::manhattan || form == Form::manhattan_differences; }

// Adds the term of a feature: to minus a distance, if it is expanded, else to the distance.
template <Form kForm>
inline vf added(vf s, vf x, vf sum) {
  if constexpr (kForm == Form::manhattan) return sum - vmax(s, x);
  if constexpr (is_expanded(kForm)) return fma(s, x, sum);
  if constexpr (is_manhattan(kForm)) return sum + vabs(s - x);
  return fma(s - x, s - x, sum);
}

// The exponent of 2 of a distance.
template <Form kForm>
inline vf exponent(vf distance, vf minus_scale) {
  return minus_scale * (is_laplace(kForm) ? vsqrt(distance) : distance);
}

// Minus the squared distances of a point from W support vectors, by differences; the panels have twice their features.
inline vf minus_squares(const float* sample, const float* x, int n_features) {
  vf sum = splat(0.0f);
  for (int k = 0; k < n_features; ++k) {
    const vf e = fma(splat(0.5f), load(sample + static_cast<size_t>(k) * kPad), splat(-x[k]));
    sum = fma(e, e, sum);
  }
  return -sum;
}

// H points and V registers of support vectors, the first of which is number `first`.
template <Form kForm, int H, int V>
inline void kernel_block(const SupportView& support, const float* const* x, const float* sizes, int n_features,
                         size_t first, float* const* out) {
  const float* sample[V];
  vf d[H][V];
  LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
    sample[v] = support.panels + place_in_panels(first + v * W, n_features);
    LOCALSVM_UNROLL for (int a = 0; a < H; ++a)
      d[a][v] = is_expanded(kForm) ? load(support.sizes + first + v * W) + sizes[a] : splat(0.0f);
  }
  for (int k = 0; k < n_features; ++k)
    LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
      const float* at_k = sample[v] + static_cast<size_t>(k) * kPad;
      // With one point memory is the bottleneck: prefetch the support vectors of the next block, line by line.
      if (H == 1 && v % kRegisters == 0) __builtin_prefetch(at_k + static_cast<size_t>(V) * W * n_features);
      const vf s = load(at_k);
      LOCALSVM_UNROLL for (int a = 0; a < H; ++a) d[a][v] = added<kForm>(s, splat(x[a][k]), d[a][v]);
    }
  LOCALSVM_UNROLL for (int a = 0; a < H; ++a)
    LOCALSVM_UNROLL for (int v = 0; v < V; ++v) {
      vf e = is_expanded(kForm) ? d[a][v] : exponent<kForm>(d[a][v], splat(support.minus_scale));
      if constexpr (kForm == Form::laplace) {
        // The root of a small difference of large squares has lost its digits: see kNear.
        const vf squares = load(support.sizes + first + v * W) + sizes[a];
        const vi near = e > splat(-kNear) * squares * squares;
        if (bits_of(near)) e = select(near, minus_squares(sample[v], x[a], n_features), e);
      }
      e = vmin(e, splat(0.0f));
      if constexpr (kForm == Form::laplace) e = -vsqrt(-e);
      store(out[a] + v * W, exp2_nonpositive(e));
    }
}

template <Form kForm, int H>
inline void kernel_strip(const SupportView& support, const float* const* x, const float* sizes, int n_features,
                         size_t begin, size_t end, float* const* out) {
  // Eight sums at a time keep the multipliers busy.
  constexpr int V = H == 8 ? 2 : 8 / H > kRegisters ? 8 / H : kRegisters;
  float* at[H];
  size_t s = begin;
  for (; s + V * W <= end; s += V * W) {
    for (int a = 0; a < H; ++a) at[a] = out[a] + (s - begin);
    kernel_block<kForm, H, V>(support, x, sizes, n_features, s, at);
  }
  for (; s < end; s += kPad) {
    for (int a = 0; a < H; ++a) at[a] = out[a] + (s - begin);
    kernel_block<kForm, H, kRegisters>(support, x, sizes, n_features, s, at);
  }
}

// f[a][o] += sum_s c[o*ld + s] k[a][s] of O outputs and H points.
template <int O, int H>
inline void add_products(const float* const* k, const float* c, size_t ld, size_t n, double* const* f) {
  Sums sums[O][H];
  for (size_t s = 0; s < n; s += kPad)
    LOCALSVM_UNROLL for (int r = 0; r < kRegisters; ++r) {
      vf k_s[H];
      LOCALSVM_UNROLL for (int a = 0; a < H; ++a) k_s[a] = load(k[a] + s + r * W);
      LOCALSVM_UNROLL for (int o = 0; o < O; ++o) {
        const vf c_s = load(c + o * ld + s + r * W);
        LOCALSVM_UNROLL for (int a = 0; a < H; ++a) sums[o][a].part[r] = fma(c_s, k_s[a], sums[o][a].part[r]);
      }
    }
  for (int o = 0; o < O; ++o)
    for (int a = 0; a < H; ++a) f[a][o] += sum(sums[o][a]);
}

// As many outputs at a time as there are registers for.
template <int H, int O = kSums / H>
inline void add_all_products(const float* const* k, const float* c, size_t ld, size_t n, int n_outputs, double* const* f) {
  double* out[H];
  for (int a = 0; a < H; ++a) out[a] = f[a];
  for (; n_outputs >= O; n_outputs -= O, c += O * ld) {
    add_products<O, H>(k, c, ld, n, out);
    for (int a = 0; a < H; ++a) out[a] += O;
  }
  if constexpr (O > 1)
    if (n_outputs > 0) add_all_products<H, O / 2>(k, c, ld, n, n_outputs, out);
}

template <Form kForm, int H>
void evaluate_points(const SupportView& support, const float* points, const float* sizes, int n_features, double* f) {
  alignas(64) float values[H * kSupportStrip];
  const float* x[H];
  float* k[H];
  double* out[H];
  for (int a = 0; a < H; ++a) {
    x[a] = points + static_cast<size_t>(a) * n_features;
    k[a] = values + a * kSupportStrip;
    out[a] = f + static_cast<size_t>(a) * support.n_outputs;
  }
  for (size_t begin = 0; begin < support.ld; begin += kSupportStrip) {
    const size_t end = begin + kSupportStrip < support.ld ? begin + kSupportStrip : support.ld;
    kernel_strip<kForm, H>(support, x, sizes, n_features, begin, end, k);
    constexpr int kHalf = H > 4 ? 4 : H;
    for (int a = 0; a < H; a += kHalf)
      add_all_products<kHalf>(k + a, support.coef + begin, support.ld, end - begin, support.n_outputs, out + a);
  }
}

template <Form kForm>
void evaluate_by(const SupportView& support, const float* points, const float* sizes, int n_points, int n_features,
                 double* f) {
  int p = 0;
  const auto next = [&](auto evaluate_some, int count) {
    evaluate_some(support, points + static_cast<size_t>(p) * n_features, sizes + p, n_features,
                  f + static_cast<size_t>(p) * support.n_outputs);
    p += count;
  };
  while (p + kPoints <= n_points) next(evaluate_points<kForm, kPoints>, kPoints);
  if (n_points - p >= 4) next(evaluate_points<kForm, 4>, 4);
  if (n_points - p >= 2) next(evaluate_points<kForm, 2>, 2);
  if (n_points - p >= 1) next(evaluate_points<kForm, 1>, 1);
}

}  // namespace

void evaluate(const SupportView& support, const float* points, const float* sizes, int n_points, int n_features,
              double* f) {
  const auto by = [&] {
    switch (support.form) {
      case Form::gauss:
        return evaluate_by<Form::gauss>;
      case Form::laplace:
        return evaluate_by<Form::laplace>;
      case Form::manhattan:
        return evaluate_by<Form::manhattan>;
      case Form::laplace_differences:
        return evaluate_by<Form::laplace_differences>;
      case Form::manhattan_differences:
        return evaluate_by<Form::manhattan_differences>;
      default:
        return evaluate_by<Form::gauss_differences>;
    }
  };
  by()(support, points, sizes, n_points, n_features, f);
}

}  // namespace localsvm::LOCALSVM_LEVEL
