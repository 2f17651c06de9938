// The binding of cells whose losses have a box-constrained dual, and of their lambda paths.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "python/bindings.h"
#include "smo/cell.h"
#include "smo/paths.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

namespace {

// Results of many paths.
struct PathSolutions : Solutions {
  nb::object loss, wrong;
  double seconds;
};

std::unique_ptr<Cell> make_cell(Matrix X, const std::vector<int>& fold_ends, const std::string& kernel,
                                const CancelToken* token, std::optional<size_t> max_bytes, int n_threads) {
  require_cell(X, fold_ends, n_threads);
  const int n = static_cast<int>(X.shape(0)), d = static_cast<int>(X.shape(1));
  const Kernel kind = kernel_of(kernel);
  const StoragePlan plan(n, d, max_bytes.value_or(std::numeric_limits<size_t>::max()), n_threads);
  nb::gil_scoped_release unlocked;
  return std::make_unique<Cell>(X.data(), n, d, fold_ends, kind, plan, n_threads, flag_of(token));
}

std::unique_ptr<Cell> part_of(const Cell& whole, const std::vector<int>& rows, const CancelToken* token) {
  require(!whole.is_part(), "a part has no parts");
  require_rows_of_part(rows, whole.n());
  nb::gil_scoped_release unlocked;
  return std::make_unique<Cell>(whole, rows, flag_of(token));
}

int add_problem(Cell& cell, Vector target, Vector lo, Vector hi, float clip) {
  const auto n = static_cast<size_t>(cell.n());
  require(target.shape(0) == n && lo.shape(0) == n && hi.shape(0) == n, "a problem needs one entry per row");
  require_finite(target.data(), n, "targets");
  for (size_t i = 0; i < n; ++i)
    require(lo.data()[i] <= 0 && hi.data()[i] >= 0 && std::isfinite(hi.data()[i] - lo.data()[i]),
            "every box must be finite and contain 0");
  require(clip > 0, "the clipping bound must be positive");
  return cell.add_problem(target.data(), lo.data(), hi.data(), clip);
}

void set_width(Cell& cell, float width, const CancelToken* token) {
  require(width > 0, "the width must be positive");
  require(!cell.is_part(), "a part has the width of its cell");
  nb::gil_scoped_release unlocked;
  cell.set_width(width, flag_of(token));
}

bool has_width(const Cell& cell) { return (cell.is_part() ? *cell.whole() : cell).has_width(); }

// One path, by lam: beta (lam, row), values (lam, row of the validation fold), certificates (lam).
Solutions solve_one(const Cell& cell, int problem, int fold, const std::vector<double>& lams, double total_weight,
                    const StopRule& stop) {
  require(problem >= 0 && problem < cell.n_problems(), "no such problem");
  require(problem < cell.n_prepared(), "set a width after the problem was added");
  require(fold >= -1 && fold < cell.n_folds(), "no such fold");
  require(total_weight > 0 && std::isfinite(total_weight), "the total weight must be positive and finite");
  require_lams(lams);
  PathResult result;
  {
    nb::gil_scoped_release unlocked;
    result = cell.solve_path(problem, fold, lams, total_weight, stop);
  }
  const size_t n_lams = lams.size(), n = cell.n(), n_validation = fold < 0 ? 0 : cell.fold_range(fold).size();
  result.gap.resize(n_lams, std::numeric_limits<double>::quiet_NaN());
  result.status.resize(n_lams, static_cast<int8_t>(Status::cancelled));
  result.steps.resize(n_lams);
  return {to_numpy(std::move(result.beta), {n_lams, n}), to_numpy(std::move(result.values), {n_lams, n_validation}),
          to_numpy(std::move(result.gap), {n_lams}), to_numpy(std::move(result.status), {n_lams}),
          to_numpy(std::move(result.steps), {n_lams})};
}

void make_job(PathJob* self, Cell& cell, int problem, std::vector<double> lams, std::vector<double> total_weights) {
  require(problem >= 0 && problem < cell.n_problems(), "no such problem");
  require_lams(lams);
  for (const double weight : total_weights) require(weight > 0 && std::isfinite(weight), "weights must be positive and finite");
  new (self) PathJob{&cell, problem, std::move(lams), std::move(total_weights)};
}

void require_jobs(const std::vector<PathJob>& jobs, const std::vector<int>& folds) {
  std::set<const Cell*> parts;
  for (const PathJob& job : jobs) {
    const Cell& cell = *job.cell;
    require(job.total_weights.size() == folds.size(), "a job needs one total weight per fold");
    require(has_width(cell), "set a width first");
    require(cell.is_part() || job.problem < cell.n_prepared(), "set a width after the problem was added");
    for (const int fold : folds) require(fold >= -1 && fold < cell.n_folds(), "no such fold");
    if (cell.is_part()) require(parts.insert(&cell).second, "a part can be in one job only");
  }
}

PathSolutions solve_many(const std::vector<PathJob>& jobs, const std::vector<int>& folds, const StopRule& stop,
                         int n_threads, std::optional<Matrix> guesses) {
  require(n_threads >= 1, "at least one thread is needed");
  require_jobs(jobs, folds);
  size_t n_columns = 0;
  for (const PathJob& job : jobs) n_columns += job.cell->n();
  require(!guesses || (guesses->shape(0) == folds.size() && guesses->shape(1) == n_columns),
          "guesses need one row per fold and one column per sample of a problem");
  if (guesses) require_finite(*guesses, "guesses");
  as_int(n_columns, "samples of problems");
  PathsResult result;
  {
    nb::gil_scoped_release unlocked;
    result = solve_paths(jobs, folds, stop, n_threads, guesses ? guesses->data() : nullptr);
  }
  const size_t J = jobs.size(), F = folds.size(), L = result.n_lams, N = result.n_columns;
  return {{to_numpy(std::move(result.beta), {F, L, N}), to_numpy(std::move(result.values), {L, N}),
           to_numpy(std::move(result.gap), {J, F, L}), to_numpy(std::move(result.status), {J, F, L}),
           to_numpy(std::move(result.steps), {J, F, L})},
          to_numpy(std::move(result.loss), {J, F, L}),
          to_numpy(std::move(result.wrong), {J, F, L}),
          result.seconds};
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

auto kernel_matrix(const Cell& cell) {
  require(has_width(cell), "set a width first");
  return square(cell, &Cell::copy_kernel);
}

auto neighbours_of(const Cell& cell) {
  std::vector<int32_t> indices;
  for (int i = 0; i < cell.n(); ++i)
    indices.insert(indices.end(), cell.neighbours(i), cell.neighbours(i) + kNeighbours);
  return to_numpy(std::move(indices), {static_cast<size_t>(cell.n()), kNeighbours});
}

nb::dict row_counts(const Cell& cell) {
  const RowCounts counts = cell.cache() ? cell.cache()->counts() : RowCounts{};
  nb::dict result;
  result["held"] = cell.cache() ? cell.cache()->n_held() : 0;
  result["hits"] = counts.hits;
  result["misses"] = counts.misses;
  result["refresh_hits"] = counts.refresh_hits;
  result["refresh_misses"] = counts.refresh_misses;
  return result;
}

}  // namespace

void bind_cell(nb::module_& m) {
  nb::class_<Cell>(m, "Cell", "Distances, kernel matrix and lambda paths of one cell.")
      .def(nb::new_(&make_cell), "X"_a, "fold_ends"_a, "kernel"_a, "token"_a.none() = nb::none(),
           "max_bytes"_a.none() = nb::none(), "n_threads"_a = 1)
      .def("add_problem", &add_problem, "target"_a, "lo"_a, "hi"_a, "clip"_a)
      .def("set_width", &set_width, "width"_a, "token"_a.none() = nb::none())
      .def("solve_path", &solve_one, "problem"_a, "fold"_a, "lams"_a, "total_weight"_a, "stop"_a)
      .def("part", &part_of, "rows"_a, "token"_a.none() = nb::none(), nb::keep_alive<0, 1>())
      .def("distances", [](const Cell& cell) { return square(cell, &Cell::copy_distances); })
      .def("neighbours", &neighbours_of)
      .def("kernel_matrix", &kernel_matrix)
      .def_prop_ro("storage", [](const Cell& cell) { return std::string(name_of(cell.storage())); })
      .def_prop_ro("row_counts", &row_counts);

  nb::class_<PathJob>(m, "PathJob", "One problem of a cell, its descending lams, and its total weight per fold.")
      .def("__init__", &make_job, "cell"_a, "problem"_a, "lams"_a, "total_weights"_a, nb::keep_alive<1, 2>())
      .def_ro("problem", &PathJob::problem)
      .def_ro("lams", &PathJob::lams)
      .def_ro("total_weights", &PathJob::total_weights);

  nb::class_<PathSolutions, Solutions>(m, "PathSolutions", "Solutions of many paths, with validation losses.")
      .def_ro("loss", &PathSolutions::loss)
      .def_ro("wrong", &PathSolutions::wrong)
      .def_ro("seconds", &PathSolutions::seconds);

  m.def("solve_paths", &solve_many, "jobs"_a, "folds"_a, "stop"_a, "n_threads"_a = 1,
        "guesses"_a.none() = nb::none());
}

}  // namespace localsvm
