// Makes subnormal numbers count as zero on this thread, while the object lives.  They would slow down the solver's
// steps, where they are negligible.
#pragma once

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
#else
 public:
  NoSubnormals() {}  // processors on which subnormal numbers cost nothing
#endif
};

}  // namespace localsvm
