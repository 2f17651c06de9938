// Squared losses in a cell: all targets, all folds and all lams of a width at once.
//
//   given     K with k_ii = 1, targets y, weights w, validation folds, descending lams
//   minimize  lam ||f||^2 + 1/W sum_i w_i L(y_i, f(x_i)) over the training rows, W the sum of their weights
//   result    beta, f on the validation fold, and a certificate for each
//
// A column is one target with one validation fold.  Columns differ in how they solve their problem (ridge.h,
// expectile.h), but all need products with K, and each pass over K computes those of all unfinished columns.
//
// Smaller lams need more passes, and the smallest ones seldom predict best.  With a patience, the path of a target ends
// when that many lams in a row, solved on all folds, have a higher validation loss than one before them; the remaining
// lams are skipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/certificate.h"
#include "krylov/block_product.h"

namespace localsvm {

constexpr size_t kMaxColumns = 24;  // solved at once: bounds the memory of their Krylov spaces

// Bytes of the Krylov spaces of `n_columns`, which seldom have more than 200 vectors.
inline size_t krylov_bytes(size_t n, size_t n_columns) {
  constexpr size_t kUsualVectors = 200;
  return sizeof(float) * n * kUsualVectors * std::min(kMaxColumns, n_columns);
}

struct SquareProblem {
  const float* targets;  // n_targets x n, or of their own for every fold: n_targets x n_folds x n
  int n_targets;
  const float* weight;     // n, or like targets of every fold; none negative
  bool of_folds;           // whether every fold has targets and weights of its own
  std::vector<int> folds;  // validation folds; -1: none
  std::vector<double> lams;
  StopRule stop;  // a step is a product with K; max_steps holds for each lam
  int patience = 0;  // lams without a lower validation loss after which a path ends; 0: it does not end early
  std::vector<float> clip;  // bound on validated values, by target

  // Of a column: target t with the validation fold at place l is column t n_folds + l.
  const float* target_of(size_t column, size_t n) const {
    return targets + (of_folds ? column : column / folds.size()) * n;
  }
  const float* weight_of(size_t column, size_t n) const { return weight + (of_folds ? column * n : 0); }
};

// Axes: target, fold, lam.  Row i of `values` is by the solution whose validation fold it is in; 0 if there is none.
struct SquareResult {
  std::vector<float> beta;    // target, fold, lam, row
  std::vector<float> values;  // target, lam, row
  std::vector<double> gap;
  std::vector<int8_t> status;
  std::vector<int64_t> steps;
};

// What the columns of one fold share, or has a column by itself.
struct TrainingRows {
  TrainingRows(int fold, Range validation, const float* weight, int n, size_t ld);

  int fold;
  Range validation;
  int n;
  size_t ld;
  Aligned<float> weight;  // 0 on the validation fold
  double total = 0;       // weight of the training rows
  int n_weighted = 0;     // rows of positive weight

  // lam W, within the range of float32.
  double shift(double lam) const;
};

class SquareColumn {
 public:
  virtual ~SquareColumn() = default;
  virtual bool is_done() const = 0;
  // While it is not done: the product that it needs next, and the step that uses it.
  virtual Operand operand() = 0;
  virtual void step() = 0;
  // How many of the first lams are solved; 0 where lams are not solved together.
  virtual int n_solved() const { return 0; }
  // Adds the coefficients of a solved lam.
  virtual void add_coefficients(int, float*) const {}
  // Skips the lams from this one on.
  virtual void end_path(int) {}
  // Adds the coefficients, ld for each lam, to zeros.
  virtual std::vector<Certificate> finish(const BlockProduct& product, float* const* beta) = 0;
};

using MakeColumn = std::function<std::unique_ptr<SquareColumn>(const TrainingRows& rows, const float* target)>;

SquareResult solve_columns(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                           int n_threads, const MakeColumn& make_column);

}  // namespace localsvm
