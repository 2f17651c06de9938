// The binding of decision values and their derivatives.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DoubleMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr size_t kMostRows = std::numeric_limits<int>::max() / 2;

void make_packed_cell(PackedCell* self, int n_features, DoubleVector constants, DoubleMatrix bounds) {
  const size_t n = constants.shape(0);
  require(n_features >= 1, "a cell needs at least one feature");
  require(bounds.shape(0) == n && bounds.shape(1) == 2, "two bounds per constant");
  new (self) PackedCell(n_features, {constants.data(), constants.data() + n}, {bounds.data(), bounds.data() + 2 * n});
}

void add_sum(PackedCell& cell, Matrix support_vectors, Matrix coefficients, const std::vector<int>& outputs,
             const std::string& kernel, float width) {
  require(support_vectors.shape(0) <= kMostRows, "too many support vectors");
  require(support_vectors.shape(1) == static_cast<size_t>(cell.n_features()),
          "points and support vectors need the same number of features");
  require(coefficients.shape(0) == outputs.size() && coefficients.shape(1) == support_vectors.shape(0),
          "one coefficient per output and support vector");
  require(width > 0, "the width must be positive");
  for (const int output : outputs) require(output >= 0 && output < cell.n_outputs(), "a sum belongs to an output");
  const SumOfKernels sum{kernel_of(kernel),     width, support_vectors.data(), static_cast<int>(support_vectors.shape(0)),
                         cell.n_features(), coefficients.data(), outputs};
  nb::gil_scoped_release unlocked;
  cell.add(sum);
}

void require_points(const Matrix& points, const PackedCell& cell, size_t n_outputs) {
  require(points.shape(1) == static_cast<size_t>(cell.n_features()), "points have as many features as the cells");
  require(n_outputs == static_cast<size_t>(cell.n_outputs()), "values have as many columns as the cells have outputs");
}

auto values_of(const PackedCell& cell, Matrix points) {
  const size_t n = points.shape(0), n_outputs = cell.n_outputs();
  require(n <= kMostRows, "too many rows");
  require_points(points, cell, n_outputs);
  std::vector<double> values(n * n_outputs);
  {
    nb::gil_scoped_release unlocked;
    const std::vector<int> slots(n, 0);
    evaluate_rows(points.data(), slots, {&cell}, 1, values.data());
  }
  return to_numpy(std::move(values), {n, n_outputs});
}

// The place of every label among `present`, or -1.
std::vector<int> slots_of(const Labels& labels, const Labels& present) {
  const size_t n = labels.shape(0), n_present = present.shape(0);
  std::vector<int> slots(n, -1);
  if (n_present == 1) {  // no table for a single row
    for (size_t i = 0; i < n; ++i) slots[i] = labels(i) == present(0) ? 0 : -1;
    return slots;
  }
  int32_t last = -1;
  for (size_t c = 0; c < n_present; ++c) last = std::max(last, present(c));
  std::vector<int> slot_of(static_cast<size_t>(last) + 1, -1);
  for (size_t c = 0; c < n_present; ++c) {
    require(present(c) >= 0, "labels must not be negative");
    slot_of[present(c)] = static_cast<int>(c);
  }
  for (size_t i = 0; i < n; ++i)
    if (labels(i) >= 0 && labels(i) <= last) slots[i] = slot_of[labels(i)];
  return slots;
}

void evaluate_cells(Matrix points, Labels labels, Labels present, nb::list cells, Values values, int n_threads) {
  const size_t n = points.shape(0);
  require(n <= kMostRows, "too many rows");
  require(labels.shape(0) == n && values.shape(0) == n, "a label and values for every point");
  require(present.shape(0) == cells.size(), "a cell for every label that is present");
  require(n_threads >= 1, "threads must be positive");
  std::vector<const PackedCell*> packed;
  packed.reserve(cells.size());
  for (const nb::handle cell : cells) {
    packed.push_back(nb::cast<const PackedCell*>(cell));
    require(packed.back() != nullptr, "cells must be packed");
    require_points(points, *packed.back(), values.shape(1));
  }
  nb::gil_scoped_release unlocked;
  evaluate_rows(points.data(), slots_of(labels, present), packed, n_threads, values.data());
}

KernelSums checked_sums(const Matrix& points, const Matrix& support_vectors, const Matrix& coefficients,
                        const std::string& kernel, float width, int n_threads) {
  require(points.shape(0) <= kMostRows && support_vectors.shape(0) <= kMostRows, "too many rows");
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
  nb::class_<PackedCell>(m, "PackedCell", "The functions of a cell, packed for evaluation.")
      .def("__init__", &make_packed_cell, "n_features"_a, "constants"_a, "bounds"_a)
      .def("add_sum", &add_sum, "support_vectors"_a, "coefficients"_a, "outputs"_a, "kernel"_a, "width"_a)
      .def("values", &values_of, "points"_a)
      .def_prop_ro("n_bytes", &PackedCell::bytes);
  m.def("evaluate_cells", &evaluate_cells, "points"_a, "labels"_a, "present"_a, "cells"_a, "values"_a,
        "n_threads"_a = 1);
  m.def("gradients", &gradients_of, "points"_a, "support_vectors"_a, "coefficients"_a, "kernel"_a, "width"_a,
        "n_threads"_a = 1);
  m.def("mean_squared_gradients", &mean_squares_of, "points"_a, "weights"_a, "support_vectors"_a, "coefficients"_a,
        "kernel"_a, "width"_a, "n_threads"_a = 1);
}

}  // namespace localsvm
