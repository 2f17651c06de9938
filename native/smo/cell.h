// One cell: its kernel matrix at one width at a time, and the lambda paths on it.
//
// Rows are ordered by fold, order = [ fold 0 | fold 1 | ... ]: the training rows without fold l are two ranges, never a
// copy of K.  The kernel matrix is computed once per width and shared by all folds and problems.
//
// Memory, in floats, besides n d for the samples and 72 n for neighbours; results are the same to the bit:
//
//   full     2 n^2   distances, computed once, and K
//   kernel   n^2     K; distances are recomputed for every width
//   rows     c n     c rows of K in a cache; the others are computed when they are needed
//
// A part of a cell is a cell of some of its rows, for one problem of a multi-class cell.  Its distances and kernel
// values are copied from the whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/aligned.h"
#include "core/cancel.h"
#include "kernel/row_cache.h"
#include "kernel/samples.h"
#include "kernel/storage.h"
#include "smo/solver.h"

namespace localsvm {

class NeighbourSearch;

// Per sample and neighbour: index, distance and kernel value.
constexpr size_t kNeighbourBytes = kNeighbours * 12;

// What is stored of a cell of n rows, and the bytes that it takes.
struct StoragePlan {
  // The first of full, kernel, rows that fits into `max_bytes`.  Storage by rows needs memory for the rows that
  // `n_threads` solvers use at once; std::invalid_argument if not even that fits.
  StoragePlan(int n, int n_features, size_t max_bytes, int n_threads);
  static MatrixBytes bytes(size_t n, size_t n_features, size_t n_threads);
  explicit StoragePlan(Storage chosen) : storage(chosen) {}
  Storage storage;
  int n_rows = 0;  // of the cache
};

// Result of a lambda path; row q belongs to the q-th lam.
struct PathResult {
  std::vector<float> beta;      // n_lams x n
  std::vector<float> values;    // n_lams x rows of the validation fold
  std::vector<double> gap;      // n_lams
  std::vector<int8_t> status;   // n_lams
  std::vector<int64_t> steps;   // n_lams
  std::vector<double> loss;     // n_lams: of the clipped values, summed
  std::vector<double> wrong;    // n_lams: the weight of values whose sign is wrong
};

class Cell {
 public:
  // `fold_ends`[l] is one past the last row of fold l; the last one is n.  `n_threads` threads build the matrices.
  // Work is left unfinished once `cancelled` is set; paths then have that status.
  Cell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel, const StoragePlan& plan,
       int n_threads, const CancelFlag* cancelled);

  // A part: ascending `rows` of `whole`, which must outlive it.
  Cell(const Cell& whole, std::vector<int> rows, const CancelFlag* cancelled);

  // Adds a learning problem on these rows, given by the box of its loss; returns its index.
  int add_problem(const float* target, const float* lo_unit, const float* hi_unit, float clip);

  // Should it throw, the cell has no width.
  void set_width(float width, const CancelFlag* cancelled);

  // Of a part: copies the kernel values of the whole at its width, and releases them.
  void copy_kernel_of_whole(const CancelFlag* cancelled) { set_width(whole_->width_, cancelled); }
  void release_kernel();
  bool has_width() const { return width_ > 0; }
  bool is_part() const { return whole_ != nullptr; }
  const Cell* whole() const { return whole_; }

  // Solves `problem` without the validation fold `fold` (-1: on all rows) for descending lams, each started from the
  // solution of the last one.  The first is started from `guess`, if there is one and the plain start has not
  // converged.
  PathResult solve_path(int problem, int fold, const std::vector<double>& lams, double total_weight,
                        const StopRule& stop, const float* guess = nullptr) const;

  // Bytes of problems of `n_columns` samples in all: target, box, and the sums of every fold.
  static size_t bytes_of_problems(size_t n_columns, size_t n_folds) {
    return n_columns * (3 * sizeof(float) + sizeof(double) + n_folds * sizeof(double)) + 64 * kPad;
  }

  int n() const { return n_; }
  int n_folds() const { return static_cast<int>(fold_ends_.size()); }
  int n_problems() const { return static_cast<int>(problems_.size()); }
  int n_prepared() const { return n_prepared_; }  // problems the kernel matrix was built for
  Range fold_range(int fold) const { return {fold == 0 ? 0 : fold_ends_[fold - 1], fold_ends_[fold]}; }
  Storage storage() const { return plan_.storage; }
  const RowCache* cache() const { return cache_.get(); }

  const int32_t* neighbours(int i) const { return near_[i].index; }  // kNeighbours of them; see neighbours.h

  // One row of the distances or of K, n padded entries; for tests and inspection.
  void copy_distances(int i, float* out) const;
  void copy_kernel(int i, float* out) const;

 private:
  struct OwnedProblem {
    Aligned<float> target, lo_unit, hi_unit;
    Aligned<double> at_bound;  // e: the bound of the unit box on the side of the target
    float clip;
    std::vector<double> bound_sums;  // fold x row: sum over the fold of K_ij e_j
  };

  static void score(const OwnedProblem& problem, Range validation, const float* values, PathResult& result);
  KernelView view(const CancelFlag* cancelled) const {
    return {K_.data(), cache_.get(), ld_, n_, near_.data(), cancelled};
  }
  void find_neighbours(NeighbourSearch& search, int i, const float* distances);
  void set_near_kernel();
  void fill_kernel(const CancelFlag* cancelled);
  void make_kernel_rows(Range rows, float* const* out) const;
  void copy_columns(const float* row_of_whole, float* out) const;
  void copy_distances_of_whole(int i, float* out) const;
  const float* kernel_row(int i, float* scratch) const;  // where it is stored, or computed in `scratch`
  void sum_bounds(Range rows, const float* const* values);

  const int n_;
  const size_t ld_;
  const std::vector<int> fold_ends_;
  const Kernel kernel_;
  const StoragePlan plan_;
  const int n_threads_;
  const Cell* const whole_ = nullptr;
  const std::vector<int> rows_of_whole_;
  float width_ = 0;  // none yet
  int n_prepared_ = 0;
  Samples samples_;
  Aligned<float> distances_, K_, near_distances_;
  Aligned<Near> near_;
  std::unique_ptr<RowCache> cache_;
  std::vector<OwnedProblem> problems_;
};

}  // namespace localsvm
