#include "krylov/square_columns.h"

#include <algorithm>
#include <limits>

namespace localsvm {

namespace {

constexpr size_t kMostColumns = 24;  // at work at once: bounds the memory of their Krylov spaces

// Where the results of one column go.
struct ColumnResult {
  ColumnResult(SquareResult& result, const SquareProblem& problem, size_t column, size_t n)
      : n_lambdas(problem.lambdas.size()),
        beta(result.beta.data() + column * n_lambdas * n),
        values(result.values.data() + column / problem.folds.size() * n_lambdas * n),
        gap(result.gap.data() + column * n_lambdas),
        status(result.status.data() + column * n_lambdas),
        iterations(result.iterations.data() + column * n_lambdas) {}

  size_t n_lambdas;
  float *beta, *values;
  double* gap;
  int8_t* status;
  int64_t* iterations;
};

void finish(SquareColumn& column, const TrainingRows& rows, const BlockProduct& product, const ColumnResult& result) {
  Aligned<float> beta(result.n_lambdas * rows.ld), values(result.n_lambdas * rows.ld, Uninitialised{});
  std::vector<float*> coefficients;
  std::vector<Operand> operands;
  for (size_t q = 0; q < result.n_lambdas; ++q) {
    coefficients.push_back(beta.data() + q * rows.ld);
    operands.push_back({coefficients[q], rows.fold, values.data() + q * rows.ld});
  }
  const std::vector<Certificate> certificates = column.finish(product, coefficients.data());
  if (rows.fold >= 0) product.validate(operands);
  for (size_t q = 0; q < result.n_lambdas; ++q) {
    std::copy_n(coefficients[q], rows.n, result.beta + q * rows.n);
    std::copy_n(operands[q].y + rows.left_out.begin, rows.left_out.size(),
                result.values + q * rows.n + rows.left_out.begin);
    result.gap[q] = certificates[q].gap;
    result.status[q] = static_cast<int8_t>(certificates[q].status);
    result.iterations[q] = certificates[q].steps;
  }
}

// Calls finished(c) for every column that is done, and works on the others until all are or the work is cancelled.
template <typename Finished>
void iterate(const std::vector<std::unique_ptr<SquareColumn>>& columns, const BlockProduct& product,
             const CancelFlag* cancelled, const Finished& finished) {
  std::vector<bool> at_work(columns.size(), true);
  while (!is_set(cancelled)) {
    std::vector<Operand> operands;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (!at_work[c]) continue;
      at_work[c] = !columns[c]->is_done();
      if (at_work[c])
        operands.push_back(columns[c]->operand());
      else
        finished(c);
    }
    if (operands.empty()) return;
    product.multiply(operands);
    if (is_set(cancelled)) return;
    for (size_t c = 0; c < columns.size(); ++c)
      if (at_work[c]) columns[c]->step();
  }
}

}  // namespace

TrainingRows::TrainingRows(int fold_, Range left_out_, const float* weight_, int n_, size_t ld_)
    : fold(fold_), left_out(left_out_), n(n_), ld(ld_), weight(ld_) {
  for (int i = 0; i < n; ++i) {
    if (i >= left_out.begin && i < left_out.end) continue;
    weight[i] = weight_[i];
    total += weight[i];
    n_weighted += weight[i] > 0;
  }
}

double TrainingRows::shift(double lam) const { return std::clamp(lam * total, 1e-30, 1e30); }

SquareResult solve_columns(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                           int n_threads, const CancelFlag* cancelled, const MakeColumn& make_column) {
  const size_t n = kernel.n(), n_folds = problem.folds.size(), n_lambdas = problem.lambdas.size();
  const size_t n_columns = problem.n_targets * n_folds;
  SquareResult result{std::vector<float>(n_columns * n_lambdas * n),
                      std::vector<float>(problem.n_targets * n_lambdas * n),
                      std::vector<double>(n_columns * n_lambdas, std::numeric_limits<double>::quiet_NaN()),
                      std::vector<int8_t>(n_columns * n_lambdas, static_cast<int8_t>(Status::cancelled)),
                      std::vector<int64_t>(n_columns * n_lambdas)};
  std::vector<TrainingRows> rows;
  for (int fold : problem.folds) {
    const Range left_out = fold < 0 ? Range{} : Range{fold == 0 ? 0 : fold_ends[fold - 1], fold_ends[fold]};
    rows.emplace_back(fold, left_out, problem.weight, kernel.n(), kernel.ld());
  }
  const BlockProduct product(kernel, fold_ends, n_threads, cancelled);
  for (size_t first = 0; first < n_columns; first += kMostColumns) {
    std::vector<std::unique_ptr<SquareColumn>> columns;
    for (size_t c = first; c < std::min(n_columns, first + kMostColumns); ++c)
      columns.push_back(make_column(rows[c % n_folds], problem.targets + c / n_folds * n));
    iterate(columns, product, cancelled, [&](size_t c) {
      const size_t column = first + c;
      finish(*columns[c], rows[column % n_folds], product, ColumnResult(result, problem, column, n));
      columns[c].reset();
    });
  }
  return result;
}

}  // namespace localsvm
