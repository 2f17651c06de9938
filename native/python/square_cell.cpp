// The binding of cells whose losses are squares: least squares and expectiles.
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

void require_solvable(const SquareCell& cell, const float* weight, size_t n_weights, const std::vector<int>& folds,
                      const std::vector<double>& lams) {
  require(cell.has_width(), "set a width first");
  for (size_t i = 0; i < n_weights; ++i)
    require(weight[i] >= 0 && std::isfinite(weight[i]), "weights must be finite and not negative");
  for (int fold : folds) require(fold >= -1 && fold < cell.n_folds(), "no such fold");
  require_lams(lams);
}

SquareProblem make_problem(const SquareCell& cell, const Matrix& targets, const Vector& weight,
                           const std::vector<int>& folds, const std::vector<double>& lams, const StopRule& stop) {
  const size_t n = cell.n();
  require(targets.shape(1) == n && weight.shape(0) == n, "targets and weights need one entry per row");
  require_finite(targets, "targets");
  require_solvable(cell, weight.data(), n, folds, lams);
  return {targets.data(), static_cast<int>(targets.shape(0)), weight.data(), false, folds, lams, stop, 0, {}};
}

SquareProblem make_problem_of_folds(const SquareCell& cell, const Cube& targets, const Cube& weights,
                                    const std::vector<int>& folds, const std::vector<double>& lams,
                                    const StopRule& stop) {
  const size_t n_targets = targets.shape(0), n_folds = folds.size(), n = cell.n();
  for (const Cube& given : {targets, weights})
    require(given.shape(0) == n_targets && given.shape(1) == n_folds && given.shape(2) == n,
            "targets and weights need one entry per target, fold and row");
  require_finite(targets.data(), targets.size(), "targets");
  require_solvable(cell, weights.data(), n_targets * n_folds * n, folds, lams);
  return {targets.data(), static_cast<int>(n_targets), weights.data(), true, folds, lams, stop, 0, {}};
}

// Solves with the GIL released: beta (target, fold, lam, row), values (target, lam, row), certificates (target, fold,
// lam).
template <typename Solve>
Solutions solve(const SquareCell& cell, const SquareProblem& problem, int n_threads, const Solve& solve_problem) {
  require(n_threads >= 1, "at least one thread is needed");
  SquareResult result;
  {
    nb::gil_scoped_release unlocked;
    result = solve_problem(problem);
  }
  const size_t n = cell.n(), T = problem.n_targets, F = problem.folds.size(), L = problem.lams.size();
  return {to_numpy(std::move(result.beta), {T, F, L, n}), to_numpy(std::move(result.values), {T, L, n}),
          to_numpy(std::move(result.gap), {T, F, L}), to_numpy(std::move(result.status), {T, F, L}),
          to_numpy(std::move(result.steps), {T, F, L})};
}

Solutions solve_ridge(SquareCell& cell, SquareProblem problem, int n_threads, int patience,
                      const std::vector<float>& clip) {
  require(patience >= 0, "patience must not be negative");
  require(patience == 0 || clip.size() == static_cast<size_t>(problem.n_targets),
          "a path that may end early needs a bound for each target");
  for (float bound : clip) require(bound > 0, "bounds must be positive");
  problem.patience = patience;
  problem.clip = clip;
  return solve(cell, problem, n_threads, [&](const SquareProblem& given) { return cell.solve_ridge(given, n_threads); });
}

Solutions ridge(SquareCell& cell, Matrix targets, Vector weight, const std::vector<int>& folds,
                const std::vector<double>& lams, const StopRule& stop, int n_threads, int patience,
                const std::vector<float>& clip) {
  return solve_ridge(cell, make_problem(cell, targets, weight, folds, lams, stop), n_threads, patience, clip);
}

Solutions ridge_of_folds(SquareCell& cell, Cube targets, Cube weights, const std::vector<int>& folds,
                         const std::vector<double>& lams, const StopRule& stop, int n_threads, int patience) {
  const SquareProblem problem = make_problem_of_folds(cell, targets, weights, folds, lams, stop);
  const std::vector<float> no_bounds(targets.shape(0), std::numeric_limits<float>::infinity());
  return solve_ridge(cell, problem, n_threads, patience, no_bounds);
}

Solutions expectile(SquareCell& cell, Matrix targets, Vector weight, const std::vector<int>& folds,
                    const std::vector<double>& lams, double tau, const StopRule& stop, int n_threads) {
  require(tau > 0 && tau < 1, "tau must lie between 0 and 1");
  return solve(cell, make_problem(cell, targets, weight, folds, lams, stop), n_threads,
               [&](const SquareProblem& problem) { return cell.solve_expectile(problem, tau, n_threads); });
}

nb::object multiply(SquareCell& cell, Matrix x, int n_threads) {
  require(cell.has_width(), "set a width first");
  require(n_threads >= 1, "at least one thread is needed");
  const size_t n_vectors = x.shape(0), n = cell.n();
  require(x.shape(1) == n, "a vector needs one entry per row");
  std::vector<float> products;
  {
    nb::gil_scoped_release unlocked;
    products = cell.multiply(x.data(), n_vectors, n_threads);
  }
  return to_numpy(std::move(products), {n_vectors, n});
}

auto kernel_matrix(SquareCell& cell) {
  require(cell.has_width(), "set a width first");
  const size_t n = cell.n();
  std::vector<float> values(n * n);
  cell.copy_kernel(values.data());
  return to_numpy(std::move(values), {n, n});
}

}  // namespace

void bind_square_cell(nb::module_& m) {
  nb::class_<SquareCell>(m, "SquareCell", "Kernel matrix of one cell, and least squares and expectiles on it.")
      .def(nb::new_(&make_cell), "X"_a, "fold_ends"_a, "kernel"_a, "token"_a.none() = nb::none(),
           "max_bytes"_a.none() = nb::none(), "n_threads"_a = 1)
      .def("part", &part_of, "rows"_a, nb::keep_alive<0, 1>())
      .def("set_width", &set_width, "width"_a, "token"_a.none() = nb::none())
      .def("solve_ridge", &ridge, "targets"_a, "weight"_a, "folds"_a, "lams"_a, "stop"_a, "n_threads"_a = 1,
           "patience"_a = 0, "clip"_a = std::vector<float>())
      .def("solve_ridge_of_folds", &ridge_of_folds, "targets"_a, "weights"_a, "folds"_a, "lams"_a, "stop"_a,
           "n_threads"_a = 1, "patience"_a = 0)
      .def("multiply", &multiply, "x"_a, "n_threads"_a = 1)
      .def("solve_expectile", &expectile, "targets"_a, "weight"_a, "folds"_a, "lams"_a, "tau"_a, "stop"_a,
           "n_threads"_a = 1)
      .def("kernel_matrix", &kernel_matrix)
      .def_prop_ro("storage", [](const SquareCell& cell) { return std::string(name_of(cell.storage())); });
}

}  // namespace localsvm
