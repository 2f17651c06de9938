// The hot loops, one table of functions per SIMD level.
//
// Arrays are float32 unless said otherwise.  Matrices are row-major with a leading dimension `ld` that is a multiple
// of kPad, rows start on 64-byte boundaries, and the padding of a row holds finite numbers, so that loops run over
// whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/range.h"

namespace localsvm {

constexpr int kStrip = 512;         // samples whose weighted differences are summed in float
constexpr int kAhead = 4 * kPad;    // floats of a row of K that are asked for before they are needed
constexpr int kNeighbours = 24;     // candidate partners kept per sample
constexpr int kRecent = 8;          // coordinates moved last, candidates too
constexpr int kCandidates = 32;     // both: whole vectors at every level
constexpr int kRowGroups = 64;         // of a row of distances, each with its smallest

// Kernels of a distance of two points, which `distances` makes: of the squared Euclidean one, exp(-d/width^2) or
// exp(-sqrt(d)/width); of the Manhattan one, sum_k |x_k - x'_k|, exp(-d/width).
enum class Kernel : int { gauss = 0, laplace = 1, manhattan = 2 };

// beta_i += di, beta_j += dj (i == j: only di counts).
struct Step {
  int i = 0, j = 0;
  float di = 0, dj = 0;
};

// Coordinates near to one, and their entries of its row of K: in three cache lines, for which steps have to wait.
struct alignas(64) Near {
  int32_t index[kNeighbours];
  float kernel[kNeighbours];
};

// Who may move along with a coordinate; `sentinel` has the box [0, 0].
struct Partners {
  const Near& near;
  const int32_t* recent;            // kRecent coordinates
  const float* const* recent_rows;  // and their rows of K
  int32_t sentinel;
};

// A step that r does not know of, and what the next one is chosen by.
struct Sweep {
  float* r;
  const uint32_t* slack;
  const float *row_i, *row_j;
  float di, dj;
  float enough;
  int index_bits;
  const Near* near;  // of all coordinates
  int half;          // of them, 0 or 1: who may be chosen
};

// What a sweep finds: the key of the coordinate to move next, and about what the gap would be without clipping, the sum of |r|
// times room, from some of the first half; no number if that was not looked at.
struct Scan {
  int32_t key;
  float open_gap;
};

// Where the first feature of sample i is in panels of kPad samples, [ x_0 .. x_15 ][ x_16 .. x_31 ] ...: a panel has all
// features, each of kPad samples, so that the next feature is kPad behind.
inline size_t place_in_panels(size_t i, int n_features) { return i / kPad * kPad * n_features + i % kPad; }

// Support vectors for evaluation; ld is a multiple of 2 kPad.
struct SupportView {
  const float* panels;  // of kPad support vectors
  const float* norms;   // |s|^2, or nullptr: take differences, which lose nothing to cancellation
  float far;            // with norms: points of larger |x|^2 are so far from all support vectors that f is 0
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

// A vector that a block is multiplied with, and what the product is added to.
struct BlockVector {
  const float* x;
  float* y;
};

// What a leap (leap.h) needs of the loop of steps; `slack` as in rooms.h.
struct LoopArrays {
  float *beta, *r;
  const float *lo, *hi;
  uint32_t* slack;
};

// What a path (solver.h) knows of the coefficients at a bound, and what moves along with them.
struct BoundArrays {
  const float *unit_lo, *unit_hi;  // the box at scale 1
  const float* unit;               // of the bound that a coefficient is at; 0: inside, or at a bound of zero
  const double* f;                 // sum_i K_i unit_i
  double *base, *start, *base_r;
};

// Of a leap: where the last one ended, and the direction p with what r changes by along it.  r belongs to beta + carry: beta
// is rounded when a leap moves it, r is not.
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
  int n_lanes;  // of a vector

  // out[a][j - columns.begin] = d(x[a], x_j), the distance that the kernel takes, for `count` points x[a] and j in columns;
  // the x_j are in panels of kPad samples.
  void (*distances)(Kernel kernel, const float* const* x, int count, const float* panels, int n_features, Range columns,
                    float* const* out);
  // The same for the kernel's values.
  void (*kernel_rows)(Kernel kernel, float width, const float* const* x, int count, const float* panels, int n_features,
                      Range columns, float* const* out);

  // The smallest entry of each of kRowGroups groups that make up a row of n distances (infinite where a group is empty).
  void (*group_minima)(const float* distances, int n, float* minima);
  // Where the n distances are at most `limit`: indices in ascending order, at most `room` of them; returns how many.
  int (*find_within)(const float* distances, int n, float limit, int32_t* found, int room);

  // The kernel's values, n entries (a multiple of kPad).
  void (*kernel_values)(Kernel kernel, float width, const float* distances, float* k, size_t n);

  // The slope of the kernel k = phi(d): -2 phi'(d), which gives grad_x k(x, s) = slope (s - x), and for the Manhattan distance
  // -phi'(d), grad_x k(x, s) = slope sign(s - x).  That of the Laplace kernel, which has a tip, is 0 at 0.
  void (*kernel_slopes)(Kernel kernel, float width, const float* distances, float* slopes, size_t n);

  // out[a][k] += sum_j c[j] slopes[a][j - columns.begin] (x_j - x[a])_k, or of its sign, as the kernel's slopes have it, for
  // `count` points x[a], j in at most kStrip columns; the x_j are in panels as above.
  void (*add_differences)(Kernel kernel, const float* const* x, int count, const float* const* slopes, const float* c,
                          const float* panels, int n_features, Range columns, double* const* out);

  // sum_{j in range} a_j b_j, all in double.
  double (*dot)(const float* a, const float* b, Range range);
  // out[m] = sum_{j in range} w_j rows[m]_j, all in double: rows are taken out of these sums again along the lambda path.
  void (*weighted_sums)(const float* const* rows, int count, const double* w, Range range, double* out);

  // r -= di K_i + dj K_j on the ranges; returns the largest key of a half of them: |r| times the room to its side (rooms.h), but
  // at most `enough`, with the low `index_bits` bits replaced by the index.  Non-negative floats order as integers.  Asks for what
  // `near` has of the coordinate that is likely to be it.  Slow unless subnormal numbers count as zero (subnormals.h).
  Scan (*update_and_scan)(const Sweep& sweep, const Range* ranges, int n_ranges);

  // sum over the ranges of max(lo rc, hi rc) - beta r, rc = t - clip(t - r, -bound, bound): the clipped duality gap
  // of a box-constrained dual in units of the box (see solver.h).
  double (*gap)(const float* r, const float* beta, const float* lo, const float* hi, const float* t, float bound,
                const Range* ranges, int n_ranges);

  // The best joint step of i with one of its partners: maximise di ri + dj rj - (di^2 + 2 k di dj + dj^2)/2 over the boxes
  // [l, u], in a measure that favours partners moved lately.  False if nothing gains.
  bool (*best_partner)(const float* r, const uint32_t* slack, int i, const Partners& partners, Step* step);

  // The sums that the best point of the plane beta + x d + y p follows from; d = beta - from_beta.
  PlaneSums (*plane_sums)(const float* beta, const float* r, const ExtrapolationArrays& at, Range range);
  // That point, clipped to the boxes, its carry, and what r changes by where nothing is clipped.  Returns how many are, and which.
  int (*point_of_plane)(const LoopArrays& loop, const ExtrapolationArrays& at, float x, float y, Range range, float* point,
                        double* change, int32_t* clipped);
  // On the way from beta to the point: chord'r, and chord'K chord.
  ChordSums (*chord_sums)(const float* beta, const float* r, const float* point, const double* change, Range range);
  // Goes a share of that way, which becomes part of p, and begins a new d.  Returns the sum of squares of what it moved.
  double (*apply_extrapolation)(const LoopArrays& loop, const float* point, const double* change, float fraction, const ExtrapolationArrays& at,
                  Range range);

  // How far beta is from lo and hi.
  void (*set_slack)(const LoopArrays& loop, Range range);
  // Where a coefficient has come to a bound or left it: returns how many have, which, and their new `unit`.
  int (*find_bound_changes)(const LoopArrays& loop, const BoundArrays& at, Range range, int32_t* changed, float* units);
  // Coefficients at a bound follow it to a new scale, `growth` larger, and so does all that depends on them.
  void (*shift_bounds)(const LoopArrays& loop, const BoundArrays& at, float scale, double growth, Range range);
  // Where beta is not what is accounted for: returns how many are, and which.
  int (*find_moved)(const float* beta, const double* accounted, Range range, int32_t* moved);

  // r -= sum_m c[m] rows[m] on the range, r in double: sums of 8 products in float, the rest in double.
  void (*subtract_rows)(double* r, const float* const* rows, const float* c, int count, Range range);
  // The same, all in double: for sums that have to come back to zero when rows are taken out again.
  void (*subtract_rows_exactly)(double* r, const float* const* rows, const float* c, int count, Range range);

  // y[j] += sum_i x[i] block_ij for `count` vectors; i in order, whatever the count.
  void (*add_down)(const Block& block, const BlockVector* vectors, int count);
  // y[i*n_lanes + lane] += the lane's part of sum_j block_ij x[j].
  void (*add_across)(const Block& block, const BlockVector* vectors, int count);
  // y[i] += the sum of lanes[i*n_lanes + lane] over the lanes, which are zero then; n is rounded up to a multiple of four.
  void (*sum_lanes)(float* lanes, int n, float* y);

  // f[p*n_outputs + o] = sum_s coef[o*ld + s] k(x_p, s) for every point p.
  void (*evaluate)(Kernel kernel, float width, const float* points, int n_points, int n_features,
                   const SupportView& support, float* f);

  // For every row j of XT (feature-major, as above): where ||x_j - center||^2 < nearest[j], take it over, and `label`.
  // Ties keep the label they have.  Rounds alike at every level.
  void (*update_nearest)(const float* XT, int n_features, size_t ld, const float* center, int32_t label, float* nearest,
                 int32_t* labels);
};

// The table of the chosen level; the choice is made once, at load time.
const Ops& ops();
const char* simd_level();
// Levels this machine can run, best first; nullptr-terminated.
const char* const* available_levels();
// Chooses a level by name; false if it is unknown or the machine does not have it.
bool set_simd_level(const char* name);

}  // namespace localsvm
