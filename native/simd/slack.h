// Slack of a coordinate: its distances to the lower and the upper bound of its box, packed into 32 bits.
//
//   word = [ hi - beta : 16 bits | beta - lo : 16 bits ],   two bfloat16 numbers, rounded up
//
// A sweep reads one word instead of two floats.  The packed slack is too large by at most 1/128, and zero stays zero.
// A step chosen by it is clipped to the exact box when it is made.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace localsvm {

inline uint32_t rounded_up(float slack) { return (std::bit_cast<uint32_t>(slack) + 0xffffu) >> 16; }
// l = lo - beta <= 0 <= u = hi - beta
inline uint32_t pack_slack(float l, float u) { return rounded_up(u) << 16 | rounded_up(std::fabs(l)); }
inline float slack_below(uint32_t word) { return -std::bit_cast<float>(word << 16); }
inline float slack_above(uint32_t word) { return std::bit_cast<float>(word & 0xffff0000u); }

}  // namespace localsvm
