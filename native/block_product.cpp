#include "block_product.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "parallel.h"
#include "row_batches.h"

namespace localsvm {

namespace {

// Batches are dealt to groups, each with sums of its own, which are added up in order: so the result does not depend on
// who computes what.  In small cells that would cost more than a second thread brings.
constexpr int kGroups = 16;
constexpr int kSmall = 4096;

float sum_of_lanes(const float* lanes) {
  float part[4];
  for (int l = 0; l < 4; ++l) part[l] = (lanes[l] + lanes[l + 4]) + (lanes[l + 8] + lanes[l + 12]);
  return (part[0] + part[1]) + (part[2] + part[3]);
}

}  // namespace

BlockProduct::BlockProduct(const KernelView& kernel, std::vector<int> fold_ends, int n_threads)
    : kernel_(kernel), fold_ends_(std::move(fold_ends)), n_threads_(n_threads) {
  for (int begin = 0; begin < kernel.n; begin += kBatch) {
    batches_.emplace_back(std::min(kBatch, kernel.n - begin));
    std::iota(batches_.back().begin(), batches_.back().end(), begin);
  }
  for (int begin = 0; begin < static_cast<int>(kernel.ld); begin += kPad) {
    const Range range{begin, begin + kPad};
    const int fold = fold_of({begin, std::min(begin + kPad, kernel.n)});
    if (!strips_.empty() && strips_.back().fold == fold)
      strips_.back().range.end = range.end;
    else
      strips_.push_back({range, fold});
  }
}

int BlockProduct::fold_of(Range rows) const {
  for (size_t fold = 0; fold < fold_ends_.size(); ++fold) {
    const Range range = fold_range(static_cast<int>(fold));
    if (range.begin <= rows.begin && rows.end <= range.end) return static_cast<int>(fold);
  }
  return kSeveral;
}

void BlockProduct::multiply(const std::vector<Operand>& operands) const {
  const size_t ld = kernel_.ld, n_operands = operands.size();
  const int n_groups = kernel_.n < kSmall ? 1 : kGroups;
  Aligned<float> sums(n_groups * n_operands * ld);
  for_blocks(n_groups, 1, n_threads_, kernel_.cancelled, [&](int, Range group) {
    std::vector<Operand> own = operands;
    for (size_t c = 0; c < n_operands; ++c) own[c].y = sums.data() + (group.begin * n_operands + c) * ld;
    for (size_t batch = group.begin; batch < batches_.size(); batch += n_groups) multiply_batch(batch, own);
  });
  for (size_t c = 0; c < n_operands; ++c) {
    float* const y = operands[c].y;
    std::copy_n(sums.data() + c * ld, ld, y);
    for (int group = 1; group < n_groups; ++group) {
      const float* const part = sums.data() + (group * n_operands + c) * ld;
      for (size_t i = 0; i < ld; ++i) y[i] += part[i];
    }
  }
}

// Adds what the entries of these rows, from the diagonal on, have to give.
void BlockProduct::multiply_batch(size_t batch, const std::vector<Operand>& operands) const {
  const int first = batches_[batch].front(), ld = static_cast<int>(kernel_.ld);
  Aligned<float> lanes(operands.size() * kBatch * kMaxLanes);
  // In parts that are visited as a whole however K is stored: sums start again with each of them.
  for (Range part{first, 0}; part.begin < ld; part.begin = part.end) {
    part.end = std::min((part.begin / kBatchPart + 1) * kBatchPart, ld);
    visit_rows(kernel_, batches_[batch], part, [&](size_t, int, const float* const* rows, Range) {
      multiply_part(batch, part, rows, operands, lanes.data());
    });
  }
  for (size_t c = 0; c < operands.size(); ++c)
    for (int i : batches_[batch]) operands[c].y[i] += sum_of_lanes(lanes.data() + (c * kBatch + i - first) * kMaxLanes);
}

// rows[i] points to the part's first entry.
void BlockProduct::multiply_part(size_t batch, Range part, const float* const* rows,
                                 const std::vector<Operand>& operands, float* lanes) const {
  const int n_rows = static_cast<int>(batches_[batch].size()), first = batches_[batch].front();
  const int fold = fold_of({first, first + n_rows}), diagonal_end = first + kBatch;
  std::vector<BothProducts> products;
  const auto add = [&](Range columns, int column_fold, auto add_them) {
    columns = {std::max(columns.begin, part.begin), std::min(columns.end, part.end)};
    if (columns.begin >= columns.end) return;
    products.clear();
    for (size_t c = 0; c < operands.size(); ++c) {
      const auto& [x, left_out, y] = operands[c];
      if (left_out != fold && left_out != column_fold)
        products.push_back({x + first, y + part.begin, x + part.begin, lanes + c * kBatch * kMaxLanes});
    }
    add_them(rows, n_rows, Range{columns.begin - part.begin, columns.end - part.begin}, products.data(),
             static_cast<int>(products.size()));
  };
  add({first, diagonal_end}, fold, ops().add_products);
  for (const Strip& strip : strips_)
    add({std::max(strip.range.begin, diagonal_end), strip.range.end}, strip.fold, ops().add_both_products);
}

void BlockProduct::validate(const std::vector<Operand>& operands, int left_out) const {
  const Range wanted = fold_range(left_out).padded();
  for (const Operand& operand : operands) std::fill_n(operand.y, kernel_.ld, 0.0f);
  const int block = n_threads_ == 1 ? wanted.size() : kPad;
  for_blocks(wanted.size(), block, n_threads_, kernel_.cancelled, [&](int, Range columns) {
    std::vector<BothProducts> products(operands.size());
    for (const std::vector<int>& batch : batches_) {
      if (fold_of({batch.front(), batch.back() + 1}) == left_out) continue;
      const Range shifted{wanted.begin + columns.begin, wanted.begin + columns.end};
      visit_rows(kernel_, batch, shifted, [&](size_t, int n_rows, const float* const* rows, Range part) {
        for (size_t c = 0; c < operands.size(); ++c)
          products[c] = {operands[c].x + batch.front(), operands[c].y + part.begin, nullptr, nullptr};
        ops().add_products(rows, n_rows, {0, part.size()}, products.data(), static_cast<int>(products.size()));
      });
    }
  });
}

void BlockProduct::subtract_exactly(const float* x, double* r) const {
  for (const std::vector<int>& batch : batches_)
    visit_rows(kernel_, batch, {0, static_cast<int>(kernel_.ld)},
               [&](size_t, int n_rows, const float* const* rows, Range part) {
                 ops().subtract_rows_exactly(r + part.begin, rows, x + batch.front(), n_rows, {0, part.size()});
               });
}

}  // namespace localsvm
