#include "arithmetic.h"

#include <bit>
#include <cinttypes>
#include <cstdio>

// Compiled for the plain architecture: on x86-64 the software twin.
#define LOCALSVM_LEVEL plain
#include "simd/simd.h"

namespace localsvm::check {

namespace {

uint32_t next(uint64_t& state) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(state >> 32);
}

float any_float(uint64_t& state) { return std::bit_cast<float>(next(state)); }

// Few bits and few exponents: many sums are exact, halfway between two floats, or next to that.
float simple_float(uint64_t& state) {
  const uint32_t bits = next(state);
  const float mantissa = std::bit_cast<float>(0x3f800000u | (bits & 0x00700007u));
  return std::ldexp(bits & 0x80000000u ? -mantissa : mantissa, static_cast<int>(bits >> 8 & 63) - 32);
}

// Products and sums at the end of the range, where floats are subnormal.
float tiny_float(uint64_t& state) { return std::ldexp(simple_float(state), -60); }

bool is_same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b); }

bool check(float (*make)(uint64_t&), const char* what) {
  uint64_t state = 1;
  for (int n = 0; n < 2000000; ++n) {
    alignas(64) float a[plain::W], b[plain::W], c[plain::W], found[plain::W];
    for (int i = 0; i < plain::W; ++i) a[i] = make(state), b[i] = make(state), c[i] = make(state);
    // Halfway cases: c is the product, rounded, times a power of two.
    if (n % 4 == 0) c[0] = std::ldexp(a[0] * b[0], static_cast<int>(next(state) % 60) - 30);
    plain::store(found, plain::fma(plain::load(a), plain::load(b), plain::load(c)));
    for (int i = 0; i < plain::W; ++i)
      if (const float expected = std::fma(a[i], b[i], c[i]); !is_same(found[i], expected)) {
        std::fprintf(stderr, "%s: %a %a %a: %a instead of %a\n", what, a[i], b[i], c[i], found[i], expected);
        return false;
      }
  }
  return true;
}

}  // namespace

bool check_arithmetic() {
  return check(any_float, "any numbers") && check(simple_float, "few bits") && check(tiny_float, "tiny numbers");
}

}  // namespace localsvm::check
