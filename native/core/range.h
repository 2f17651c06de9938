// Ranges of rows and columns, and the padding of arrays to whole vectors.
#pragma once

#include <cstddef>

namespace localsvm {

constexpr int kPad = 16;  // floats; a multiple of every SIMD level's vector width

inline size_t padded(size_t n) { return (n + kPad - 1) / kPad * kPad; }

// Half-open.  Most loops of ops.h ask for ends that are multiples of kPad.
struct Range {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  Range padded() const { return {begin / kPad * kPad, (end + kPad - 1) / kPad * kPad}; }
};

}  // namespace localsvm
