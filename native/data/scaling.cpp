#include "data/scaling.h"

#include <cmath>
#include <vector>

namespace localsvm {

namespace {

constexpr int kTogether = 8;  // searches that do not wait for each other

// place[i] = the last of n ascending knots that is at most x[i], the first if none is: halving without branches.
void find_places(const double* knots, size_t n, const double* x, size_t* place) {
  for (int i = 0; i < kTogether; ++i) place[i] = 0;
  while (n > 1) {
    const size_t half = n / 2;
    for (int i = 0; i < kTogether; ++i) place[i] += knots[place[i] + half] <= x[i] ? half : 0;
    n -= half;
  }
}

double rank_of(const double* knots, const double* ranks, size_t n, size_t i, double x) {
  if (x <= knots[0] || n == 1) return ranks[0];
  if (std::isnan(x)) return x;
  if (i == n - 1 || knots[i] == x) return ranks[i];
  const double slope = (ranks[i + 1] - ranks[i]) / (knots[i + 1] - knots[i]);
  return slope * (x - knots[i]) + ranks[i];
}

}  // namespace

template <typename Float>
void scale_affine(const Float* X, size_t n, int n_features, const double* shift, const double* factor, float* out) {
  std::vector<double> half_shift(n_features);
  for (int k = 0; k < n_features; ++k) half_shift[k] = shift[k] / 2;
  for (size_t i = 0; i < n; ++i, X += n_features, out += n_features)
    for (int k = 0; k < n_features; ++k)
      out[k] = static_cast<float>((static_cast<double>(X[k]) / 2 - half_shift[k]) * factor[k] * 2);
}

template <typename Float>
void scale_to_ranks(const Float* X, size_t n, int n_features, const double* knots, const double* ranks,
                    const int64_t* ends, double* out) {
  for (size_t first = 0; first < n; first += kTogether) {
    const size_t count = n - first < kTogether ? n - first : kTogether;
    int64_t begin = 0;
    for (int k = 0; k < n_features; begin = ends[k++]) {
      const size_t n_knots = ends[k] - begin;
      double x[kTogether] = {};
      size_t place[kTogether];
      for (size_t i = 0; i < count; ++i) x[i] = X[(first + i) * n_features + k];
      find_places(knots + begin, n_knots, x, place);
      for (size_t i = 0; i < count; ++i)
        out[(first + i) * n_features + k] = rank_of(knots + begin, ranks + begin, n_knots, place[i], x[i]);
    }
  }
}

template <typename Float>
bool all_finite(const Float* values, size_t n) {
  // The sum of zeros is 0, that of 0 NaN or 0 infinity is not: no branch in the loop.
  Float zeros[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int q = 0; q < 8; ++q) zeros[q] += 0 * values[i + q];
  for (; i < n; ++i) zeros[0] += 0 * values[i];
  Float total = 0;
  for (const Float zero : zeros) total += zero;
  return total == 0;
}

template void scale_affine(const float*, size_t, int, const double*, const double*, float*);
template void scale_affine(const double*, size_t, int, const double*, const double*, float*);
template void scale_to_ranks(const float*, size_t, int, const double*, const double*, const int64_t*, double*);
template void scale_to_ranks(const double*, size_t, int, const double*, const double*, const int64_t*, double*);
template bool all_finite(const float*, size_t);
template bool all_finite(const double*, size_t);

}  // namespace localsvm
