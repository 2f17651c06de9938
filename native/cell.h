// One cell: its distances, its kernel matrix at one width at a time, and the lambda paths on it.
//
// Rows are ordered by fold, order = [ fold 0 | fold 1 | ... ]: leaving fold l out is two row ranges, never a copy
// of K.  Distances are computed once, the kernel matrix once per width, and shared by all folds and problems.
//
// Memory, in floats: n^2 for the distances and n^2 for K.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "aligned.h"
#include "solver.h"

namespace localsvm {

// Everything a lambda path leaves behind; row q belongs to the q-th lambda.
struct PathResult {
  std::vector<float> beta;       // n_lambdas x n
  std::vector<float> values;     // n_lambdas x (rows left out): decision values for validation
  std::vector<double> gap;       // n_lambdas
  std::vector<int8_t> status;    // n_lambdas
  std::vector<int64_t> steps;    // n_lambdas
};

class Cell {
 public:
  // `fold_ends`[l] is one past the last row of fold l; the last one is n.
  // Work is left unfinished once `cancelled` is set; paths say so then.
  Cell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel,
       const std::atomic<bool>* cancelled);

  // Adds a learning problem on these rows (a loss, and in multi-class which samples take part); returns its index.
  int add_problem(const float* target, const float* lo_unit, const float* hi_unit, float clip);

  void set_width(float width, const std::atomic<bool>* cancelled);

  // Solves problem `problem` without fold `fold` (-1: on all rows) for descending lambdas, each started from the last.
  PathResult solve_path(int problem, int fold, const std::vector<double>& lambdas, double total_weight,
                        const StopRule& stop) const;

  int n() const { return n_; }
  int n_folds() const { return static_cast<int>(fold_ends_.size()); }
  int n_problems() const { return static_cast<int>(problems_.size()); }
  int n_prepared() const { return n_prepared_; }  // problems the kernel matrix was built for
  Range fold_range(int fold) const { return {fold == 0 ? 0 : fold_ends_[fold - 1], fold_ends_[fold]}; }
  const float* distance_row(int i) const { return distances_.data() + ld_ * i; }
  const float* kernel_row(int i) const { return K_.data() + ld_ * i; }

 private:
  struct OwnedProblem {
    Aligned<float> target, lo_unit, hi_unit, at_bound;
    float clip;
    std::vector<double> bound_sums;  // fold x row: sum over the fold of K_ij e_j
  };

  const int n_;
  const size_t ld_;
  const std::vector<int> fold_ends_;
  const Kernel kernel_;
  int n_prepared_ = 0;
  Aligned<float> distances_, K_, neighbour_distances_, neighbour_kernel_;
  std::vector<int32_t> neighbours_;
  std::vector<OwnedProblem> problems_;
};

}  // namespace localsvm
