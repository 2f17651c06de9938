// The hot loops, one table of functions per SIMD level.  Their results are the same at every level, to the bit.
//
// Arrays are float32 unless said otherwise.  Matrices are row-major with a leading dimension `ld` that is a multiple
// of kPad, rows start on 64-byte boundaries, and the padding of a row holds finite numbers, so that loops run over
// whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/range.h"

namespace localsvm {

constexpr int kTile = 48;         // rows and columns of a tile of K: a multiple of kPad, and of the sums in registers
constexpr int kLanes = 8;         // of the sums of add_across
constexpr int kStrip = 512;       // samples whose weighted differences are summed in float
constexpr int kAhead = 4 * kPad;  // floats of a row of K that are prefetched
constexpr int kNeighbours = 24;   // candidate partners stored per sample
constexpr int kRecent = 8;        // coordinates updated last, which are candidates, too
constexpr int kCandidates = 32;   // both together: whole vectors at every level
constexpr int kRowGroups = 64;    // groups of a row of distances, each with its minimum

// A kernel is a function of a distance d, which `distances` computes.  Of the squared Euclidean distance:
// exp(-d/width^2) and exp(-sqrt(d)/width).  Of the Manhattan distance sum_k |x_k - x'_k|: exp(-d/width).
enum class Kernel : int { gauss = 0, laplace = 1, manhattan = 2 };

// beta_i += di, beta_j += dj (i == j: only di counts).
struct Step {
  int i = 0, j = 0;
  float di = 0, dj = 0;
};

// Near neighbours of a coordinate and their entries of its row of K.  Steps wait for these three cache lines.
struct alignas(64) Near {
  int32_t index[kNeighbours];
  float kernel[kNeighbours];
};

// Candidates for the partner of a coordinate; the sentinel has the box [0, 0].
struct Partners {
  const Near& near;
  const int32_t* recent;            // kRecent coordinates
  const float* const* recent_rows;  // and their rows of K
  int32_t sentinel;
};

// The pending step, which r does not contain yet, and what the next one is chosen by.
struct Sweep {
  float* r;
  const uint32_t* slack;
  const float *row_i, *row_j;
  float di, dj;
  float slack_cap;
  int index_bits;
  const Near* near;  // of all coordinates
  int half;          // of the coordinates, 0 or 1, that is scored
};

// Result of a sweep: the key of the next coordinate, and an estimate of the gap without clipping, the sum of |r| times
// slack, from a part of the first half; NaN in a sweep of the second half.
struct Scan {
  int32_t key;
  float open_gap;
};

// Index of the first feature of sample i in panels of kPad samples, [ x_0 .. x_15 ][ x_16 .. x_31 ] ...  A panel has
// all features, each of kPad samples, so that the next feature is kPad further.
inline size_t place_in_panels(size_t i, int n_features) { return i / kPad * kPad * n_features + i % kPad; }

// How the exponent of a kernel 2^-d is computed: expanded, in units in which d has no factor,
//
//   gauss: d = |x|^2 + |s|^2 - 2 x's,   laplace: the root of that,   manhattan: d = 2 sum_k max(x_k, s_k) - sum x - sum s
//
// which cancels where x and s are far from the origin, or by differences x_k - s_k.
enum class Form : int { gauss, laplace, manhattan, gauss_differences, laplace_differences, manhattan_differences };

// Support vectors for evaluation; ld is a multiple of kPad.  Expanded, panels have twice the features; sizes, and those
// of points, are -|s|^2, or sum s for the Manhattan distance, for which points have twice their features, too.
struct SupportView {
  Form form;
  const float* panels;  // of kPad support vectors
  const float* sizes;   // expanded
  float minus_scale;    // by differences: the exponent of 2 is minus_scale d
  const float* coef;    // coef[o*ld + s], zero in the padding
  size_t ld;
  int n_outputs;
};

// A part of a matrix.  The number of columns is a multiple of kPad.
struct Block {
  const float* values;
  size_t stride;  // of its rows
  int n_rows, n_columns;
};

// A vector that a block is multiplied by, and what the product is added to.
struct BlockVector {
  const float* x;
  float* y;
};

// Arrays of the step loop (steps.h); `slack` as in slack.h.
struct LoopArrays {
  float *beta, *r;
  const float *lo, *hi;
  uint32_t* slack;
};

// Coefficients at a bound (solver.h), and what moves with them.
struct BoundArrays {
  const float *unit_lo, *unit_hi;  // the box at scale 1
  const float* unit;               // the bound a coefficient is at, at scale 1; 0: inside, or at a bound of zero
  const double* f;                 // sum_i K_i unit_i
  double *base, *start, *base_r;
};

// Arrays of an extrapolation step (extrapolation.h): where the last one ended, and the direction p with the change q of
// r along it.  r belongs to beta + carry: extrapolation rounds beta, but not r.
struct ExtrapolationArrays {
  float *from_beta, *from_r;
  float *p, *q;
  float *carry, *next_carry;
};

struct PlaneSums {
  double dKd = 0, dKp = 0, pKp = 0, dr = 0, pr = 0;
  void operator+=(const PlaneSums& more) {
    dKd += more.dKd, dKp += more.dKp, pKp += more.pKp, dr += more.dr, pr += more.pr;
  }
};

struct ChordSums {
  double slope = 0, curvature = 0;
  void operator+=(const ChordSums& more) { slope += more.slope, curvature += more.curvature; }
};

struct Ops {
  const char* name;

  // Ends of ranges are multiples of kPad, except in `dot` and `weighted_sums`.

  // out[a][j - columns.begin] = d(x[a], x_j), the distance that the kernel takes, for `count` points x[a] and j in
  // columns; the x_j are in panels of kPad samples.
  void (*distances)(Kernel kernel, const float* const* x, int count, const float* panels, int n_features, Range columns,
                    float* const* out);
  // The same for the kernel's values.
  void (*kernel_rows)(Kernel kernel, float width, const float* const* x, int count, const float* panels, int n_features,
                      Range columns, float* const* out);

  // The minimum of each of the kRowGroups groups of a row of n distances; infinite for an empty group.
  void (*group_minima)(const float* distances, int n, float* minima);
  // Indices, ascending, of the n distances that are at most `limit`, at most `capacity` of them; returns how many.
  int (*find_within)(const float* distances, int n, float limit, int32_t* found, int capacity);

  // The kernel's values, n entries (a multiple of kPad).
  void (*kernel_values)(Kernel kernel, float width, const float* distances, float* k, size_t n);

  // The slope of the kernel k = phi(d): -2 phi'(d), so that grad_x k(x, s) = slope (s - x); for the Manhattan distance
  // -phi'(d), so that grad_x k(x, s) = slope sign(s - x).  The slope of the Laplace kernel, not differentiable at 0, is
  // 0 there.
  void (*kernel_slopes)(Kernel kernel, float width, const float* distances, float* slopes, size_t n);

  // out[a][k] += sum_j c[j] slopes[a][j - columns.begin] (x_j - x[a])_k, or sign(x_j - x[a])_k for the Manhattan
  // distance, for `count` points x[a] and j in at most kStrip columns; the x_j are in panels as above.
  void (*add_differences)(Kernel kernel, const float* const* x, int count, const float* const* slopes, const float* c,
                          const float* panels, int n_features, Range columns, double* const* out);

  // sum_{j in range} a_j b_j, all in double.
  double (*dot)(const float* a, const float* b, Range range);
  // out[m] = sum_{j in range} w_j rows[m]_j, all in double: along the lambda path rows are subtracted from these sums
  // again.  The w_j are floats, so that products are exact.
  void (*weighted_sums)(const float* const* rows, int count, const double* w, Range range, double* out);

  // r -= di K_i + dj K_j on the ranges; returns the largest key of one half of the coordinates.  A key is |r| times the
  // slack on the side of r, capped at `slack_cap`, with the low `index_bits` bits replaced by the index.  Prefetches
  // `near` of the likely winner.  Slow unless subnormal numbers count as zero (subnormals.h).
  Scan (*update_and_scan)(const Sweep& sweep, const Range* ranges, int n_ranges);

  // sum over the ranges of max(lo rc, hi rc) - beta r, rc = t - clip(t - r, -bound, bound): the clipped duality gap
  // of a box-constrained dual in units of the box (see solver.h).
  double (*gap)(const float* r, const float* beta, const float* lo, const float* hi, const float* t, float bound,
                const Range* ranges, int n_ranges);

  // The best joint step of i with one of its partners: maximize di ri + dj rj - (di^2 + 2 k di dj + dj^2)/2 over the
  // boxes [l, u]; partners updated lately are preferred.  False if no step gains.
  bool (*best_partner)(const float* r, const uint32_t* slack, int i, const Partners& partners, Step* step);

  // The sums that determine the best point of the plane beta + x d + y p; d = beta - from_beta.
  PlaneSums (*plane_sums)(const float* beta, const float* r, const ExtrapolationArrays& at, Range range);
  // That point, clipped to the boxes, its carry, and the change of r if nothing were clipped.  Returns how many
  // coordinates are clipped, and which.
  int (*point_of_plane)(const LoopArrays& loop, const ExtrapolationArrays& at, float x, float y, Range range,
                        float* point, double* change, int32_t* clipped);
  // Of the chord from beta to the point: chord'r, and chord'K chord.
  ChordSums (*chord_sums)(const float* beta, const float* r, const float* point, const double* change, Range range);
  // Moves by a fraction of the chord, makes the whole displacement the new p, and begins a new d.  Returns the sum of
  // squares of the move.
  double (*apply_extrapolation)(const LoopArrays& loop, const float* point, const double* change, float fraction,
                                const ExtrapolationArrays& at, Range range);

  // Packs the slack of beta.
  void (*set_slack)(const LoopArrays& loop, Range range);
  // Finds coefficients that have reached a bound or left it: returns how many, which, and their new `unit`.
  int (*find_bound_changes)(const LoopArrays& loop, const BoundArrays& at, Range range, int32_t* changed, float* units);
  // Moves coefficients at a bound to the bound at a scale larger by `growth`, with all that depends on them.
  void (*shift_bounds)(const LoopArrays& loop, const BoundArrays& at, float scale, double growth, Range range);
  // Finds where beta differs from `accounted`: returns how many, and which.
  int (*find_moved)(const float* beta, const double* accounted, Range range, int32_t* moved);

  // r -= sum_m c[m] rows[m] on the range, r in double: sums of 8 products in float, the rest in double.
  void (*subtract_rows)(double* r, const float* const* rows, const float* c, int count, Range range);
  // The same, all in double: for sums that must return to zero when the rows are subtracted again.
  void (*subtract_rows_exactly)(double* r, const float* const* rows, const float* c, int count, Range range);

  // y[j] += sum_i x[i] block_ij for `count` vectors; i in order, whatever the count.
  void (*add_down)(const Block& block, const BlockVector* vectors, int count);
  // y[i*kLanes + lane] += sum_j block_ij x[j] over the j that are `lane` modulo kLanes.
  void (*add_across)(const Block& block, const BlockVector* vectors, int count);
  // y[i] += the sum of lanes[i*kLanes + lane] over the lanes, which are set to zero; n is rounded up to a multiple of
  // four.
  void (*sum_lanes)(float* lanes, int n, float* y);

  // f[p*n_outputs + o] += sum_s coef[o*ld + s] k(x_p, s) for every point p, with sizes[p] if distances are expanded.
  void (*evaluate)(const SupportView& support, const float* points, const float* sizes, int n_points, int n_features,
                   double* f);

  // The nearest of n_centers centers in panels of kPad, for `count` points, and its squared distance; the first of ties,
  // and where all distances are infinite.  Rounds like update_nearest.
  void (*nearest_in_panels)(const float* const* x, int count, const float* panels, int n_centers, int n_features,
                            int32_t* labels, float* distances);

  // out[a][c] = sizes[c] + sum_k center_ck x[a][k] for `count` points and all ld centers in panels of kPad; least[a] is
  // the least of them.  With sizes |c|^2 and points -2 x these are squared distances without |x|^2, rounded anyhow.
  void (*center_products)(const float* const* x, int count, const float* panels, const float* sizes, size_t ld,
                          int n_features, float* const* out, float* least);

  // For every row j of XT (feature-major, ld rows): if ||x_j - center||^2 < nearest[j], sets nearest[j] and labels[j].
  // Ties keep their label.  Rounds alike at every level.
  void (*update_nearest)(const float* XT, int n_features, size_t ld, const float* center, int32_t label, float* nearest,
                 int32_t* labels);
};

// The table of the chosen level; the choice is made once, at load time.
const Ops& ops();
const char* simd_level();
// Levels that this machine can run, best first; nullptr-terminated.
const char* const* available_levels();
// Chooses a level by name; false if it is unknown or the machine does not have it.
bool set_simd_level(const char* name);

}  // namespace localsvm
