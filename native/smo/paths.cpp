#include "smo/paths.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "core/parallel.h"
#include "kernel/kernel_in_use.h"

namespace localsvm {

namespace {

// Where the results of a job go.
class Columns {
 public:
  Columns(PathsResult& result, size_t n_folds) : result_(result), n_folds_(n_folds) {}

  void write(size_t job, size_t column, const Cell& cell, size_t fold_number, int fold, const PathResult& path) {
    const size_t n = cell.n(), solved = path.gap.size();
    const Range validation = fold < 0 ? Range{0, 0} : cell.fold_range(fold);
    for (size_t q = 0; q < solved; ++q) {
      const size_t beta_row = fold_number * result_.n_lams + q;
      std::copy_n(path.beta.data() + q * n, n, result_.beta.data() + beta_row * result_.n_columns + column);
      std::copy_n(path.values.data() + q * validation.size(), validation.size(),
                  result_.values.data() + q * result_.n_columns + column + validation.begin);
      const size_t at = (job * n_folds_ + fold_number) * result_.n_lams + q;
      result_.gap[at] = path.gap[q];
      result_.status[at] = path.status[q];
      result_.steps[at] = path.steps[q];
      result_.loss[at] = path.loss[q];
      result_.wrong[at] = path.wrong[q];
    }
  }

 private:
  PathsResult& result_;
  const size_t n_folds_;
};

// Work for one thread: one fold of a whole cell, or all folds of a part, whose kernel matrix is copied first.
struct Piece {
  size_t job, column, first_fold, last_fold;
};

std::vector<Piece> pieces_of(const std::vector<PathJob>& jobs, size_t n_folds) {
  std::vector<Piece> pieces;
  size_t column = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].cell->is_part())
      pieces.push_back({j, column, 0, n_folds});
    else
      for (size_t f = 0; f < n_folds; ++f) pieces.push_back({j, column, f, f + 1});
    column += jobs[j].cell->n();
  }
  return pieces;
}

}  // namespace

PathsResult solve_paths(const std::vector<PathJob>& jobs, const std::vector<int>& folds, const StopRule& stop,
                        int n_threads, const float* guesses) {
  PathsResult result;
  for (const PathJob& job : jobs) {
    result.n_columns += job.cell->n();
    result.n_lams = std::max(result.n_lams, job.lams.size());
  }
  const size_t n_solves = jobs.size() * folds.size() * result.n_lams;
  result.beta.resize(folds.size() * result.n_lams * result.n_columns);
  result.values.resize(result.n_lams * result.n_columns);
  result.gap.resize(n_solves, std::numeric_limits<double>::quiet_NaN());
  result.status.resize(n_solves, static_cast<int8_t>(Status::skipped));
  result.steps.resize(n_solves);
  result.loss.resize(n_solves);
  result.wrong.resize(n_solves);

  Columns columns(result, folds.size());
  std::atomic<int64_t> nanoseconds{0};
  const std::vector<Piece> pieces = pieces_of(jobs, folds.size());
  for_jobs(static_cast<int>(pieces.size()), n_threads, [&](int number) {
    const Piece& piece = pieces[number];
    const PathJob& job = jobs[piece.job];
    const auto begin = std::chrono::steady_clock::now();
    const KernelInUse in_use(*job.cell, stop.cancelled);
    for (size_t f = piece.first_fold; f < piece.last_fold && !stop.is_cancelled(); ++f) {
      const float* guess = guesses ? guesses + f * result.n_columns + piece.column : nullptr;
      columns.write(piece.job, piece.column, *job.cell, f, folds[f],
                    job.cell->solve_path(job.problem, folds[f], job.lams, job.total_weights[f], stop, guess));
    }
    nanoseconds += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  });
  result.seconds = 1e-9 * static_cast<double>(nanoseconds);
  return result;
}

}  // namespace localsvm
