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

using Columns = std::vector<std::unique_ptr<SquareColumn>>;

constexpr int kValidationInterval = 4;  // passes over K between checks whether a path ends

// The validation losses of the path of a target, lam by lam, and when it ends.
class Path {
 public:
  // `first` is its first column, one per fold; `first_at_once` that of the columns that are solved at once.
  Path(const SquareProblem& problem, const std::vector<TrainingRows>& rows, size_t first, size_t first_at_once)
      : problem_(problem),
        rows_(rows.data() + first % rows.size()),
        n_folds_(problem.folds.size()),
        number_(first),
        first_(first - first_at_once) {}

  // Validates the lams that all folds have solved since the last call, and ends the path if they are worse.
  void check(const Columns& columns, const BlockProduct& product) {
    int n_solved = std::numeric_limits<int>::max();
    for (size_t l = 0; l < n_folds_; ++l) {
      if (!columns[first_ + l]) return;  // a fold is at its end: there is nothing to save
      n_solved = std::min(n_solved, columns[first_ + l]->n_solved());
    }
    const std::vector<double> losses = validation_losses(columns, product, n_solved);
    for (double loss : losses) {
      ++n_validated_;
      if (loss < best_) best_ = loss, n_best_ = n_validated_;
      if (n_validated_ - n_best_ < problem_.patience) continue;
      for (size_t l = 0; l < n_folds_; ++l) columns[first_ + l]->end_path(n_validated_);
      return;
    }
  }

 private:
  // Of the lams from `n_validated_` to `n_solved`.
  std::vector<double> validation_losses(const Columns& columns, const BlockProduct& product, int n_solved) const {
    const size_t n_lams = std::max(0, n_solved - n_validated_), ld = rows_->ld, n_folds = n_folds_;
    std::vector<double> losses(n_lams);
    if (n_lams == 0) return losses;
    Aligned<float> beta(n_lams * n_folds * ld), values(n_lams * n_folds * ld, Uninitialized{});
    std::vector<Operand> operands;
    for (size_t q = 0; q < n_lams; ++q)
      for (size_t l = 0; l < n_folds; ++l) {
        const size_t at = (q * n_folds + l) * ld;
        columns[first_ + l]->add_coefficients(n_validated_ + static_cast<int>(q), beta.data() + at);
        operands.push_back({beta.data() + at, rows_[l].fold, values.data() + at});
      }
    product.validate(operands);
    const float clip = problem_.clip[number_ / n_folds];
    for (size_t c = 0; c < operands.size(); ++c) {
      const size_t l = c % n_folds, n = rows_->n;
      const float *const y = problem_.target_of(number_ + l, n), *const weight = problem_.weight_of(number_ + l, n);
      for (int i = rows_[l].validation.begin; i < rows_[l].validation.end; ++i) {
        const double error = y[i] - std::clamp(operands[c].y[i], -clip, clip);
        losses[c / n_folds] += weight[i] * error * error;
      }
    }
    return losses;
  }

  const SquareProblem& problem_;
  const TrainingRows* const rows_;  // by fold
  const size_t n_folds_, number_, first_;
  double best_ = std::numeric_limits<double>::infinity();
  int n_validated_ = 0, n_best_ = 0;
};

// Iterates all columns until they are done or the work is cancelled; calls finished(c) for every column that is done.
template <typename Finished>
void iterate(const Columns& columns, std::vector<Path> paths, const BlockProduct& product, const CancelFlag* cancelled,
             const Finished& finished) {
  std::vector<bool> is_active(columns.size(), true);
  for (int pass = 1; !is_set(cancelled); ++pass) {
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
    if (pass % kValidationInterval == 0)
      for (Path& path : paths) path.check(columns, product);
  }
}

// Columns that are solved at once: those of whole targets, as far as one has not too many.
size_t columns_at_once(size_t n_folds) {
  return n_folds > kMaxColumns ? kMaxColumns : kMaxColumns / n_folds * n_folds;
}

// The paths of the targets of `n_columns` columns from `first` on, if they may end early.
std::vector<Path> paths_of(const SquareProblem& problem, const std::vector<TrainingRows>& rows, size_t first,
                           size_t n_columns) {
  std::vector<Path> paths;
  const size_t n_folds = problem.folds.size();
  if (problem.patience == 0 || n_folds > kMaxColumns || rows[0].fold < 0) return paths;
  for (size_t c = 0; c < n_columns; c += n_folds)
    paths.emplace_back(problem, rows, first + c, first);
  return paths;
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
  if (n_columns == 0) return result;
  std::vector<TrainingRows> rows;
  for (size_t column = 0; column < (problem.of_folds ? n_columns : n_folds); ++column) {
    const int fold = problem.folds[column % n_folds];
    const Range validation = fold < 0 ? Range{} : Range{fold == 0 ? 0 : fold_ends[fold - 1], fold_ends[fold]};
    rows.emplace_back(fold, validation, problem.weight_of(column, n), kernel.n(), kernel.ld());
  }
  const CancelFlag* const cancelled = problem.stop.cancelled;
  const BlockProduct product(kernel, fold_ends, n_threads, cancelled);
  const size_t at_once = columns_at_once(n_folds);
  for (size_t first = 0; first < n_columns; first += at_once) {
    Columns columns;
    for (size_t c = first; c < std::min(n_columns, first + at_once); ++c)
      columns.push_back(make_column(rows[c % rows.size()], problem.target_of(c, n)));
    iterate(columns, paths_of(problem, rows, first, columns.size()), product, cancelled, [&](size_t c) {
      const size_t column = first + c;
      finish(*columns[c], rows[column % rows.size()], product, ColumnResult(result, problem, column, n));
      columns[c].reset();
    });
  }
  return result;
}

}  // namespace localsvm
