// How far a coordinate may go down and up before it meets its box, in one word.
//
//   word = [ u : 16 bits | -l : 16 bits ],  l <= 0 <= u, the upper halves of two floats, rounded up
//
// A sweep reads a word where it would read two floats.  What is rounded is at most a 128th too large, and zero stays zero:
// who moves by it goes on to the bound, not beyond.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace localsvm {

inline uint32_t half_of_room(float room) { return (std::bit_cast<uint32_t>(room) + 0xffffu) >> 16; }
inline uint32_t pack_slack(float l, float u) { return half_of_room(u) << 16 | half_of_room(std::fabs(l)); }
inline float slack_below(uint32_t word) { return -std::bit_cast<float>(word << 16); }
inline float slack_above(uint32_t word) { return std::bit_cast<float>(word & 0xffff0000u); }

}  // namespace localsvm
