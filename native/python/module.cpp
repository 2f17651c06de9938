// The Python module: cancellation, stop rules, results, SIMD levels, distances and kernel values; the other files of
// this folder add the rest.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "core/aligned.h"
#include "core/certificate.h"
#include "kernel/samples.h"
#include "python/bindings.h"
#include "simd/ops.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

Kernel kernel_of(const std::string& name) {
  if (name == "gauss") return Kernel::gauss;
  if (name == "laplace") return Kernel::laplace;
  if (name == "manhattan") return Kernel::manhattan;
  throw std::invalid_argument("kernel must be 'gauss', 'laplace' or 'manhattan', got '" + name + "'");
}

void require_cell(const Matrix& X, const std::vector<int>& fold_ends, int n_threads) {
  constexpr size_t kMaxRows = 1 << 20;  // the solver keeps an index inside a float's bits
  const size_t n = X.shape(0);
  require(n >= 1 && n <= kMaxRows, "a cell needs between 1 and 2**20 rows");
  require(X.shape(1) >= 1, "a cell needs at least one feature");
  as_int(X.shape(1), "features");
  require_finite(X, "samples");
  require(!fold_ends.empty() && fold_ends.back() == static_cast<int>(n), "the last fold must end at the last row");
  for (size_t l = 0; l < fold_ends.size(); ++l)
    require(fold_ends[l] >= (l == 0 ? 0 : fold_ends[l - 1]), "fold ends must not decrease");
  require(n_threads >= 1, "a cell needs at least one thread");
}

void require_rows_of_part(const std::vector<int>& rows, int n_rows_of_whole) {
  require(!rows.empty(), "a part needs at least one row");
  for (size_t i = 0; i < rows.size(); ++i)
    require(rows[i] >= 0 && rows[i] < n_rows_of_whole && (i == 0 || rows[i] > rows[i - 1]),
            "rows of a part must ascend within the cell");
}

void require_lams(const std::vector<double>& lams) {
  for (size_t q = 0; q < lams.size(); ++q)
    require(lams[q] > 0 && std::isfinite(lams[q]) && (q == 0 || lams[q] <= lams[q - 1]), "lams must be positive and descend");
}

namespace {

void make_stop_rule(StopRule* self, double tolerance, int64_t max_steps, const CancelToken* token) {
  require(tolerance > 0 && max_steps >= 0, "the tolerance must be positive, and max_steps not negative");
  new (self) StopRule{tolerance, max_steps, flag_of(token)};
}

// Distances, as the kernel takes them, of some samples from all of them: (rows, n).
auto distances_of(Matrix X, const std::vector<int>& rows, const std::string& kernel) {
  const size_t n = X.shape(0), ld = padded(n);
  as_int(n, "samples");
  as_int(X.shape(1), "features");
  for (const int row : rows) require(row >= 0 && static_cast<size_t>(row) < n, "rows must be rows of X");
  const Kernel kind = kernel_of(kernel);
  std::vector<float> values(rows.size() * n);
  {
    nb::gil_scoped_release unlocked;
    const Samples samples(X.data(), static_cast<int>(n), static_cast<int>(X.shape(1)));
    Aligned<float> padded_rows(rows.size() * ld);
    std::vector<float*> out(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) out[r] = padded_rows.data() + r * ld;
    samples.distances(kind, rows.data(), static_cast<int>(rows.size()), {0, static_cast<int>(ld)}, out.data());
    for (size_t r = 0; r < rows.size(); ++r) std::copy_n(out[r], n, values.data() + r * n);
  }
  return to_numpy(std::move(values), {rows.size(), n});
}

auto kernel_values(const std::string& kernel, float width, Vector distances) {
  const size_t n = distances.shape(0);
  Aligned<float> padded_values(padded(n));
  std::copy(distances.data(), distances.data() + n, padded_values.data());
  ops().kernel_values(kernel_of(kernel), width, padded_values.data(), padded_values.data(), padded(n));
  return to_numpy(std::vector<float>(padded_values.data(), padded_values.data() + n), {n});
}

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const char* const* name = available_levels(); *name; ++name) names.emplace_back(*name);
  return names;
}

void choose_level(const std::string& name) {
  if (!set_simd_level(name.c_str())) throw std::invalid_argument("this machine has no SIMD level '" + name + "'");
}

}  // namespace

}  // namespace localsvm

using namespace localsvm;

NB_MODULE(_native, m) {
  // Fitted models hold packed cells; those that live until the interpreter ends are no mistake to report.
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::bad_alloc& no_memory) {
      PyErr_Format(PyExc_MemoryError,
                   "memory is exhausted (%s). Allow less with max_memory, use fewer threads with n_jobs, or make cells "
                   "smaller with cell_size.",
                   no_memory.what());
    }
  });
  m.doc() = "The native core of localsvm: distances, kernels, solvers, partitions, evaluation.";

  nb::class_<CancelToken>(m, "CancelToken", "A flag that stops native work from another thread.")
      .def(nb::init<>())
      .def("cancel", [](CancelToken& token) { token.flag = true; })
      .def_prop_ro("cancelled", [](const CancelToken& token) { return token.flag.load(); });

  nb::class_<StopRule>(m, "StopRule", "When a solver stops: at a duality gap, after so many steps, or when cancelled.")
      .def("__init__", &make_stop_rule, "tolerance"_a, "max_steps"_a, "token"_a.none() = nb::none(),
           nb::keep_alive<1, 4>())
      .def_ro("tolerance", &StopRule::tolerance)
      .def_ro("max_steps", &StopRule::max_steps);

  nb::class_<Solutions>(m, "Solutions", "Coefficients, validation values and certificates.")
      .def_ro("beta", &Solutions::beta)
      .def_ro("values", &Solutions::values)
      .def_ro("gap", &Solutions::gap)
      .def_ro("status", &Solutions::status)
      .def_ro("steps", &Solutions::steps);

  nb::list names;
  for (const char* name : kStatusNames) names.append(name);
  m.attr("STATUS") = nb::tuple(names);

  m.def("distances", &distances_of, "X"_a, "rows"_a, "kernel"_a);
  m.def("kernel_values", &kernel_values, "kernel"_a, "width"_a, "distances"_a);
  m.def("simd_level", [] { return std::string(simd_level()); });
  m.def("available_simd_levels", &level_names);
  m.def("set_simd_level", &choose_level, "name"_a);
  bind_cell(m);
  bind_data(m);
  bind_square_cell(m);
  bind_memory(m);
  bind_partition(m);
  bind_predict(m);
}
