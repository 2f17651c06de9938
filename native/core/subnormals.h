// Makes subnormal numbers count as zero on this thread, while the object lives.  They would slow down the solver's
// steps, where they are negligible.
//
// x86 decides whether a result is subnormal after rounding it, ARM before: they differ where rounding ends at the
// smallest normal number, 2^-126, exactly.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace localsvm {

class NoSubnormals {
#if defined(__SSE2__)
 public:
  NoSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlush | kAreZero); }
  NoSubnormals(const NoSubnormals&) = delete;
  NoSubnormals& operator=(const NoSubnormals&) = delete;
  ~NoSubnormals() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlush = 0x8000, kAreZero = 0x0040;  // results, operands
  const unsigned before_;
#elif defined(__aarch64__)
 public:
  NoSubnormals() : before_(control()) { set_control(before_ | kFlush); }
  NoSubnormals(const NoSubnormals&) = delete;
  NoSubnormals& operator=(const NoSubnormals&) = delete;
  ~NoSubnormals() { set_control(before_); }

 private:
  static uint64_t control() {
    uint64_t bits;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void set_control(uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // operands and results
  const uint64_t before_;
#else
 public:
  NoSubnormals() {}  // processors without such a mode: models may differ from those of others in the last bits
#endif
};

}  // namespace localsvm
