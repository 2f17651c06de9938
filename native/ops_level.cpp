// The hot loops of ops.h for one SIMD level.  Compiled once per level; see simd.h for the rules.
#include "ops.h"
#include "simd.h"

namespace localsvm::LOCALSVM_LEVEL {
namespace {

// Blocks of 4 rows by 2 vectors: each loaded x_j serves four rows, each broadcast x_i two vectors.  The sum over
// features runs in order for every entry, so the result does not depend on the blocking, and d(i, j) = d(j, i).
void squared_distances(const float* XT, int n_features, size_t ld, Range rows, float* out) {
  for (int i = rows.begin; i < rows.end; i += 4) {
    const int height = rows.end - i < 4 ? rows.end - i : 4;
    for (size_t j = 0; j < ld; j += 2 * W) {
      const bool second = j + W < ld;
      vf acc[4][2] = {};
      for (int k = 0; k < n_features; ++k) {
        const float* feature = XT + k * ld;
        const vf x0 = load(feature + j);
        const vf x1 = second ? load(feature + j + W) : x0;
        for (int a = 0; a < 4; ++a) {
          const vf x = splat(feature[i + (a < height ? a : 0)]);
          const vf e0 = x - x0, e1 = x - x1;
          acc[a][0] += e0 * e0;
          acc[a][1] += e1 * e1;
        }
      }
      for (int a = 0; a < height; ++a) {
        float* o = out + (i + a) * ld + j;
        store(o, acc[a][0]);
        if (second) store(o + W, acc[a][1]);
      }
    }
  }
}

void neighbours(const float* distances, int n, int i, int32_t* out) {
  const int chunk = (n + kNeighbours - 1) / kNeighbours;
  for (int c = 0; c < kNeighbours; ++c) {
    const int begin = c * chunk, end = begin + chunk < n ? begin + chunk : n;
    float nearest = INFINITY;
    for (int j = begin; j < end; ++j) {
      const float d = j == i ? INFINITY : distances[j];
      nearest = d < nearest ? d : nearest;
    }
    int32_t found = -1;
    for (int j = begin; j < end && found < 0; ++j)
      if (j != i && distances[j] == nearest) found = j;
    out[c] = found;
  }
}

inline vf kernel_of(Kernel kernel, vf squared_distance, vf scale) {
  return exp_nonpositive((kernel == Kernel::gauss ? squared_distance : vsqrt(squared_distance)) * scale);
}

inline vf kernel_scale(Kernel kernel, float width) {
  return splat(kernel == Kernel::gauss ? -1.0f / (width * width) : -1.0f / width);
}

void kernel_values(Kernel kernel, float width, const float* distances, float* k, size_t n) {
  const vf scale = kernel_scale(kernel, width);
  for (size_t i = 0; i < n; i += W) store(k + i, kernel_of(kernel, load(distances + i), scale));
}

double dot(const float* a, const float* b, Range range) {
  double total = 0;
  int i = range.begin;
  while (i + W <= range.end) {
    vf acc = {};
    const int stop = range.end - W < i + 128 - W ? range.end - W : i + 128 - W;
    for (; i <= stop; i += W) acc += load(a + i) * load(b + i);
    total += sum(acc);
  }
  for (; i < range.end; ++i) total += static_cast<double>(a[i]) * b[i];
  return total;
}

void update_and_scan(float* r, const float* l, const float* u, const float* row_i, const float* row_j, float di_,
                     float dj_, Range range, int index_bits, int32_t* keys) {
  const vf di = splat(di_), dj = splat(dj_);
  const vi keep = splat(static_cast<int32_t>((~0u << index_bits) & 0x7fffffffu));
  vi best0 = splat(0), best1 = splat(0);
  vi id0 = lanes() + range.begin, id1 = id0 + W;
  for (int i = range.begin; i < range.end; i += 2 * W) {
    const vf r0 = load(r + i) - di * load(row_i + i) - dj * load(row_j + i);
    const vf r1 = load(r + i + W) - di * load(row_i + i + W) - dj * load(row_j + i + W);
    store(r + i, r0);
    store(r + i + W, r1);
    best0 = vmax(best0, ((vi)clamp(r0, load(l + i), load(u + i)) & keep) | id0);
    best1 = vmax(best1, ((vi)clamp(r1, load(l + i + W), load(u + i + W)) & keep) | id1);
    id0 += 2 * W;
    id1 += 2 * W;
  }
  best0 = vmax(best0, best1);
  for (int lane = 0; lane < W; ++lane)
    if (best0[lane] > keys[lane]) keys[lane] = best0[lane];
}

double gap(const float* r, const float* beta, const float* lo, const float* hi, const float* t, float bound,
           Range range) {
  const vf high = splat(bound), low = splat(-bound);
  double total = 0;
  for (int block = range.begin; block < range.end; block += 128) {
    const int stop = block + 128 < range.end ? block + 128 : range.end;
    vf acc = {};
    for (int i = block; i < stop; i += W) {
      const vf ri = load(r + i), ti = load(t + i);
      const vf rc = ti - clamp(ti - ri, low, high);
      acc += vmax(load(lo + i) * rc, load(hi + i) * rc) - load(beta + i) * ri;
    }
    total += sum(acc);
  }
  return total;
}

float best_partner(float ri_, float li_, float ui_, const float* rj_, const float* k_, const float* lj_,
                   const float* uj_, int count, int* chosen, float* di, float* dj) {
  const vf ri = splat(ri_), li = splat(li_), ui = splat(ui_);
  vf best_gain = {}, best_x = {}, best_y = {};
  vi best_index = splat(0), index = lanes();
  for (int c = 0; c < count; c += W, index += W) {
    const vf rj = load(rj_ + c), k = load(k_ + c), lj = load(lj_ + c), uj = load(uj_ + c);
    // The unconstrained optimum, then once clipped in i first and once in j first; the better one.
    const vf inverse = 1.0f / vmax(1.0f - k * k, splat(1e-6f));
    const vf x1 = clamp((ri - k * rj) * inverse, li, ui), y1 = clamp(rj - k * x1, lj, uj);
    const vf y2 = clamp((rj - k * ri) * inverse, lj, uj), x2 = clamp(ri - k * y2, li, ui);
    const vf g1 = x1 * (ri + ri - x1 - k * y1) + y1 * (rj + rj - y1 - k * x1);
    const vf g2 = x2 * (ri + ri - x2 - k * y2) + y2 * (rj + rj - y2 - k * x2);
    const vi first = g1 >= g2;
    const vf gain = vmax(g1, g2);
    const vi better = gain > best_gain;
    best_gain = vmax(best_gain, gain);
    best_x = select(better, select(first, x1, x2), best_x);
    best_y = select(better, select(first, y1, y2), best_y);
    best_index = (index & better) | (best_index & ~better);
  }
  int at = 0;
  for (int lane = 1; lane < W; ++lane)
    if (best_gain[lane] > best_gain[at]) at = lane;
  *chosen = best_index[at];
  *di = best_x[at];
  *dj = best_y[at];
  return best_gain[at];
}

void subtract_rows(double* r, const float* const* rows, const float* c, int count, Range range) {
  for (int m = 0; m < count; m += 8) {
    const float* row[8];
    float coef[8];
    for (int q = 0; q < 8; ++q) {
      row[q] = rows[m + q < count ? m + q : m];
      coef[q] = m + q < count ? c[m + q] : 0.0f;
    }
    for (int i = range.begin; i < range.end; i += W) {
      vf even = coef[0] * load(row[0] + i), odd = coef[1] * load(row[1] + i);
      even += coef[2] * load(row[2] + i);
      odd += coef[3] * load(row[3] + i);
      even += coef[4] * load(row[4] + i);
      odd += coef[5] * load(row[5] + i);
      even += coef[6] * load(row[6] + i);
      odd += coef[7] * load(row[7] + i);
      store(r + i, load(r + i) - widen(even + odd));
    }
  }
}

// Four points against two vectors of support vectors at a time; every value is summed over features, then over
// support vectors, in an order that does not depend on the other points.
void evaluate(Kernel kernel, float width, const float* points, Range rows, int n_features, const float* ST, size_t ld,
              const float* coef, int n_outputs, float* f) {
  const vf scale = kernel_scale(kernel, width);
  for (int p = rows.begin; p < rows.end; p += 4) {
    const int height = rows.end - p < 4 ? rows.end - p : 4;
    const float* x[4];
    for (int a = 0; a < 4; ++a) x[a] = points + static_cast<size_t>(p + (a < height ? a : 0)) * n_features;
    for (int a = 0; a < height; ++a)
      for (int o = 0; o < n_outputs; ++o) f[static_cast<size_t>(p + a) * n_outputs + o] = 0;
    // Partial sums over 512 support vectors in float, then added up.
    for (size_t block = 0; block < ld; block += 512) {
      const size_t stop = block + 512 < ld ? block + 512 : ld;
      for (int o0 = 0; o0 < n_outputs; o0 += 4) {
        const int n_out = n_outputs - o0 < 4 ? n_outputs - o0 : 4;
        vf acc[4][4] = {};
        for (size_t s = block; s < stop; s += W) {
          vf d[4] = {};
          for (int k = 0; k < n_features; ++k) {
            const vf sv = load(ST + k * ld + s);
            for (int a = 0; a < 4; ++a) {
              const vf e = sv - x[a][k];
              d[a] += e * e;
            }
          }
          for (int a = 0; a < 4; ++a) d[a] = kernel_of(kernel, d[a], scale);
          for (int o = 0; o < n_out; ++o) {
            const vf c = load(coef + (o0 + o) * ld + s);
            for (int a = 0; a < 4; ++a) acc[o][a] += c * d[a];
          }
        }
        for (int o = 0; o < n_out; ++o)
          for (int a = 0; a < height; ++a)
            f[static_cast<size_t>(p + a) * n_outputs + o0 + o] += static_cast<float>(sum(acc[o][a]));
      }
    }
  }
}

}  // namespace

#define LOCALSVM_STRING_(x) #x
#define LOCALSVM_STRING(x) LOCALSVM_STRING_(x)

extern const Ops kOps;
const Ops kOps = {
    LOCALSVM_STRING(LOCALSVM_LEVEL), squared_distances, neighbours,    kernel_values, dot,
    update_and_scan,                 gap,               best_partner, subtract_rows, evaluate,
};

}  // namespace localsvm::LOCALSVM_LEVEL
