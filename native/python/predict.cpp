// The binding of decision values and their derivatives.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "predict/evaluate.h"
#include "predict/gradient.h"
#include "python/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

namespace {

// f(x_p) = sum_s coef_s k(x_p, s) for points (m, d), support vectors (s, d), coefficients (outputs, s).
auto evaluate(Matrix points, Matrix support_vectors, Matrix coefficients, const std::string& kernel, float width) {
  const size_t m = points.shape(0), d = points.shape(1), s = support_vectors.shape(0);
  const size_t outputs = coefficients.shape(0);
  require(support_vectors.shape(1) == d, "points and support vectors need the same number of features");
  require(coefficients.shape(1) == s, "one coefficient per support vector");
  require(width > 0, "the width must be positive");
  const Kernel kind = kernel_of(kernel);
  std::vector<float> f(m * outputs);
  {
    nb::gil_scoped_release unlocked;
    evaluate_cell(kind, width, points.data(), static_cast<int>(m), static_cast<int>(d), support_vectors.data(),
                  static_cast<int>(s), coefficients.data(), static_cast<int>(outputs), f.data());
  }
  return to_numpy(std::move(f), {m, outputs});
}

KernelSums checked_sums(const Matrix& points, const Matrix& support_vectors, const Matrix& coefficients,
                        const std::string& kernel, float width, int n_threads) {
  constexpr size_t kMost = std::numeric_limits<int>::max() / 2;
  require(points.shape(0) <= kMost && support_vectors.shape(0) <= kMost, "too many rows");
  require(points.shape(1) >= 1, "points need a feature");
  require(support_vectors.shape(1) == points.shape(1), "points and support vectors need the same number of features");
  require(coefficients.shape(1) == support_vectors.shape(0), "one coefficient per support vector");
  require(width > 0, "the width must be positive");
  require(n_threads >= 1, "threads must be positive");
  return {kernel_of(kernel), width, support_vectors.data(), static_cast<int>(support_vectors.shape(0)),
          static_cast<int>(points.shape(1)), coefficients.data(), static_cast<int>(coefficients.shape(0))};
}

auto gradients_of(Matrix points, Matrix support_vectors, Matrix coefficients, const std::string& kernel, float width,
                  int n_threads) {
  const KernelSums sums = checked_sums(points, support_vectors, coefficients, kernel, width, n_threads);
  const size_t n = points.shape(0), outputs = sums.n_outputs, d = sums.n_features;
  std::vector<float> out(n * outputs * d);
  {
    nb::gil_scoped_release unlocked;
    gradients(sums, points.data(), static_cast<int>(n), n_threads, out.data());
  }
  return to_numpy(std::move(out), {n, outputs, d});
}

auto mean_squares_of(Matrix points, DoubleVector weights, Matrix support_vectors, Matrix coefficients,
                     const std::string& kernel, float width, int n_threads) {
  const KernelSums sums = checked_sums(points, support_vectors, coefficients, kernel, width, n_threads);
  const size_t n = points.shape(0), outputs = sums.n_outputs, d = sums.n_features;
  require(weights.shape(0) == n, "one weight per point");
  const double* w = weights.data();
  require(std::all_of(w, w + n, [](double weight) { return weight >= 0; }) &&
              std::any_of(w, w + n, [](double weight) { return weight > 0; }),
          "weights must not be negative, and not all zero");
  std::vector<double> out(outputs * d);
  {
    nb::gil_scoped_release unlocked;
    mean_squared_gradients(sums, points.data(), w, static_cast<int>(n), n_threads, out.data());
  }
  return to_numpy(std::move(out), {outputs, d});
}

}  // namespace

void bind_predict(nb::module_& m) {
  m.def("evaluate", &evaluate, "points"_a, "support_vectors"_a, "coefficients"_a, "kernel"_a, "width"_a);
  m.def("gradients", &gradients_of, "points"_a, "support_vectors"_a, "coefficients"_a, "kernel"_a, "width"_a,
        "n_threads"_a = 1);
  m.def("mean_squared_gradients", &mean_squares_of, "points"_a, "weights"_a, "support_vectors"_a, "coefficients"_a,
        "kernel"_a, "width"_a, "n_threads"_a = 1);
}

}  // namespace localsvm
