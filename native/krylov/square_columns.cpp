#include "krylov/square_columns.h"

#include <algorithm>
#include <limits>

namespace localsvm {

namespace {

// Where the results of one column go.
struct ColumnResult {
  ColumnResult(SquareResult& result, const SquareProblem& problem, size_t column, size_t n)
      : n_lams(problem.lams.size()),
        beta(result.beta.data() + column * n_lams * n),
        values(result.values.data() + column / problem.folds.size() * n_lams * n),
        gap(result.gap.data() + column * n_lams),
        status(result.status.data() + column * n_lams),
        steps(result.steps.data() + column * n_lams) {}

  size_t n_lams;
  float *beta, *values;
  double* gap;
  int8_t* status;
  int64_t* steps;
};

void finish(SquareColumn& column, const TrainingRows& rows, const BlockProduct& product, const ColumnResult& result) {
  Aligned<float> beta(result.n_lams * rows.ld), values(result.n_lams * rows.ld, Uninitialized{});
  std::vector<float*> coefficients;
  std::vector<Operand> operands;
  for (size_t q = 0; q < result.n_lams; ++q) {
    coefficients.push_back(beta.data() + q * rows.ld);
    operands.push_back({coefficients[q], rows.fold, values.data() + q * rows.ld});
  }
  const std::vector<Certificate> certificates = column.finish(product, coefficients.data());
  if (rows.fold >= 0) product.validate(operands);
  for (size_t q = 0; q < result.n_lams; ++q) {
    std::copy_n(coefficients[q], rows.n, result.beta + q * rows.n);
    std::copy_n(operands[q].y + rows.validation.begin, rows.validation.size(),
                result.values + q * rows.n + rows.validation.begin);
    result.gap[q] = certificates[q].gap;
    result.status[q] = static_cast<int8_t>(certificates[q].status);
    result.steps[q] = certificates[q].steps;
  }
}

// Iterates all columns until they are done or the work is cancelled; calls finished(c) for every column that is done.
template <typename Finished>
void iterate(const std::vector<std::unique_ptr<SquareColumn>>& columns, const BlockProduct& product,
             const CancelFlag* cancelled, const Finished& finished) {
  std::vector<bool> is_active(columns.size(), true);
  while (!is_set(cancelled)) {
    std::vector<Operand> operands;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (!is_active[c]) continue;
      is_active[c] = !columns[c]->is_done();
      if (is_active[c])
        operands.push_back(columns[c]->operand());
      else
        finished(c);
    }
    if (operands.empty()) return;
    product.multiply(operands);
    if (is_set(cancelled)) return;
    for (size_t c = 0; c < columns.size(); ++c)
      if (is_active[c]) columns[c]->step();
  }
}

}  // namespace

TrainingRows::TrainingRows(int fold_, Range validation_, const float* weight_, int n_, size_t ld_)
    : fold(fold_), validation(validation_), n(n_), ld(ld_), weight(ld_) {
  for (int i = 0; i < n; ++i) {
    if (i >= validation.begin && i < validation.end) continue;
    weight[i] = weight_[i];
    total += weight[i];
    n_weighted += weight[i] > 0;
  }
}

double TrainingRows::shift(double lam) const { return std::clamp(lam * total, 1e-30, 1e30); }

SquareResult solve_columns(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                           int n_threads, const MakeColumn& make_column) {
  const size_t n = kernel.n(), n_folds = problem.folds.size(), n_lams = problem.lams.size();
  const size_t n_columns = problem.n_targets * n_folds;
  SquareResult result{std::vector<float>(n_columns * n_lams * n),
                      std::vector<float>(problem.n_targets * n_lams * n),
                      std::vector<double>(n_columns * n_lams, std::numeric_limits<double>::quiet_NaN()),
                      std::vector<int8_t>(n_columns * n_lams, static_cast<int8_t>(Status::cancelled)),
                      std::vector<int64_t>(n_columns * n_lams)};
  std::vector<TrainingRows> rows;
  for (int fold : problem.folds) {
    const Range validation = fold < 0 ? Range{} : Range{fold == 0 ? 0 : fold_ends[fold - 1], fold_ends[fold]};
    rows.emplace_back(fold, validation, problem.weight, kernel.n(), kernel.ld());
  }
  const CancelFlag* const cancelled = problem.stop.cancelled;
  const BlockProduct product(kernel, fold_ends, n_threads, cancelled);
  for (size_t first = 0; first < n_columns; first += kMaxColumns) {
    std::vector<std::unique_ptr<SquareColumn>> columns;
    for (size_t c = first; c < std::min(n_columns, first + kMaxColumns); ++c)
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
