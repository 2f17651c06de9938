// One vector type per SIMD level.
//
// Included only by the sources *_level.cpp, which are compiled once per level with that level's compiler flags.
// Everything here is `static inline` inside the level's own namespace, so that no function compiled for AVX-512 can be
// chosen by the linker for a baseline caller.  For the same reason the standard library stays out of this file.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
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
  for (int i = 0; i < W; ++i) a[i] = sqrtf(a[i]);
  return a;
}
#endif

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
static inline vf gather(const float* p, const int32_t* index) {
#if defined(__AVX512F__)
  __m128 fours[4];
  for (int q = 0; q < 4; ++q, index += 4) {
    fours[q] = _mm_insert_ps(_mm_load_ss(p + index[0]), _mm_load_ss(p + index[1]), 0x10);
    fours[q] = _mm_insert_ps(fours[q], _mm_load_ss(p + index[2]), 0x20);
    fours[q] = _mm_insert_ps(fours[q], _mm_load_ss(p + index[3]), 0x30);
  }
  const __m256 low = _mm256_set_m128(fours[1], fours[0]), high = _mm256_set_m128(fours[3], fours[2]);
  return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#elif defined(__AVX2__)
  return vf{p[index[0]], p[index[1]], p[index[2]], p[index[3]], p[index[4]], p[index[5]], p[index[6]], p[index[7]]};
#else
  return vf{p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
#endif
}

static inline vi gather(const uint32_t* p, const int32_t* index) {
  return (vi)gather(reinterpret_cast<const float*>(p), index);
}

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

#if defined(__SSE2__)
// Sums of the lanes that are equal modulo four.
static inline __m128 four_sums(vf v) {
#if defined(__AVX512F__)
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#elif defined(__AVX2__)
  return _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
#else
  return (__m128)v;
#endif
}
#endif

// sums[i] += all lanes of the i-th of four vectors.
static inline void add_sums(const float* vectors, float* sums) {
#if defined(__SSE2__)
  __m128 a = four_sums(load(vectors)), b = four_sums(load(vectors + W));
  __m128 c = four_sums(load(vectors + 2 * W)), d = four_sums(load(vectors + 3 * W));
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(sums, _mm_add_ps(_mm_loadu_ps(sums), _mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d))));
#else
  for (int i = 0; i < 4; ++i)
    for (int lane = 0; lane < W; ++lane) sums[i] += vectors[i * W + lane];
#endif
}

static inline double sum(half_vd v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_pd((__m512d)v);
#else
  double s = 0;
  for (int i = 0; i < W / 2; ++i) s += v[i];
  return s;
#endif
}
static inline double sum(vf v) { return sum(widen_first(v) + widen_second(v)); }
static inline float sum_in_float(vf v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#else
  float s = 0;
  for (int i = 0; i < W; ++i) s += v[i];
  return s;
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
  p = p * r + 1.9343026e-2f;
  p = p * r + 1.1101467e-1f;
  p = p * r + 4.8044485e-1f;
  p = p * r + 1.3862940f;
  p = p * r + 2.0f;
  return p * (vf)((vi)shifted << 23);
}

}  // namespace localsvm::LOCALSVM_LEVEL
