// One vector type per SIMD level, and arithmetic that rounds alike at every level.
//
// Results are the same to the bit at every level, as everything is rounded in the same places:
//
//   products   that are added are fused explicitly (`fma`, `fnma`), in software where the hardware cannot; compilers
//              fuse nothing by themselves (-ffp-contract=off)
//   sums       over many terms have 16 lanes, in as many vectors as that takes (`Sums`)
//   the rest   is rounded correctly by IEEE 754: + - * /, roots, conversions
//
// Included only by the sources *_level.cpp, which are compiled once per level with that level's compiler flags.
// Everything here is `static inline` inside the level's own namespace, so that no function compiled for AVX-512 can be
// chosen by the linker for a baseline caller.  For the same reason the standard library stays out of this file.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/range.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace localsvm::LOCALSVM_LEVEL {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;  // SSE2, NEON, or whatever the compiler makes of four floats
#endif

typedef float vf __attribute__((vector_size(4 * W), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * W), may_alias));
typedef double vd __attribute__((vector_size(8 * W), may_alias));
typedef float vf_unaligned __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t vi_unaligned __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef double vd_unaligned __attribute__((vector_size(8 * W), aligned(8), may_alias));

static inline vf load(const float* p) { return *reinterpret_cast<const vf_unaligned*>(p); }
static inline void store(float* p, vf v) { *reinterpret_cast<vf_unaligned*>(p) = v; }
static inline void store(uint32_t* p, vi v) { *reinterpret_cast<vi_unaligned*>(p) = v; }
static inline void store(int32_t* p, vi v) { *reinterpret_cast<vi_unaligned*>(p) = v; }
static inline vd load(const double* p) { return *reinterpret_cast<const vd_unaligned*>(p); }
static inline vi load(const uint32_t* p) { return *reinterpret_cast<const vi_unaligned*>(p); }
static inline vf splat(float x) { return x - vf{}; }
static inline vi splat(int32_t x) { return x - vi{}; }

// Doubles that fill one register.
typedef double half_vd __attribute__((vector_size(4 * W), may_alias));
typedef double half_vd_unaligned __attribute__((vector_size(4 * W), aligned(8), may_alias));
typedef float half_vf_unaligned __attribute__((vector_size(2 * W), aligned(4), may_alias));
static inline half_vd load_half(const double* p) { return *reinterpret_cast<const half_vd_unaligned*>(p); }
static inline void store_half(double* p, half_vd v) { *reinterpret_cast<half_vd_unaligned*>(p) = v; }
static inline half_vd widen_half(const float* p) {
  // GCC 12 would convert two at a time.
#if defined(__AVX512F__)
  return (half_vd)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__AVX2__)
  return (half_vd)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  return __builtin_convertvector(*reinterpret_cast<const half_vf_unaligned*>(p), half_vd);
#endif
}

// The lanes of the first half and of the second, as doubles.
static inline half_vd widen_first(vf v) {
#if defined(__AVX512F__)
  return (half_vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
#elif defined(__AVX2__)
  return (half_vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
#else
  return half_vd{v[0], v[1]};
#endif
}
static inline half_vd widen_second(vf v) {
#if defined(__AVX512F__)
  return (half_vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
#elif defined(__AVX2__)
  return (half_vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#else
  return half_vd{v[2], v[3]};
#endif
}

// W doubles as floats.
static inline vf narrow(const double* p) {
#if defined(__AVX512F__)
  const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_loadu_pd(p)));
  return (vf)_mm512_insertf32x8(low, _mm512_cvtpd_ps(_mm512_loadu_pd(p + 8)), 1);
#elif defined(__AVX2__)
  return (vf)_mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(p + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(p)));
#else
  return __builtin_convertvector(load(p), vf);
#endif
}

static inline vi lanes() {
  vi v;
  for (int i = 0; i < W; ++i) v[i] = i;
  return v;
}

#if defined(__AVX512F__)
static inline vf vmax(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
static inline vf vmin(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
static inline vi vmax(vi a, vi b) { return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b); }
static inline vf vsqrt(vf a) { return (vf)_mm512_sqrt_ps((__m512)a); }
#elif defined(__AVX2__)
static inline vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
static inline vf vmin(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
static inline vi vmax(vi a, vi b) { return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b); }
static inline vf vsqrt(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
#elif defined(__SSE2__)
static inline vf vmax(vf a, vf b) { return (vf)_mm_max_ps((__m128)a, (__m128)b); }
static inline vf vmin(vf a, vf b) { return (vf)_mm_min_ps((__m128)a, (__m128)b); }
static inline vi vmax(vi a, vi b) {
  vi greater = a > b;
  return (a & greater) | (b & ~greater);
}
static inline vf vsqrt(vf a) { return (vf)_mm_sqrt_ps((__m128)a); }
#else
static inline vf vmax(vf a, vf b) { return a > b ? a : b; }
static inline vf vmin(vf a, vf b) { return a < b ? a : b; }
static inline vi vmax(vi a, vi b) { return a > b ? a : b; }
static inline vf vsqrt(vf a) {
#if defined(__ARM_NEON)
  return (vf)vsqrtq_f32((float32x4_t)a);
#else
  for (int i = 0; i < W; ++i) a[i] = sqrtf(a[i]);
  return a;
#endif
}
#endif

// a b + c, rounded once.
#if defined(__AVX512F__)
static inline vf fma(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
static inline vf fnma(vf a, vf b, vf c) { return (vf)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(__FMA__)
static inline vf fma(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
static inline vf fnma(vf a, vf b, vf c) { return (vf)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#elif defined(__ARM_NEON)
static inline vf fma(vf a, vf b, vf c) { return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
static inline vf fnma(vf a, vf b, vf c) { return (vf)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
#else
// The product is exact in double.  Where the sum is not, it is rounded to odd (Boldo, Melquiond 2008): towards zero,
// with the last bit set.  Then rounding it to float rounds the exact sum.
static inline float fma_rounded_to_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double of_c = sum - product, error = (product - (sum - of_c)) + (c - of_c);
  int64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (error > 0 || error < 0) bits = (bits - ((error > 0) != (sum > 0))) | 1;
  double odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return static_cast<float>(odd);
}
// Not inlined: it is as rare as it is long.
[[gnu::noinline, gnu::cold]] static vf fma_of_lanes(vf a, vf b, vf c) {
  vf rounded;
  for (int i = 0; i < W; ++i) rounded[i] = fma_rounded_to_odd(a[i], b[i], c[i]);
  return rounded;
}
// Rounding twice, to double and to float, differs from rounding once only if the double is halfway between two floats,
// or the float is subnormal.  Unrolled loops call it: inlined, they would take minutes to compile.
[[gnu::noinline, maybe_unused]] static vf fma(vf a, vf b, vf c) {
  typedef int32_t words __attribute__((vector_size(8 * W), may_alias));
  const vd sum = __builtin_convertvector(a, vd) * __builtin_convertvector(b, vd) + __builtin_convertvector(c, vd);
  const vf rounded = __builtin_convertvector(sum, vf);
  constexpr int kLow = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 1;
  const words low = (words)sum & 0x1fffffff;
  const vi size = (vi)rounded & 0x7fffffff, is_small = (size > 0) & (size <= 0x00800000);
  int32_t doubtful = 0;
  for (int i = 0; i < W; ++i) doubtful |= is_small[i] | (low[2 * i + kLow] == 0x10000000);
  return __builtin_expect(doubtful != 0, 0) ? fma_of_lanes(a, b, c) : rounded;
}
static inline vf fnma(vf a, vf b, vf c) { return fma(-a, b, c); }
#endif
static inline vf fma(float a, vf b, vf c) { return fma(splat(a), b, c); }
static inline vf fnma(float a, vf b, vf c) { return fnma(splat(a), b, c); }

// a b + c and c - a b, where a b is exact, as for floats in doubles.
static inline half_vd add_product(half_vd a, half_vd b, half_vd c) {
#if defined(__AVX512F__)
  return (half_vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (half_vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}
static inline half_vd subtract_product(half_vd a, half_vd b, half_vd c) {
#if defined(__AVX512F__)
  return (half_vd)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (half_vd)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return c - a * b;
#endif
}

static inline int32_t max_lane(vi v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_epi32((__m512i)v);
#elif defined(__AVX2__)
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return _mm_cvtsi128_si32(m);
#else
  int32_t lane[W];
  store(lane, v);
  int32_t largest = lane[0];
  for (int i = 1; i < W; ++i) largest = lane[i] > largest ? lane[i] : largest;
  return largest;
#endif
}

// Bit l is set where lane l of a comparison is true.
static inline uint32_t bits_of(vi comparison) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)comparison);
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)comparison);
#elif defined(__SSE2__)
  return _mm_movemask_ps((__m128)comparison);
#else
  uint32_t bits = 0;
  for (int i = 0; i < W; ++i) bits |= comparison[i] ? 1u << i : 0u;
  return bits;
#endif
}

// Bit l is set where lanes l are not equal.
static inline uint32_t where_different(half_vd a, half_vd b) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_NEQ_UQ);
#elif defined(__AVX2__)
  return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_NEQ_UQ));
#else
  uint32_t bits = 0;
  for (int i = 0; i < W / 2; ++i) bits |= a[i] != b[i] ? 1u << i : 0u;
  return bits;
#endif
}

// Appends first + b to the `count` indices for every bit b; returns the new count.
static inline int append_bits(uint32_t bits, int first, int32_t* indices, int count) {
  for (; bits != 0; bits &= bits - 1) indices[count++] = first + __builtin_ctz(bits);
  return count;
}

// p[index[lane]] in every lane.  Processors gather slower than they load.
template <typename T>
static inline vf gather_bits(const T* p, const int32_t* index) {
  typedef float bits __attribute__((may_alias));
  const bits* const at = reinterpret_cast<const bits*>(p);
#if defined(__AVX512F__)
  __m128 fours[4];
  for (int q = 0; q < 4; ++q, index += 4) {
    fours[q] = _mm_insert_ps(_mm_set_ss(at[index[0]]), _mm_set_ss(at[index[1]]), 0x10);
    fours[q] = _mm_insert_ps(fours[q], _mm_set_ss(at[index[2]]), 0x20);
    fours[q] = _mm_insert_ps(fours[q], _mm_set_ss(at[index[3]]), 0x30);
  }
  const __m256 low = _mm256_set_m128(fours[1], fours[0]), high = _mm256_set_m128(fours[3], fours[2]);
  return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
  vf v;
  for (int i = 0; i < W; ++i) v[i] = at[index[i]];
  return v;
#endif
}
static inline vf gather(const float* p, const int32_t* index) { return gather_bits(p, index); }
static inline vi gather(const uint32_t* p, const int32_t* index) { return (vi)gather_bits(p, index); }

// For loops over sums that are to stay in registers: a compiler that unrolls them late leaves the sums in memory.
#define LOCALSVM_UNROLL _Pragma("GCC unroll 16")

// Keeps GCC from loading a vector again if it is used several times.
template <int times>
static inline vf used(vf loaded) {
#if defined(__SSE2__)
  if (times > 1) asm("" : "+x"(loaded));
#endif
  return loaded;
}

typedef uint32_t vu __attribute__((vector_size(4 * W), may_alias));

// Packed slack, as in slack.h: of l <= 0 <= u.
static inline vi packed_slack(vf l, vf u) {
  return (vi)((((vu)u + 0xffffu) & 0xffff0000u) | ((((vu)l & 0x7fffffffu) + 0xffffu) >> 16));
}
// Keeps GCC from reading a value again from memory for each of its uses.
static inline vi loaded_once(vi v) {
#if defined(__SSE2__)
  asm("" : "+v"(v));
#endif
  return v;
}
static inline vf lower_slack(vi word) { return (vf)(word << 16 | (int32_t)0x80000000); }
static inline vf upper_slack(vi word) { return (vf)(word & (int32_t)0xffff0000); }
static inline vf select(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }
// The slack on the side of r, at most 1/64 too large: the bits of the other side stay below it, where they are a
// subnormal number if this slack is zero, and negligible if not.
static inline vf slack_toward(vi word, vf r) {
#if defined(__AVX512F__)
  const __mmask16 down = _mm512_movepi32_mask((__m512i)r);
  return (vf)_mm512_mask_rol_epi32((__m512i)word, down, (__m512i)word, 16);
#elif defined(__AVX2__)
  const __m128i swap = _mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  const __m256i swapped = _mm256_shuffle_epi8((__m256i)word, _mm256_broadcastsi128_si256(swap));
  return (vf)_mm256_blendv_ps((__m256)word, (__m256)swapped, (__m256)r);
#else
  const vi down = (vi)r >> 31, swapped = word << 16 | (vi)((vu)word >> 16);
  return select(down, (vf)swapped, (vf)word);
#endif
}

static inline vf vabs(vf v) { return (vf)((vi)v & 0x7fffffff); }
static inline vf clamp(vf x, vf low, vf high) { return vmin(vmax(x, low), high); }

// Sixteen sums side by side: lane l has the terms l, l + 16, l + 32, ...  They are added to one another in the order of
// one tree, lane l to lane l + 8, then l + 4, and so on.
constexpr int kParts = kPad / W;
struct Sums {
  vf part[kParts] = {};
};

// The sum of the lanes of a part, and of a vector of doubles.
static inline double sum(half_vd v) {
#if defined(__AVX512F__)
  const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256((__m512d)v), _mm512_extractf64x4_pd((__m512d)v, 1));
#elif defined(__AVX2__)
  const __m256d four = (__m256d)v;
#endif
#if defined(__AVX2__)
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return two[0] + two[1];
#else
  return v[0] + v[1];
#endif
}

// Adds up vectors that have the lanes 0 .. N W/2 - 1 of a sum; N is a power of two.
template <int N>
static inline double sum(half_vd* v) {
  for (int half = N / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v[i] += v[i + half];
  return sum(v[0]);
}

static inline double sum(const Sums& sums) {
  if constexpr (kParts == 1) return sum(widen_first(sums.part[0]) + widen_second(sums.part[0]));
  half_vd eight[kParts];
  for (int p = 0; p < kParts / 2; ++p) {
    const vf low = sums.part[p], high = sums.part[p + kParts / 2];
    eight[2 * p] = widen_first(low) + widen_first(high);
    eight[2 * p + 1] = widen_second(low) + widen_second(high);
  }
  return sum<kParts>(eight);
}

// Four floats, lane l the sum of the lanes l, l + 4, l + 8 and l + 12.
typedef float four_floats __attribute__((vector_size(16), may_alias));
typedef float four_floats_unaligned __attribute__((vector_size(16), aligned(4), may_alias));
static inline four_floats load_four(const float* p) { return *reinterpret_cast<const four_floats_unaligned*>(p); }
static inline four_floats four_sums(Sums sums) {
  for (int half = kParts / 2; half > 0; half /= 2)
    for (int p = 0; p < half; ++p) sums.part[p] += sums.part[p + half];
#if defined(__AVX512F__)
  const __m512 v = (__m512)sums.part[0];
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
#elif defined(__AVX2__)
  const __m256 eight = (__m256)sums.part[0];
#endif
#if defined(__AVX2__)
  return (four_floats)_mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
  return (four_floats)sums.part[0];
#endif
}

static inline float sum_in_float(const Sums& sums) {
  const four_floats four = four_sums(sums);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// sums[i] += the sum of the eight lanes of the i-th of four rows.
static inline void add_sums(const float* rows, float* sums) {
  const auto four = [&](int i) { return load_four(rows + 8 * i) + load_four(rows + 8 * i + 4); };
#if defined(__SSE2__)
  __m128 a = (__m128)four(0), b = (__m128)four(1), c = (__m128)four(2), d = (__m128)four(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(sums, _mm_add_ps(_mm_loadu_ps(sums), _mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d))));
#else
  for (int i = 0; i < 4; ++i) sums[i] += (four(i)[0] + four(i)[1]) + (four(i)[2] + four(i)[3]);
#endif
}

// 2^x for x <= 0, relative error below 2e-7; zero below -125.5, so that no value is subnormal, and 2^0 = 1.
//
//   2^x = 2^(n-1) * 2 * 2^r,   n = round(x), |r| <= 1/2, 2 * 2^r by a polynomial of degree 5
//
// Adding `magic` rounds x to an integer and leaves n + 126 in the last bits of the sum, which are the exponent of
// 2^(n-1), or of 0 if n is -126.
static inline vf exp2_nonpositive(vf x) {
  const vf magic = splat(12582912.0f + 126.0f);  // 1.5 * 2^23 + 126
  x = vmax(x, splat(-126.0f));
  const vf shifted = x + magic;
  const vf r = x - (shifted - magic);
  vf p = splat(2.6529455e-3f);
  p = fma(p, r, splat(1.9343026e-2f));
  p = fma(p, r, splat(1.1101467e-1f));
  p = fma(p, r, splat(4.8044485e-1f));
  p = fma(p, r, splat(1.3862940f));
  p = fma(p, r, splat(2.0f));
  return p * (vf)((vi)shifted << 23);
}

}  // namespace localsvm::LOCALSVM_LEVEL
