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
    Sums dKd, dKp, pKp, dr, pr;
    for (int first = block; first < end_of(block, range); first += kPad)
      LOCALSVM_UNROLL for (int v = 0; v < kParts; ++v) {
        const int i = first + v * W;
        const vf ri = load(r + i), d = load(beta + i) - load(at.from_beta + i), g = ri - load(at.from_r + i);
        const vf p = load(at.p + i), q = load(at.q + i);
        dKd.part[v] = fnma(d, g, dKd.part[v]);
        dKp.part[v] = fnma(d, q, dKp.part[v]);
        pKp.part[v] = fnma(p, q, pKp.part[v]);
        dr.part[v] = fma(d, ri, dr.part[v]);
        pr.part[v] = fma(p, ri, pr.part[v]);
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
    const vf move = fma(x, beta - load(at.from_beta + i), y * load(at.p + i));
    const vf end = beta + move, inside = clamp(end, lo, hi);
    const vi is_outside = inside != end, moves = move != vf{};
    const vf exact = carry + move, rounded = clamp(beta + exact, lo, hi);
    store(point + i, select(moves & ~is_outside, rounded, inside));
    store(at.next_carry + i, select(moves & ~is_outside, exact - (rounded - beta), carry));
    const vf change_of_r = fma(x, load(loop.r + i) - load(at.from_r + i), y * load(at.q + i));
    store_half(change + i, widen_first(change_of_r));
    store_half(change + i + W / 2, widen_second(change_of_r));
    n_clipped = append_bits(bits_of(is_outside), i, clipped, n_clipped);
  }
  return n_clipped;
}

ChordSums chord_sums(const float* beta, const float* r, const float* point, const double* change, Range range) {
  ChordSums sums;
  for (int block = range.begin; block < range.end; block += kFloats) {
    Sums slope, curvature;
    for (int first = block; first < end_of(block, range); first += kPad)
      LOCALSVM_UNROLL for (int v = 0; v < kParts; ++v) {
        const int i = first + v * W;
        const vf chord = load(point + i) - load(beta + i);
        slope.part[v] = fma(chord, load(r + i), slope.part[v]);
        curvature.part[v] = fnma(chord, narrow(change + i), curvature.part[v]);
      }
    sums.slope += sum(slope);
    sums.curvature += sum(curvature);
  }
  return sums;
}

namespace {

// Moves one vector of coordinates; returns by how much.
inline vf apply_at(const LoopArrays& loop, const float* point, const double* change, float fraction,
                   const ExtrapolationArrays& at, int i) {
  const vf beta = load(loop.beta + i), r = load(loop.r + i), carry = load(at.carry + i);
  vf next = beta, next_r = r, next_carry = carry;
  if (fraction > 0) {
    next = load(point + i);
    next_carry = load(at.next_carry + i);
    // A full step ends at the point itself, so that clipped coordinates are exactly at their bound.
    if (fraction < 1) {
      const vf end = next, move = fma(fraction, end - beta + (next_carry - carry), carry);
      const vi moves = (end != beta) | (next_carry != carry);
      next = select(moves, clamp(beta + move, load(loop.lo + i), load(loop.hi + i)), beta);
      next_carry = select(moves, move - (next - beta), carry);
    }
    next_r = fma(fraction, narrow(change + i), r);
    store(loop.beta + i, next);
    store(loop.r + i, next_r);
    store(loop.slack + i, packed_slack(load(loop.lo + i) - next, load(loop.hi + i) - next));
    store(at.carry + i, next_carry);
  }
  store(at.p + i, next - load(at.from_beta + i) + (next_carry - carry));
  store(at.q + i, next_r - load(at.from_r + i));
  store(at.from_beta + i, next);
  store(at.from_r + i, next_r);
  return next - beta;
}

}  // namespace

double apply_extrapolation(const LoopArrays& loop, const float* point, const double* change, float fraction,
                           const ExtrapolationArrays& at, Range range) {
  Sums squares;
  for (int first = range.begin; first < range.end; first += kPad)
    for (int v = 0; v < kParts; ++v) {
      const vf moved = apply_at(loop, point, change, fraction, at, first + v * W);
      squares.part[v] = fma(moved, moved, squares.part[v]);
    }
  return sum(squares);
}

}  // namespace localsvm::LOCALSVM_LEVEL
