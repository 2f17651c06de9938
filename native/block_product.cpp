#include "block_product.h"

#include <algorithm>
#include <numeric>

#include "parallel.h"
#include "row_batches.h"

namespace localsvm {

BlockProduct::BlockProduct(const KernelView& kernel, const std::vector<int>& fold_ends, int n_threads)
    : kernel_(kernel), n_threads_(n_threads) {
  const int ld = static_cast<int>(kernel.ld);
  int begin = 0, stripped = 0;
  for (int end : fold_ends) {
    std::vector<int>& rows = fold_rows_.emplace_back(end - begin);
    std::iota(rows.begin(), rows.end(), begin);
    const Range inside{(begin + kPad - 1) / kPad * kPad, end == kernel.n ? ld : end / kPad * kPad};
    if (inside.begin < inside.end) {
      if (stripped < inside.begin) strips_.push_back({{stripped, inside.begin}, kSeveral});
      strips_.push_back({inside, static_cast<int>(fold_rows_.size()) - 1});
      stripped = inside.end;
    }
    begin = end;
  }
  if (stripped < ld) strips_.push_back({{stripped, ld}, kSeveral});
}

void BlockProduct::multiply(const std::vector<Operand>& operands, Wanted wanted) const {
  const int ld = static_cast<int>(kernel_.ld);
  const auto takes_part = [&](const Operand& operand, int fold, const Strip& strip) {
    if (operand.left_out == fold) return false;
    return strip.fold == kSeveral || (operand.left_out == strip.fold) == (wanted == Wanted::left_out);
  };
  for (const Operand& operand : operands) std::fill_n(operand.y, ld, 0.0f);
  // Threads share the columns: each sums over all rows, in the same order.
  const int block = n_threads_ == 1 ? ld : std::max(kPad, ld / 16 / kPad * kPad);
  for_blocks(ld, block, n_threads_, kernel_.cancelled, [&](int, Range columns) {
    std::vector<const float*> x(operands.size());
    std::vector<float*> y(operands.size());
    for (int fold = 0; fold < static_cast<int>(fold_rows_.size()); ++fold) {
      visit_rows(kernel_, fold_rows_[fold], columns, [&](size_t m, int n_rows, const float* const* rows, Range part) {
        for (const Strip& strip : strips_) {
          const Range both{std::max(part.begin, strip.columns.begin), std::min(part.end, strip.columns.end)};
          if (both.begin >= both.end) continue;
          int count = 0;
          for (const Operand& operand : operands)
            if (takes_part(operand, fold, strip)) {
              x[count] = operand.x + fold_rows_[fold][m];
              y[count++] = operand.y + part.begin;
            }
          ops().add_products(rows, n_rows, {both.begin - part.begin, both.end - part.begin}, x.data(), count, y.data());
        }
      });
    }
  });
}

void BlockProduct::subtract_exactly(const Operand& operand, double* r) const {
  const Range all{0, static_cast<int>(kernel_.ld)};
  for (int fold = 0; fold < static_cast<int>(fold_rows_.size()); ++fold) {
    if (fold == operand.left_out) continue;
    visit_rows(kernel_, fold_rows_[fold], all, [&](size_t m, int n_rows, const float* const* rows, Range part) {
      ops().subtract_rows_exactly(r + part.begin, rows, operand.x + fold_rows_[fold][m], n_rows, {0, part.size()});
    });
  }
}

}  // namespace localsvm
