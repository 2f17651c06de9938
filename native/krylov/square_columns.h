// Losses that are squares, in a cell: all targets, all folds and all lams of a width at once.
//
//   given     K with k_ii = 1, targets y, weights w, folds to leave out, descending lams
//   minimise  lam ||f||^2 + 1/W sum_i w_i L(y_i, f(x_i)) over the training rows, W the sum of their weights
//   result    beta, f on the rows left out, and a certificate for each
//
// One target without one fold is a column.  Columns differ in how they solve their problem (ridge.h, expectile.h), but all
// of them ask for products with K, and each pass over K serves those of all columns at work.
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
  const float* targets;  // n_targets x n
  int n_targets;
  const float* weight;     // n, none negative
  std::vector<int> folds;  // to leave out; -1: none
  std::vector<double> lams;
  StopRule stop;  // a step is a product with K; they count for each lam
};

// Axes: target, fold, lambda.  Row i of `values` is by the machine that left its fold out, 0 where that was not asked for.
struct SquareResult {
  std::vector<float> beta;    // target, fold, lambda, row
  std::vector<float> values;  // target, lambda, row
  std::vector<double> gap;
  std::vector<int8_t> status;
  std::vector<int64_t> steps;
};

// What the columns of one fold share.
struct TrainingRows {
  TrainingRows(int fold, Range validation, const float* weight, int n, size_t ld);

  int fold;
  Range validation;
  int n;
  size_t ld;
  Aligned<float> weight;  // 0 on the rows left out
  double total = 0;       // weight of the others
  int n_weighted = 0;     // rows

  // lam W, within what float32 can compute with.
  double shift(double lam) const;
};

class SquareColumn {
 public:
  virtual ~SquareColumn() = default;
  virtual bool is_done() const = 0;
  // While it is not done: the product it needs next, and what it does once that is there.
  virtual Operand operand() = 0;
  virtual void step() = 0;
  // Writes the coefficients, ld for each lambda, which are zero before.
  virtual std::vector<Certificate> finish(const BlockProduct& product, float* const* beta) = 0;
};

using MakeColumn = std::function<std::unique_ptr<SquareColumn>(const TrainingRows& rows, const float* target)>;

SquareResult solve_columns(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                           int n_threads, const MakeColumn& make_column);

}  // namespace localsvm
