#include "cell.h"

namespace localsvm {

void evaluate_cell(Kernel kernel, float width, const float* points, int n_points, int n_features,
                   const float* support_vectors, int n_support, const float* coefficients, int n_outputs, float* f) {
  const size_t ld = padded(n_support);
  Aligned<float> ST(ld * n_features), coef(ld * n_outputs);
  for (int s = 0; s < n_support; ++s)
    for (int k = 0; k < n_features; ++k) ST[k * ld + s] = support_vectors[static_cast<size_t>(s) * n_features + k];
  for (int o = 0; o < n_outputs; ++o)
    for (int s = 0; s < n_support; ++s) coef[o * ld + s] = coefficients[static_cast<size_t>(o) * n_support + s];
  ops().evaluate(kernel, width, points, {0, n_points}, n_features, ST.data(), ld, coef.data(), n_outputs, f);
}

}  // namespace localsvm
