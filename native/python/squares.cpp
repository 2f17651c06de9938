// The Python face of cells of losses that are squares.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "krylov/square_cell.h"
#include "python/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

namespace {

std::unique_ptr<SquareCell> make_cell(Matrix X, const std::vector<int>& fold_ends, const std::string& kernel,
                                      const CancelToken* token, std::optional<size_t> max_bytes, int n_threads) {
  require_cell(X, fold_ends, n_threads);
  const int n = static_cast<int>(X.shape(0)), d = static_cast<int>(X.shape(1));
  const Kernel kind = kernel_of(kernel);
  const HalfPlan plan(n, d, max_bytes.value_or(std::numeric_limits<size_t>::max()), n_threads);
  nb::gil_scoped_release unlocked;
  return std::make_unique<SquareCell>(X.data(), n, d, fold_ends, kind, plan, n_threads, flag_of(token));
}

std::unique_ptr<SquareCell> part_of(const SquareCell& whole, const std::vector<int>& rows) {
  require(!whole.is_part(), "a part has no parts");
  require_rows_of_part(rows, whole.n());
  return std::make_unique<SquareCell>(whole, rows);
}

void set_width(SquareCell& cell, float width, const CancelToken* token) {
  require(width > 0, "the width must be positive");
  require(!cell.is_part(), "a part has the width of its cell");
  nb::gil_scoped_release unlocked;
  cell.set_width(width, flag_of(token));
}

SquareProblem square_problem(const SquareCell& cell, const Matrix& targets, const Vector& weight,
                             const std::vector<int>& folds, const std::vector<double>& lambdas, double tolerance,
                             int max_iterations) {
  const size_t n = cell.n();
  require(cell.has_width(), "set a width first");
  require(targets.shape(1) == n && weight.shape(0) == n, "targets and weights need one entry per row");
  for (size_t i = 0; i < n; ++i)
    require(weight.data()[i] >= 0 && std::isfinite(weight.data()[i]), "weights must be finite and not negative");
  for (int fold : folds) require(fold >= -1 && fold < cell.n_folds(), "no such fold");
  for (size_t q = 0; q < lambdas.size(); ++q)
    require(lambdas[q] > 0 && (q == 0 || lambdas[q] <= lambdas[q - 1]), "lambdas must be positive and descend");
  require(tolerance > 0 && max_iterations >= 0, "the tolerance must be positive");
  return {targets.data(), static_cast<int>(targets.shape(0)), weight.data(), folds, lambdas, tolerance, max_iterations};
}

nb::tuple square_result(const SquareCell& cell, const SquareProblem& problem, SquareResult result) {
  const size_t n = cell.n(), n_targets = problem.n_targets, n_folds = problem.folds.size();
  const size_t n_lambdas = problem.lambdas.size();
  return nb::make_tuple(to_numpy(std::move(result.beta), {n_targets, n_folds, n_lambdas, n}),
                        to_numpy(std::move(result.values), {n_targets, n_lambdas, n}),
                        to_numpy(std::move(result.gap), {n_targets, n_folds, n_lambdas}),
                        to_numpy(std::move(result.status), {n_targets, n_folds, n_lambdas}),
                        to_numpy(std::move(result.iterations), {n_targets, n_folds, n_lambdas}));
}

nb::tuple ridge(SquareCell& cell, Matrix targets, Vector weight, const std::vector<int>& folds,
                const std::vector<double>& lambdas, double tolerance, int max_iterations, const CancelToken* token,
                int n_threads) {
  require(n_threads >= 1, "at least one thread is needed");
  const SquareProblem problem = square_problem(cell, targets, weight, folds, lambdas, tolerance, max_iterations);
  SquareResult result;
  {
    nb::gil_scoped_release unlocked;
    result = cell.solve_ridge(problem, n_threads, flag_of(token));
  }
  return square_result(cell, problem, std::move(result));
}

nb::tuple expectile(SquareCell& cell, Matrix targets, Vector weight, const std::vector<int>& folds,
                    const std::vector<double>& lambdas, double tau, double tolerance, int max_iterations,
                    const CancelToken* token, int n_threads) {
  require(n_threads >= 1, "at least one thread is needed");
  require(tau > 0 && tau < 1, "tau must lie between 0 and 1");
  const SquareProblem problem = square_problem(cell, targets, weight, folds, lambdas, tolerance, max_iterations);
  SquareResult result;
  {
    nb::gil_scoped_release unlocked;
    result = cell.solve_expectile(problem, tau, n_threads, flag_of(token));
  }
  return square_result(cell, problem, std::move(result));
}

auto kernel_matrix(SquareCell& cell) {
  require(cell.has_width(), "set a width first");
  const size_t n = cell.n();
  std::vector<float> values(n * n);
  cell.copy_kernel(values.data());
  return to_numpy(std::move(values), {n, n});
}

}  // namespace

void bind_squares(nb::module_& m) {
  nb::class_<SquareCell>(m, "SquareCell", "Kernel matrix, and least squares and expectiles on it, of one cell.")
      .def(nb::new_(&make_cell), "X"_a, "fold_ends"_a, "kernel"_a, "token"_a.none() = nb::none(),
           "max_bytes"_a.none() = nb::none(), "n_threads"_a = 1)
      .def("part", &part_of, "rows"_a, nb::keep_alive<0, 1>())
      .def("set_width", &set_width, "width"_a, "token"_a.none() = nb::none())
      .def("solve_ridge", &ridge, "targets"_a, "weight"_a, "folds"_a, "lambdas"_a, "tolerance"_a,
           "max_iterations"_a, "token"_a.none() = nb::none(), "n_threads"_a = 1)
      .def("solve_expectile", &expectile, "targets"_a, "weight"_a, "folds"_a, "lambdas"_a, "tau"_a, "tolerance"_a,
           "max_iterations"_a, "token"_a.none() = nb::none(), "n_threads"_a = 1)
      .def("kernel_matrix", &kernel_matrix)
      .def_prop_ro("storage", [](const SquareCell& cell) { return std::string(name_of(cell.storage())); });
}

}  // namespace localsvm
