// The loops of the solver's steps (steps.h), for one SIMD level.  Compiled once per level like ops_level.cpp.
//
// A sweep does two things in one pass over r:
//
//   update   r -= di K_i + dj K_j, the pending step, on all training coordinates
//   score    |r| min(slack, cap) on one half of them, and find the largest: the coordinate of the next step
//
// The halves consist of groups of 64 coordinates and alternate from sweep to sweep, so that a sweep reads the slack of
// only half of the coordinates.  The rest of a range, less than two groups, belongs to both:
//
//   coordinates    0 ..... 63   64 ... 127   128 .. 191   192 .. 255   256 .. rest
//   half 0       |   score    |  update    |   score    |  update    |   score    |
//   half 1       |  update    |   score    |  update    |   score    |   score    |
//   gap sum      |####        |            |####        |            |############|    half 0 only, slack without cap
//
// In the gap sum the first 16 coordinates of a scored group stand for two groups: they count 128 / 16 times.
//
// A score and its coordinate are one integer, the key, so that one maximum finds both:
//
//   bit     31   30 ............. index_bits   index_bits - 1 .. 0
//         [ 0  | upper bits of the score     | index               ]    non-negative floats order as integers
//
// Each lane of four vectors keeps its own largest key; the lanes are compared at the end.  The ranges are swept in
// order:
//
//   [ rows before the validation fold ][ rows after it: three quarters ^ last quarter ]
//
// At ^ the neighbours of the coordinate with the largest key so far are prefetched, as it is likely to win.
#include <limits>

#include "simd/level.h"
#include "simd/ops.h"
#include "simd/simd.h"
#include "simd/slack.h"

namespace localsvm::LOCALSVM_LEVEL {

namespace {

// A sweep, with its constants in all lanes.
struct SweepVectors {
  explicit SweepVectors(const Sweep& s)
      : sweep(s),
        di(splat(s.di)),
        dj(splat(s.dj)),
        slack_cap(splat(s.slack_cap)),
        score_bits(splat(static_cast<int32_t>((~0u << s.index_bits) & 0x7fffffffu))) {}
  const Sweep sweep;
  const vf di, dj, slack_cap;
  const vi score_bits;  // of a key
};

constexpr int kAtOnce = 4;        // vectors
constexpr int kGroup = 4 * kPad;  // coordinates, at every level

// Results of a sweep so far: the largest keys, and the gap sums of the first kPad coordinates of each group and of the
// rest.
struct Found {
  vi best[kAtOnce] = {};
  Sums of_groups, of_rest;

  int32_t largest_key() const {
    vi largest = best[0];
    for (int v = 1; v < kAtOnce; ++v) largest = vmax(largest, best[v] + v * W);
    return max_lane(largest);
  }
  float open_gap() const {
    Sums all;
    for (int v = 0; v < kParts; ++v) all.part[v] = fma(2 * kGroup / kPad, of_groups.part[v], of_rest.part[v]);
    return sum_in_float(all);
  }
};

inline vf update(const SweepVectors& all, int i) {
  const Sweep& sweep = all.sweep;
  const vf r = fnma(all.dj, load(sweep.row_j + i), fnma(all.di, load(sweep.row_i + i), load(sweep.r + i)));
  store(sweep.r + i, r);
  return r;
}

// V vectors from i on; the first kSummed are in the gap sum.  Each has its own largest keys, all with the indices of
// the first vector; `largest_key` adds the offsets.
template <int V, int kSummed>
inline void update_and_score(const SweepVectors& all, int i, vi* best, Sums& sums) {
  const vi id = lanes() + i;
  for (int v = 0; v < V; ++v) {
    const vf r = update(all, i + v * W);
    const vf ahead = slack_toward(loaded_once(load(all.sweep.slack + i + v * W)), r);
    best[v] = vmax(best[v], ((vi)(r * vmin(ahead, all.slack_cap)) & all.score_bits) | id);
    if (v < kSummed) sums.part[v] = fma(vabs(r), ahead, sums.part[v]);
  }
}

inline void update_group(const SweepVectors& all, int i) {
  for (int c = 0; c < kGroup; c += W) update(all, i + c);
}

template <int kSummed>
inline void update_and_score_group(const SweepVectors& all, int i, Found& found) {
  update_and_score<kAtOnce, kSummed>(all, i, found.best, found.of_groups);
  for (int c = kAtOnce * W; c < kGroup; c += kAtOnce * W)
    update_and_score<kAtOnce, 0>(all, i + c, found.best, found.of_groups);
}

template <int kHalf>
inline void sweep_range(const SweepVectors& all, Range range, Found& found) {
  constexpr int kSummed = kHalf == 0 ? kParts : 0;
  int i = range.begin;
  for (; i + 2 * kGroup <= range.end; i += 2 * kGroup) {
    for (int c = 0; c < 2 * kGroup; c += 2 * kPad) {
      __builtin_prefetch(all.sweep.row_i + i + c + kAhead);
      __builtin_prefetch(all.sweep.row_j + i + c + kAhead);
    }
    if (kHalf == 1) update_group(all, i);
    update_and_score_group<kSummed>(all, i + kHalf * kGroup, found);
    if (kHalf == 0) update_group(all, i + kGroup);
  }
  for (; i < range.end; i += kPad) update_and_score<kParts, kSummed>(all, i, found.best, found.of_rest);
}

inline void prefetch(const Near& near) {
  for (size_t byte = 0; byte < sizeof near; byte += 64) __builtin_prefetch(reinterpret_cast<const char*>(&near) + byte);
}

template <int kHalf>
Scan update_and_scan_half(const Sweep& sweep, const Range* ranges, int n_ranges) {
  const SweepVectors all(sweep);
  Found found;
  for (int number = 0; number + 1 < n_ranges; ++number) sweep_range<kHalf>(all, ranges[number], found);
  const Range last = ranges[n_ranges - 1];
  const int quarter = (last.size() / 4 + kGroup) / (2 * kGroup) * (2 * kGroup);
  sweep_range<kHalf>(all, {last.begin, last.end - quarter}, found);
  prefetch(sweep.near[found.largest_key() & ((1 << sweep.index_bits) - 1)]);
  sweep_range<kHalf>(all, {last.end - quarter, last.end}, found);
  return {found.largest_key(), kHalf == 0 ? found.open_gap() : std::numeric_limits<float>::quiet_NaN()};
}

}  // namespace

Scan update_and_scan(const Sweep& sweep, const Range* ranges, int n_ranges) {
  return (sweep.half == 0 ? update_and_scan_half<0> : update_and_scan_half<1>)(sweep, ranges, n_ranges);
}

double gap(const float* r, const float* beta, const float* lo, const float* hi, const float* t, float bound,
           const Range* ranges, int n_ranges) {
  const vf high = splat(bound), low = splat(-bound);
  double total = 0;
  for (const Range* range = ranges; range < ranges + n_ranges; ++range)
    for (int block = range->begin; block < range->end; block += 128) {
      const int stop = block + 128 < range->end ? block + 128 : range->end;
      Sums sums;
      for (int first = block; first < stop; first += kPad)
        LOCALSVM_UNROLL for (int v = 0; v < kParts; ++v) {
          const int i = first + v * W;
          const vf ri = load(r + i), ti = load(t + i);
          const vf rc = ti - clamp(ti - ri, low, high);
          sums.part[v] += fnma(load(beta + i), ri, vmax(load(lo + i) * rc, load(hi + i) * rc));
        }
      total += sum(sums);
    }
  return total;
}

namespace {

// Rows of the coordinates updated last are in the cache: partners among them are preferred by this factor.
constexpr float kRecentFactor = 1.2f;
alignas(64) constexpr auto kGainFactor = [] {
  struct {
    float of[kCandidates];
  } factor{};
  for (int c = 0; c < kCandidates; ++c) factor.of[c] = c < kNeighbours ? 1.0f : kRecentFactor;
  return factor;
}();

// Joint steps, and twice their gains.
struct Steps {
  vf gain, di, dj;
};

// Joint steps of i (r, l, u in all lanes) with one candidate j per lane: the unconstrained optimum, clipped in i first
// and, alternatively, in j first; the better of the two.
inline Steps joint_steps(vf ri, vf li, vf ui, vf rj, vf lj, vf uj, vf k) {
  const vf inverse = 1.0f / vmax(fnma(k, k, splat(1.0f)), splat(1e-6f));
  const vf x1 = clamp(fnma(k, rj, ri) * inverse, li, ui), y1 = clamp(fnma(k, x1, rj), lj, uj);
  const vf y2 = clamp(fnma(k, ri, rj) * inverse, lj, uj), x2 = clamp(fnma(k, y2, ri), li, ui);
  const vf g1 = fma(x1, fnma(k, y1, ri + ri - x1), y1 * fnma(k, x1, rj + rj - y1));
  const vf g2 = fma(x2, fnma(k, y2, ri + ri - x2), y2 * fnma(k, x2, rj + rj - y2));
  const vi first = g1 >= g2;
  return {vmax(g1, g2), select(first, x1, x2), select(first, y1, y2)};
}

}  // namespace

bool best_partner(const float* r, const uint32_t* slack, int i, const Partners& partners, Step* step) {
  int32_t candidates[kCandidates];
  float k[kCandidates], di[kCandidates], dj[kCandidates];
  std::memcpy(candidates, partners.near.index, sizeof partners.near.index);
  std::memcpy(k, partners.near.kernel, sizeof partners.near.kernel);
  // Rows of recent coordinates are in the cache, so K_ji is read, not K_ij.  Bit operations, as branches would be
  // mispredicted.
  for (int c = 0; c < kRecent; ++c) {
    const int32_t other = partners.recent[c], if_i = other == i ? ~0 : 0;
    candidates[kNeighbours + c] = (partners.sentinel & if_i) | (other & ~if_i);
    k[kNeighbours + c] = partners.recent_rows[c][i];
  }
  const vf ri = splat(r[i]), li = splat(slack_below(slack[i])), ui = splat(slack_above(slack[i]));
  // As in a sweep, gain and candidate are one integer: the low bits hold the number of the candidate.
  constexpr int32_t kNumber = kCandidates - 1;
  static_assert((kCandidates & kNumber) == 0);
  vi best = {};
#pragma GCC unroll 2
  for (int c = 0; c < kCandidates; c += W) {
    const vi word = gather(slack, candidates + c);
    const Steps steps =
        joint_steps(ri, li, ui, gather(r, candidates + c), lower_slack(word), upper_slack(word), load(k + c));
    store(di + c, steps.di);
    store(dj + c, steps.dj);
    const vf gain = vmax(load(kGainFactor.of + c) * steps.gain, vf{});  // 0 for NaN
    best = vmax(best, ((vi)gain & ~kNumber) | (lanes() + c));
  }
  const int32_t key = max_lane(best), chosen = key & kNumber;
  *step = {i, dj[chosen] == 0 ? i : candidates[chosen], di[chosen], dj[chosen]};
  return key > kNumber;
}

}  // namespace localsvm::LOCALSVM_LEVEL
