// The bytes that training a cell takes natively, so that memory can be planned before work starts.
#include <nanobind/nanobind.h>

#include <algorithm>

#include "core/aligned.h"
#include "krylov/square_columns.h"
#include "python/bindings.h"
#include "smo/cell.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

namespace {

struct CellBytes {
  size_t full, kernel, smallest;  // of the cell, by what is stored
  size_t around;                  // of solvers and problems
};

// Large arrays are rounded up to huge pages: four of the cell, and two of every thread.
size_t bytes_of_rounding(const MatrixBytes& matrix, size_t n_threads) {
  return matrix.kernel >= kHugePage ? kHugePage * (4 + 2 * n_threads) : 0;
}

CellBytes cell_bytes(size_t n_samples, size_t n_features, size_t n_columns, size_t n_folds, size_t n_threads,
                     bool has_parts, bool has_squares) {
  require(n_samples >= 1, "a cell needs at least one sample");
  const MatrixBytes matrix = (has_squares ? HalfPlan::bytes : StoragePlan::bytes)(n_samples, n_features, n_threads);
  size_t around = n_threads * BoxSolver::bytes(n_samples) + Cell::bytes_of_problems(n_columns, n_folds);
  // A part keeps its neighbours, and has a kernel matrix while a thread works on it.
  if (has_parts) around += n_columns * kNeighbourBytes + n_threads * matrix.kernel;
  if (has_squares) around += krylov_bytes(n_samples, n_folds * (n_columns / n_samples));
  around += bytes_of_rounding(matrix, n_threads);
  return {matrix.full(), matrix.kernel_only(), matrix.smallest(), around};
}

}  // namespace

void bind_memory(nb::module_& m) {
  nb::class_<CellBytes>(m, "CellBytes", "Bytes of a native cell by what is stored, and of its solvers.")
      .def_ro("full", &CellBytes::full)
      .def_ro("kernel", &CellBytes::kernel)
      .def_ro("smallest", &CellBytes::smallest)
      .def_ro("around", &CellBytes::around);
  m.def("cell_bytes", &cell_bytes, "n_samples"_a, "n_features"_a, nb::kw_only(), "n_columns"_a, "n_folds"_a,
        "n_threads"_a, "has_parts"_a, "has_squares"_a);
}

}  // namespace localsvm
