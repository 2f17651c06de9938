// The Python face of cells and evaluation, and the module.
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
#include <set>
#include <stdexcept>
#include <string>

#include "predict/evaluate.h"
#include "python/bindings.h"
#include "simd/ops.h"
#include "smo/cell.h"
#include "smo/paths.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace localsvm;

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

}  // namespace localsvm

namespace {

std::unique_ptr<Cell> make_cell(Matrix X, const std::vector<int>& fold_ends, const std::string& kernel,
                                const CancelToken* token, std::optional<size_t> max_bytes, int n_threads) {
  const size_t n = X.shape(0), d = X.shape(1);
  require_cell(X, fold_ends, n_threads);
  const Kernel kind = kernel_of(kernel);
  const StoragePlan plan(static_cast<int>(n), static_cast<int>(d),
                         max_bytes.value_or(std::numeric_limits<size_t>::max()), n_threads);
  nb::gil_scoped_release unlocked;
  return std::make_unique<Cell>(X.data(), static_cast<int>(n), static_cast<int>(d), fold_ends, kind, plan, n_threads,
                                flag_of(token));
}

int add_problem(Cell& cell, Vector target, Vector lo, Vector hi, float clip) {
  const auto n = static_cast<size_t>(cell.n());
  require(target.shape(0) == n && lo.shape(0) == n && hi.shape(0) == n, "a problem needs one entry per row");
  for (size_t i = 0; i < n; ++i) require(lo.data()[i] <= 0 && hi.data()[i] >= 0, "every box must contain 0");
  require(clip > 0, "the clipping bound must be positive");
  return cell.add_problem(target.data(), lo.data(), hi.data(), clip);
}

void set_width(Cell& cell, float width, const CancelToken* token) {
  require(width > 0, "the width must be positive");
  require(!cell.is_part(), "a part has the width of its cell");
  nb::gil_scoped_release unlocked;
  cell.set_width(width, flag_of(token));
}

nb::tuple solve_path(const Cell& cell, int problem, int fold, const std::vector<double>& lambdas, double total_weight,
                     double tolerance, int64_t max_steps, const CancelToken* token) {
  require(problem >= 0 && problem < cell.n_problems(), "no such problem");
  require(problem < cell.n_prepared(), "set a width after the problem was added");
  require(fold >= -1 && fold < cell.n_folds(), "no such fold");
  require(total_weight > 0 && tolerance > 0 && max_steps >= 0, "weights and tolerance must be positive");
  for (size_t q = 0; q < lambdas.size(); ++q)
    require(lambdas[q] > 0 && (q == 0 || lambdas[q] <= lambdas[q - 1]), "lambdas must be positive and descend");
  PathResult result;
  {
    nb::gil_scoped_release unlocked;
    result = cell.solve_path(problem, fold, lambdas, total_weight,
                             {tolerance, max_steps, flag_of(token)});
  }
  const size_t n_lambdas = lambdas.size(), n = cell.n();
  const size_t n_left_out = fold < 0 ? 0 : cell.fold_range(fold).size();
  result.gap.resize(n_lambdas, std::numeric_limits<double>::quiet_NaN());
  result.status.resize(n_lambdas, static_cast<int8_t>(Status::cancelled));
  result.steps.resize(n_lambdas);
  return nb::make_tuple(to_numpy(std::move(result.beta), {n_lambdas, n}),
                        to_numpy(std::move(result.values), {n_lambdas, n_left_out}),
                        to_numpy(std::move(result.gap), {n_lambdas}), to_numpy(std::move(result.status), {n_lambdas}),
                        to_numpy(std::move(result.steps), {n_lambdas}));
}

bool has_width(const Cell& cell) { return (cell.is_part() ? *cell.whole() : cell).has_width(); }

std::unique_ptr<Cell> part_of(const Cell& whole, const std::vector<int>& rows, const CancelToken* token) {
  require(!whole.is_part(), "a part has no parts");
  require_rows_of_part(rows, whole.n());
  nb::gil_scoped_release unlocked;
  return std::make_unique<Cell>(whole, rows, flag_of(token));
}

// Paths of problem `problems`[j] of `cells`[j], with lambdas[j] (row j, `n_lambdas`[j] of them) and total_weights[j] by fold.
nb::tuple solve_many(const std::vector<Cell*>& cells, const std::vector<int>& problems, const std::vector<int>& folds,
                     DoubleMatrix lambdas, const std::vector<int>& n_lambdas, DoubleMatrix total_weights,
                     double tolerance, int64_t max_steps, int8_t skipped, int n_threads, const CancelToken* token,
                     std::optional<Matrix> guesses) {
  const size_t n_jobs = cells.size(), n_folds = folds.size();
  require(problems.size() == n_jobs && n_lambdas.size() == n_jobs && lambdas.shape(0) == n_jobs &&
              total_weights.shape(0) == n_jobs && total_weights.shape(1) == n_folds,
          "one problem, one row of lambdas and one of weights per cell are needed");
  require(tolerance > 0 && max_steps >= 0 && n_threads >= 1, "tolerance and threads must be positive");
  std::vector<PathJob> jobs(n_jobs);
  std::set<const Cell*> parts;
  size_t n_columns = 0;
  for (size_t j = 0; j < n_jobs; ++j) {
    require(cells[j] != nullptr, "a cell is missing");
    const Cell& cell = *cells[j];
    require(problems[j] >= 0 && problems[j] < cell.n_problems(), "no such problem");
    require(has_width(cell), "set a width first");
    require(cell.is_part() || problems[j] < cell.n_prepared(), "set a width after the problem was added");
    require(n_lambdas[j] >= 0 && n_lambdas[j] <= static_cast<int>(lambdas.shape(1)), "too many lambdas");
    for (const int fold : folds) require(fold >= -1 && fold < cell.n_folds(), "no such fold");
    if (cell.is_part()) require(parts.insert(&cell).second, "a part can be in one job only");
    const double* row = lambdas.data() + j * lambdas.shape(1);
    for (int q = 0; q < n_lambdas[j]; ++q)
      require(row[q] > 0 && (q == 0 || row[q] <= row[q - 1]), "lambdas must be positive and descend");
    const double* weights = total_weights.data() + j * n_folds;
    for (size_t f = 0; f < n_folds; ++f) require(weights[f] > 0, "weights must be positive");
    jobs[j] = {cells[j], problems[j], {row, row + n_lambdas[j]}, {weights, weights + n_folds}};
    n_columns += cell.n();
  }
  require(!guesses || (guesses->shape(0) == n_folds && guesses->shape(1) == n_columns),
          "guesses need one row per fold and one column per sample of a problem");
  PathsResult result;
  {
    nb::gil_scoped_release unlocked;
    result = solve_paths(jobs, folds, {tolerance, max_steps, flag_of(token)}, n_threads, skipped,
                         guesses ? guesses->data() : nullptr);
  }
  const size_t L = result.n_lambdas, N = result.n_columns;
  return nb::make_tuple(to_numpy(std::move(result.beta), {n_folds, L, N}), to_numpy(std::move(result.values), {L, N}),
                        to_numpy(std::move(result.gap), {n_jobs, n_folds, L}),
                        to_numpy(std::move(result.status), {n_jobs, n_folds, L}),
                        to_numpy(std::move(result.steps), {n_jobs, n_folds, L}),
                        to_numpy(std::move(result.loss), {n_jobs, n_folds, L}),
                        to_numpy(std::move(result.wrong), {n_jobs, n_folds, L}), result.seconds);
}

// All rows of a symmetric matrix that a cell copies row by row.
auto square(const Cell& cell, void (Cell::*copy_row)(int, float*) const) {
  const auto n = static_cast<size_t>(cell.n());
  std::vector<float> values(n * n);
  Aligned<float> row(padded(n));
  for (size_t i = 0; i < n; ++i) {
    (cell.*copy_row)(static_cast<int>(i), row.data());
    std::copy_n(row.data(), n, values.data() + i * n);
  }
  return to_numpy(std::move(values), {n, n});
}

auto neighbours_of(const Cell& cell) {
  std::vector<int32_t> indices;
  for (int i = 0; i < cell.n(); ++i) indices.insert(indices.end(), cell.neighbours(i), cell.neighbours(i) + kNeighbours);
  return to_numpy(std::move(indices), {static_cast<size_t>(cell.n()), kNeighbours});
}

nb::dict row_counts(const Cell& cell) {
  const RowCounts counts = cell.cache() ? cell.cache()->counts() : RowCounts{};
  nb::dict result;
  result["held"] = cell.cache() ? cell.cache()->n_held() : 0;
  result["hits"] = counts.hits;
  result["misses"] = counts.misses;
  result["settle_hits"] = counts.settle_hits;
  result["settle_misses"] = counts.settle_misses;
  return result;
}

// The distances, as the kernel takes them, of some samples from all of them: (rows, n).
auto distances_of(Matrix X, const std::vector<int>& rows, const std::string& kernel) {
  const size_t n = X.shape(0), ld = padded(n);
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

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const char* const* name = available_levels(); *name; ++name) names.emplace_back(*name);
  return names;
}

void choose_level(const std::string& name) {
  if (!set_simd_level(name.c_str())) throw std::invalid_argument("this machine has no SIMD level '" + name + "'");
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The native core of localsvm: distances, kernels, the box-constrained solver, evaluation.";

  nb::class_<CancelToken>(m, "CancelToken", "A flag that stops native work from another thread.")
      .def(nb::init<>())
      .def("cancel", [](CancelToken& token) { token.flag = true; })
      .def_prop_ro("cancelled", [](const CancelToken& token) { return token.flag.load(); });

  nb::class_<Cell>(m, "Cell", "Distances, kernel matrix and lambda paths of one cell.")
      .def(nb::new_(&make_cell), "X"_a, "fold_ends"_a, "kernel"_a, "token"_a.none() = nb::none(),
           "max_bytes"_a.none() = nb::none(), "n_threads"_a = 1)
      .def("add_problem", &add_problem, "target"_a, "lo"_a, "hi"_a, "clip"_a)
      .def("set_width", &set_width, "width"_a, "token"_a.none() = nb::none())
      .def("solve_path", &solve_path, "problem"_a, "fold"_a, "lambdas"_a, "total_weight"_a, "tolerance"_a,
           "max_steps"_a, "token"_a.none() = nb::none())
      .def("part", &part_of, "rows"_a, "token"_a.none() = nb::none(), nb::keep_alive<0, 1>())
      .def("distances", [](const Cell& cell) { return square(cell, &Cell::copy_distances); })
      .def("neighbours", &neighbours_of)
      .def("kernel_matrix",
           [](const Cell& cell) {
             require(has_width(cell), "set a width first");
             return square(cell, &Cell::copy_kernel);
           })
      .def_prop_ro("storage", [](const Cell& cell) { return std::string(name_of(cell.storage())); })
      .def_prop_ro("row_counts", &row_counts);

  m.def("solve_paths", &solve_many, "cells"_a, "problems"_a, "folds"_a, "lambdas"_a, "n_lambdas"_a, "total_weights"_a,
        "tolerance"_a, "max_steps"_a, "skipped"_a, "n_threads"_a = 1, "token"_a.none() = nb::none(),
        "guesses"_a.none() = nb::none());
  m.def("distances", &distances_of, "X"_a, "rows"_a, "kernel"_a);
  m.def("kernel_values", &kernel_values, "kernel"_a, "width"_a, "distances"_a);
  m.def("evaluate", &evaluate, "points"_a, "support_vectors"_a, "coefficients"_a, "kernel"_a, "width"_a);
  m.def("simd_level", [] { return std::string(simd_level()); });
  m.def("available_simd_levels", &level_names);
  m.def("set_simd_level", &choose_level, "name"_a);
  bind_squares(m);
  bind_partition(m);
  bind_gradient(m);
}
