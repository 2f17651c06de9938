#include "predict/evaluate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/aligned.h"

namespace localsvm {

namespace {

// |x|^2 + |s|^2 - 2 x's has an error of about 1e-7 (|x|^2 + |s|^2), which is harmless to exp(-d/width^2) while the
// squared distances of the support vectors from their mean are at most this many squared widths.  It is never safe for
// the Laplace kernel, which takes a root, and the Manhattan distance is no sum of products.
constexpr double kSafeSquaredWidths = 400;

// Support vectors and points are moved so that the mean of the support vectors is the origin.
std::vector<float> mean_of(const float* rows, int n, int n_features) {
  std::vector<double> sum(n_features, 0.0);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n_features; ++k) sum[k] += rows[static_cast<size_t>(i) * n_features + k];
  std::vector<float> mean(n_features);
  for (int k = 0; k < n_features; ++k) mean[k] = static_cast<float>(sum[k] / std::max(n, 1));
  return mean;
}

}  // namespace

void evaluate_cell(Kernel kernel, float width, const float* points, int n_points, int n_features,
                   const float* support_vectors, int n_support, const float* coefficients, int n_outputs, float* f) {
  const size_t ld = padded(padded(n_support) + kPad) / (2 * kPad) * (2 * kPad);
  const std::vector<float> origin = mean_of(support_vectors, n_support, n_features);
  Aligned<float> panels(ld * n_features), norms(ld), coef(ld * n_outputs);
  float largest = 0;
  for (int s = 0; s < n_support; ++s) {
    float* x = panels.data() + place_in_panels(s, n_features);
    for (int k = 0; k < n_features; ++k, x += kPad) {
      *x = support_vectors[static_cast<size_t>(s) * n_features + k] - origin[k];
      norms[s] += *x * *x;
    }
    largest = std::max(largest, norms[s]);
  }
  for (int o = 0; o < n_outputs; ++o)
    for (int s = 0; s < n_support; ++s) coef[o * ld + s] = coefficients[static_cast<size_t>(o) * n_support + s];

  const bool safe = kernel == Kernel::gauss && largest <= kSafeSquaredWidths * width * width;
  // Beyond this the exponent is below -100 for every support vector.
  const float reach = std::sqrt(largest) + 10 * width;
  const SupportView support{panels.data(), safe ? norms.data() : nullptr, reach * reach, coef.data(), ld, n_outputs};
  constexpr int kBlock = 256;
  std::vector<float> moved(static_cast<size_t>(kBlock) * n_features);
  for (int begin = 0; begin < n_points; begin += kBlock) {
    const int size = std::min(kBlock, n_points - begin);
    const float* block = points + static_cast<size_t>(begin) * n_features;
    for (int p = 0; p < size; ++p)
      for (int k = 0; k < n_features; ++k)
        moved[static_cast<size_t>(p) * n_features + k] = block[static_cast<size_t>(p) * n_features + k] - origin[k];
    ops().evaluate(kernel, width, moved.data(), size, n_features, support, f + static_cast<size_t>(begin) * n_outputs);
  }
}

}  // namespace localsvm
