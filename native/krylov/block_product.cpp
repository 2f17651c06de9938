#include "krylov/block_product.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"

namespace localsvm {

namespace {

// Rows of tiles are assigned to groups with sums of their own, which are added in order, so that the result does not
// depend on which thread computes what.  Small cells have one group: the sums would cost more than a second thread
// gains.
constexpr int kGroups = 16;
constexpr int kSmall = 4096;

}  // namespace

BlockProduct::BlockProduct(const HalfKernel& kernel, std::vector<int> fold_ends, int n_threads,
                           const CancelFlag* cancelled)
    : kernel_(kernel), n_threads_(n_threads), cancelled_(cancelled) {
  const auto fold_of = [&](int row) {
    return static_cast<int>(std::upper_bound(fold_ends.begin(), fold_ends.end(), row) - fold_ends.begin());
  };
  for (int block = 0; block < kernel.n_blocks(); ++block) {
    const Range rows = kernel.rows(block);
    folds_.push_back({fold_of(rows.begin), fold_of(rows.end - 1)});
  }
}

void BlockProduct::multiply(const std::vector<Operand>& operands) const {
  sum(operands, [](const Folds& folds, int fold) { return !folds.are(fold); });
}

void BlockProduct::validate(const std::vector<Operand>& operands) const {
  sum(operands, [](const Folds& folds, int fold) { return folds.include(fold); });
}

// Memory of one thread.
struct BlockProduct::Workspace {
  explicit Workspace(size_t n_operands)
      : tile(kTileSize, Uninitialized{}),
        lanes_of_one(static_cast<size_t>(kTile) * kLanes),
        lanes(n_operands * lanes_of_one),
        down(n_operands),
        across(n_operands) {}
  float* lanes_of(size_t operand) { return lanes.data() + operand * lanes_of_one; }

  Aligned<float> tile;
  const size_t lanes_of_one;
  Aligned<float> lanes;  // the sums of a row of tiles, zero between rows
  std::vector<BlockVector> down, across;
};

// wanted(folds, fold): whether the product of a vector with this validation fold is wanted on a block of these folds.
template <typename Wanted>
void BlockProduct::sum(const std::vector<Operand>& operands, const Wanted& wanted) const {
  const size_t ld = kernel_.ld(), n_operands = operands.size();
  const int n_groups = kernel_.n() < kSmall ? 1 : kGroups;
  Aligned<float> others((n_groups - 1) * n_operands * ld);
  for (const Operand& operand : operands) std::fill_n(operand.y, ld, 0.0f);
  for_blocks(n_groups, 1, n_threads_, cancelled_, [&](int, Range group) {
    std::vector<Operand> own = operands;
    if (group.begin > 0)
      for (size_t c = 0; c < n_operands; ++c) own[c].y = others.data() + ((group.begin - 1) * n_operands + c) * ld;
    Workspace work(n_operands);
    for (int I = group.begin; I < kernel_.n_blocks() && !is_set(cancelled_); I += n_groups)
      sum_row(I, own, wanted, work);
  });
  for (int group = 1; group < n_groups; ++group)
    for (size_t c = 0; c < n_operands; ++c) {
      const float* const part = others.data() + ((group - 1) * n_operands + c) * ld;
      for (size_t i = 0; i < ld; ++i) operands[c].y[i] += part[i];
    }
}

// Adds the products with one row of tiles.
template <typename Wanted>
void BlockProduct::sum_row(int I, const std::vector<Operand>& operands, const Wanted& wanted, Workspace& work) const {
  for (int J = I; J < kernel_.n_blocks(); ++J) {
    int n_down = 0, n_across = 0;
    for (size_t c = 0; c < operands.size(); ++c) {
      const auto& [x, fold, y] = operands[c];
      if (!folds_[I].are(fold) && wanted(folds_[J], fold))
        work.down[n_down++] = {x + I * kTile, y + J * kTile};
      if (J > I && !folds_[J].are(fold) && wanted(folds_[I], fold))
        work.across[n_across++] = {x + J * kTile, work.lanes_of(c)};
    }
    if (n_down + n_across == 0) continue;
    const Block tile = kernel_.tile(I, J, work.tile.data());
    ops().add_down(tile, work.down.data(), n_down);
    ops().add_across(tile, work.across.data(), n_across);
  }
  for (size_t c = 0; c < operands.size(); ++c)
    ops().sum_lanes(work.lanes_of(c), kernel_.rows(I).size(), operands[c].y + I * kTile);
}

void BlockProduct::subtract_exactly(const float* x, double* r) const {
  Aligned<float> scratch(kTileSize, Uninitialized{});
  const float* rows[kTile];
  for (int I = 0; I < kernel_.n_blocks() && !is_set(cancelled_); ++I)
    for (int J = I; J < kernel_.n_blocks(); ++J) {
      const Block tile = kernel_.tile(I, J, scratch.data());
      for (int i = 0; i < tile.n_rows; ++i) rows[i] = tile.values + i * tile.stride;
      ops().subtract_rows_exactly(r + J * kTile, rows, x + I * kTile, tile.n_rows, {0, tile.n_columns});
      for (int i = 0; J > I && i < tile.n_rows; ++i)
        r[I * kTile + i] -= ops().dot(rows[i], x + J * kTile, {0, tile.n_columns});
    }
}

}  // namespace localsvm
