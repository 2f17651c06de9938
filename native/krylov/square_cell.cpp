#include "krylov/square_cell.h"

#include <utility>

#include "core/folds.h"
#include "krylov/expectile.h"
#include "krylov/ridge.h"

namespace localsvm {

namespace {

// A part has its kernel matrix while it is in use; a whole keeps its own.
class InUse {
 public:
  InUse(HalfKernel& kernel, const std::atomic<bool>* cancelled) : kernel_(kernel) {
    if (kernel_.is_part()) kernel_.follow(cancelled);
  }
  ~InUse() {
    if (kernel_.is_part()) kernel_.release();
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  HalfKernel& kernel_;
};

}  // namespace

SquareCell::SquareCell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel,
                       const HalfPlan& plan, int n_threads, const std::atomic<bool>* cancelled)
    : fold_ends_(std::move(fold_ends)), kernel_(X, n, n_features, kernel, plan, n_threads, cancelled) {}

SquareCell::SquareCell(const SquareCell& whole, const std::vector<int>& rows)
    : fold_ends_(ends_within(rows, whole.fold_ends_)), kernel_(whole.kernel_, rows) {}

SquareResult SquareCell::solve_ridge(const SquareProblem& problem, int n_threads,
                                     const std::atomic<bool>* cancelled) {
  const InUse in_use(kernel_, cancelled);
  return localsvm::solve_ridge(kernel_, fold_ends_, problem, n_threads, cancelled);
}

SquareResult SquareCell::solve_expectile(const SquareProblem& problem, double tau, int n_threads,
                                         const std::atomic<bool>* cancelled) {
  const InUse in_use(kernel_, cancelled);
  return localsvm::solve_expectile(kernel_, fold_ends_, problem, tau, n_threads, cancelled);
}

void SquareCell::copy_kernel(float* out) {
  const InUse in_use(kernel_, nullptr);
  kernel_.copy(out);
}

}  // namespace localsvm
