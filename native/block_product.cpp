#include "block_product.h"

#include <algorithm>
#include <numeric>

#include "parallel.h"
#include "row_batches.h"

namespace localsvm {

namespace {

// The vectors that are not zero on the rows of one fold: entries side by side, row after row.
struct Packed {
  std::vector<float> x;
  std::vector<float*> y;

  Packed(const std::vector<Operand>& operands, int fold, const std::vector<int>& rows) {
    std::vector<const float*> sources;
    for (const Operand& operand : operands)
      if (operand.left_out != fold) {
        sources.push_back(operand.x);
        y.push_back(operand.y);
      }
    x.reserve(sources.size() * rows.size());
    for (int i : rows)
      for (const float* source : sources) x.push_back(source[i]);
  }
};

}  // namespace

BlockProduct::BlockProduct(const KernelView& kernel, const std::vector<int>& fold_ends, int n_threads)
    : kernel_(kernel), n_threads_(n_threads) {
  int begin = 0;
  for (int end : fold_ends) {
    std::vector<int>& rows = fold_rows_.emplace_back(end - begin);
    std::iota(rows.begin(), rows.end(), begin);
    begin = end;
  }
}

void BlockProduct::multiply(const std::vector<Operand>& operands) const {
  const int ld = static_cast<int>(kernel_.ld);
  std::vector<Packed> folds;
  for (size_t fold = 0; fold < fold_rows_.size(); ++fold)
    folds.emplace_back(operands, static_cast<int>(fold), fold_rows_[fold]);
  for (const Operand& operand : operands) std::fill_n(operand.y, ld, 0.0f);
  // Threads share the columns: each sums over all rows, in the same order.
  const int block = n_threads_ == 1 ? ld : std::max(kPad, ld / 16 / kPad * kPad);
  for_blocks(ld, block, n_threads_, kernel_.cancelled, [&](int, Range columns) {
    for (size_t fold = 0; fold < folds.size(); ++fold) {
      const Packed& packed = folds[fold];
      const int count = static_cast<int>(packed.y.size());
      std::vector<float*> y(count);
      visit_rows(kernel_, fold_rows_[fold], columns, [&](size_t m, int n_rows, const float* const* rows, Range part) {
        for (int c = 0; c < count; ++c) y[c] = packed.y[c] + part.begin;
        ops().add_products(rows, n_rows, part.size(), packed.x.data() + m * count, count, y.data());
      });
    }
  });
}

void BlockProduct::subtract_exactly(const Operand& operand, double* r) const {
  const Range all{0, static_cast<int>(kernel_.ld)};
  for (size_t fold = 0; fold < fold_rows_.size(); ++fold) {
    if (static_cast<int>(fold) == operand.left_out || fold_rows_[fold].empty()) continue;
    const float* x = operand.x + fold_rows_[fold].front();
    visit_rows(kernel_, fold_rows_[fold], all, [&](size_t m, int n_rows, const float* const* rows, Range part) {
      ops().subtract_rows_exactly(r + part.begin, rows, x + m, n_rows, {0, part.size()});
    });
  }
}

}  // namespace localsvm
