// The loops of extrapolation steps (extrapolation.h), for one SIMD level.  Compiled once per level like ops_level.cpp.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {

namespace {
constexpr int kFloats = 512;  // entries that are summed in float; longer sums are in double
inline int end_of(int block, Range range) { return block + kFloats < range.end ? block + kFloats : range.end; }
}  // namespace

PlaneSums plane_sums(const float* beta, const float* r, const ExtrapolationArrays& at, Range range) {
  PlaneSums sums;
  for (int block = range.begin; block < range.end; block += kFloats) {
    vf dKd = {}, dKp = {}, pKp = {}, dr = {}, pr = {};
    for (int i = block; i < end_of(block, range); i += W) {
      const vf ri = load(r + i), d = load(beta + i) - load(at.from_beta + i), g = ri - load(at.from_r + i);
      const vf p = load(at.p + i), q = load(at.q + i);
      dKd -= d * g;
      dKp -= d * q;
      pKp -= p * q;
      dr += d * ri;
      pr += p * ri;
    }
    sums.dKd += sum(dKd);
    sums.dKp += sum(dKp);
    sums.pKp += sum(pKp);
    sums.dr += sum(dr);
    sums.pr += sum(pr);
  }
  return sums;
}

int point_of_plane(const LoopArrays& loop, const ExtrapolationArrays& at, float x, float y, Range range, float* point,
                   double* change, int32_t* clipped) {
  int n_clipped = 0;
  for (int i = range.begin; i < range.end; i += W) {
    const vf beta = load(loop.beta + i);
    const vf carry = load(at.carry + i), lo = load(loop.lo + i), hi = load(loop.hi + i);
    const vf move = x * (beta - load(at.from_beta + i)) + y * load(at.p + i);
    const vf end = beta + move, inside = clamp(end, lo, hi);
    const vi is_outside = inside != end, moves = move != vf{};
    const vf exact = carry + move, rounded = clamp(beta + exact, lo, hi);
    store(point + i, select(moves & ~is_outside, rounded, inside));
    store(at.next_carry + i, select(moves & ~is_outside, exact - (rounded - beta), carry));
    const vf change_of_r = x * (load(loop.r + i) - load(at.from_r + i)) + y * load(at.q + i);
    store_half(change + i, widen_first(change_of_r));
    store_half(change + i + W / 2, widen_second(change_of_r));
    n_clipped = append_bits(bits_of(is_outside), i, clipped, n_clipped);
  }
  return n_clipped;
}

ChordSums chord_sums(const float* beta, const float* r, const float* point, const double* change, Range range) {
  ChordSums sums;
  for (int block = range.begin; block < range.end; block += kFloats) {
    vf slope = {}, curvature = {};
    for (int i = block; i < end_of(block, range); i += W) {
      const vf chord = load(point + i) - load(beta + i);
      slope += chord * load(r + i);
      curvature -= chord * narrow(change + i);
    }
    sums.slope += sum(slope);
    sums.curvature += sum(curvature);
  }
  return sums;
}

double apply_extrapolation(const LoopArrays& loop, const float* point, const double* change, float fraction,
                           const ExtrapolationArrays& at, Range range) {
  vf squares = {};
  for (int i = range.begin; i < range.end; i += W) {
    const vf beta = load(loop.beta + i), r = load(loop.r + i), carry = load(at.carry + i);
    vf next = beta, next_r = r, next_carry = carry;
    if (fraction > 0) {
      next = load(point + i);
      next_carry = load(at.next_carry + i);
      // A full step ends at the point itself, so that clipped coordinates are exactly at their bound.
      if (fraction < 1) {
        const vf end = next, move = carry + fraction * (end - beta + (next_carry - carry));
        const vi moves = (end != beta) | (next_carry != carry);
        next = select(moves, clamp(beta + move, load(loop.lo + i), load(loop.hi + i)), beta);
        next_carry = select(moves, move - (next - beta), carry);
      }
      next_r = r + fraction * narrow(change + i);
      store(loop.beta + i, next);
      store(loop.r + i, next_r);
      store(loop.slack + i, packed_slack(load(loop.lo + i) - next, load(loop.hi + i) - next));
      store(at.carry + i, next_carry);
      squares += (next - beta) * (next - beta);
    }
    store(at.p + i, next - load(at.from_beta + i) + (next_carry - carry));
    store(at.q + i, next_r - load(at.from_r + i));
    store(at.from_beta + i, next);
    store(at.from_r + i, next_r);
  }
  return sum(squares);
}

}  // namespace localsvm::LOCALSVM_LEVEL
