// The loops between two lams of a path (solver.h), for one SIMD level.  Compiled once per level like ops_level.cpp.
#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"

namespace localsvm::LOCALSVM_LEVEL {

void set_slack(const LoopArrays& loop, Range range) {
  for (int i = range.begin; i < range.end; i += W) {
    const vf beta = load(loop.beta + i);
    store(loop.slack + i, packed_slack(load(loop.lo + i) - beta, load(loop.hi + i) - beta));
  }
}

int find_bound_changes(const LoopArrays& loop, const BoundArrays& at, Range range, int32_t* changed, float* units) {
  int count = 0;
  for (int i = range.begin; i < range.end; i += W) {
    const vf beta = load(loop.beta + i);
    const vi at_hi = beta == load(loop.hi + i), at_lo = beta == load(loop.lo + i), nonzero = beta != vf{};
    const vf unit = (vf)(((at_hi & (vi)load(at.unit_hi + i)) | (at_lo & (vi)load(at.unit_lo + i))) & nonzero);
    const int before = count;
    count = append_bits(bits_of(unit != load(at.unit + i)), i, changed, count);
    for (int c = before; c < count; ++c) units[c] = unit[changed[c] - i];
  }
  return count;
}

// Products with `growth`, which is no float, are rounded.
void shift_bounds(const LoopArrays& loop, const BoundArrays& at, float scale, double growth, Range range) {
  for (int i = range.begin; i < range.end; i += W) {
    const vf unit = load(at.unit + i);
    store(loop.beta + i, select(unit == vf{}, load(loop.beta + i), scale * unit));
    double shifted[W];
    for (int h = 0; h < W; h += W / 2) {
      const half_vd move = growth * widen_half(at.unit + i + h), shift = growth * load_half(at.f + i + h);
      store_half(at.base + i + h, load_half(at.base + i + h) + move);
      store_half(at.start + i + h, load_half(at.start + i + h) + move);
      store_half(at.base_r + i + h, load_half(at.base_r + i + h) - shift);
      store_half(shifted + h, widen_half(loop.r + i + h) - shift);
    }
    store(loop.r + i, narrow(shifted));
  }
}

int find_moved(const float* beta, const double* accounted, Range range, int32_t* moved) {
  int count = 0;
  for (int i = range.begin; i < range.end; i += W / 2)
    count = append_bits(where_different(widen_half(beta + i), load_half(accounted + i)), i, moved, count);
  return count;
}

}  // namespace localsvm::LOCALSVM_LEVEL
