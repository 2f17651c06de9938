#include "krylov/square_cell.h"

#include <algorithm>
#include <utility>

#include "core/folds.h"
#include "kernel/kernel_in_use.h"
#include "krylov/expectile.h"
#include "krylov/ridge.h"

namespace localsvm {

SquareCell::SquareCell(const float* X, int n, int n_features, std::vector<int> fold_ends, Kernel kernel,
                       const HalfPlan& plan, int n_threads, const CancelFlag* cancelled)
    : fold_ends_(std::move(fold_ends)), kernel_(X, n, n_features, kernel, plan, n_threads, cancelled) {}

SquareCell::SquareCell(const SquareCell& whole, const std::vector<int>& rows)
    : fold_ends_(ends_within(rows, whole.fold_ends_)), kernel_(whole.kernel_, rows) {}

SquareResult SquareCell::solve_ridge(const SquareProblem& problem, int n_threads) {
  const KernelInUse in_use(kernel_, problem.stop.cancelled);
  return localsvm::solve_ridge(kernel_, fold_ends_, problem, n_threads);
}

SquareResult SquareCell::solve_expectile(const SquareProblem& problem, double tau, int n_threads) {
  const KernelInUse in_use(kernel_, problem.stop.cancelled);
  return localsvm::solve_expectile(kernel_, fold_ends_, problem, tau, n_threads);
}

std::vector<float> SquareCell::multiply(const float* x, size_t n_vectors, int n_threads) {
  const KernelInUse in_use(kernel_, nullptr);
  const size_t n = kernel_.n(), ld = kernel_.ld();
  Aligned<float> padded(n_vectors * ld), products(n_vectors * ld, Uninitialized{});
  std::vector<Operand> operands;
  for (size_t c = 0; c < n_vectors; ++c) {
    std::copy_n(x + c * n, n, padded.data() + c * ld);
    operands.push_back({padded.data() + c * ld, -1, products.data() + c * ld});
  }
  BlockProduct(kernel_, fold_ends_, n_threads, nullptr).multiply(operands);
  std::vector<float> result(n_vectors * n);
  for (size_t c = 0; c < n_vectors; ++c) std::copy_n(operands[c].y, n, result.data() + c * n);
  return result;
}

void SquareCell::copy_kernel(float* out) {
  const KernelInUse in_use(kernel_, nullptr);
  kernel_.copy(out);
}

}  // namespace localsvm
