#include "partition/centers.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/aligned.h"
#include "core/range.h"
#include "simd/ops.h"

namespace localsvm {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kPoorFraction = 1.0 / 16;  // of a cell: a split that takes less is a poor one

// Rows feature-major and padded, with the nearest center of each so far.
class RowBlock {
 public:
  RowBlock(int capacity, int n_features)
      : n_features_(n_features),
        XT_(padded(capacity) * n_features),
        nearest_(padded(capacity)),
        labels_(padded(capacity)) {}

  // Fills the block with rows; row_of(i) is the i-th.
  template <typename RowOf>
  void load(int n, RowOf row_of) {
    ld_ = padded(n);
    for (int i = 0; i < n; ++i) {
      const float* row = row_of(i);
      for (int k = 0; k < n_features_; ++k) XT_[k * ld_ + i] = row[k];
    }
    std::fill(nearest_.data(), nearest_.data() + ld_, kInfinity);
    std::fill(labels_.data(), labels_.data() + ld_, 0);
  }
  void add_center(const float* center, int32_t label) {
    ops().update_nearest(XT_.data(), n_features_, ld_, center, label, nearest_.data(), labels_.data());
  }
  float nearest(int i) const { return nearest_[i]; }
  int32_t label(int i) const { return labels_[i]; }

 private:
  const int n_features_;
  size_t ld_ = 0;
  Aligned<float> XT_, nearest_;
  Aligned<int32_t> labels_;
};

struct CellState {
  double size = 0;
  float farthest = -1;  // squared distance of the row `farthest_row` from the center
  int farthest_row = 0;
  int poor_splits = 0;
};

class Traversal {
 public:
  Traversal(const float* X, int n, int n_features, const double* counts, const SplitRule& rule)
      : X_(X), n_(n), d_(n_features), counts_(counts), rule_(rule), block_(n, n_features) {
    block_.load(n, [&](int i) { return row(i); });
  }

  void grow(const CancelFlag* cancelled) {
    add_center(0);
    for (int worst; !is_set(cancelled) && (worst = worst_cell()) >= 0;) {
      const double before = cells_[worst].size;
      const int poor_splits = cells_[worst].poor_splits;
      add_center(next_center(worst));
      const double taken = before - cells_[worst].size;
      cells_[worst].poor_splits = taken < kPoorFraction * before ? std::min(poor_splits + 1, 2) : 0;
    }
  }

  // Collects the rows of each cell.
  void collect() {
    members_.assign(centers_.size(), {});
    label_.resize(n_);
    distance_.resize(n_);
    for (int i = 0; i < n_; ++i) {
      label_[i] = block_.label(i);
      distance_[i] = block_.nearest(i);
      members_[label_[i]].push_back(i);
    }
  }

  // Deletes centers of tiny cells, smallest first, if no cell that takes over their rows becomes too large.
  void merge(const CancelFlag* cancelled) {
    std::vector<int> order(centers_.size());
    std::iota(order.begin(), order.end(), 0);
    for (bool changed = true; changed && !is_set(cancelled);) {
      changed = false;
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return cells_[a].size < cells_[b].size; });
      for (const int cell : order)
        if (is_tiny(cell) && !is_set(cancelled) && dissolve(cell)) changed = true;
    }
  }

  Splitting result() const {
    Splitting splitting;
    std::vector<int32_t> position(centers_.size(), -1);
    for (size_t j = 0; j < centers_.size(); ++j)
      if (!members_[j].empty()) {
        position[j] = static_cast<int32_t>(splitting.centers.size());
        splitting.centers.push_back(centers_[j]);
      }
    splitting.labels.resize(n_);
    for (int i = 0; i < n_; ++i) splitting.labels[i] = position[label_[i]];
    splitting.distances = distance_;
    return splitting;
  }

 private:
  const float* row(int i) const { return X_ + static_cast<size_t>(i) * d_; }

  void add_center(int i) {
    block_.add_center(row(i), static_cast<int32_t>(centers_.size()));
    centers_.push_back(i);
    cells_.emplace_back();
    for (CellState& cell : cells_) cell = {0, -1, 0, cell.poor_splits};
    for (int r = 0; r < n_; ++r) {
      CellState& cell = cells_[block_.label(r)];
      cell.size += counts_[r];
      if (block_.nearest(r) > cell.farthest) cell.farthest = block_.nearest(r), cell.farthest_row = r;
    }
  }

  // What the rule limits.
  double extent(const CellState& cell) const { return rule_.by_radius ? cell.farthest : cell.size; }

  // The cell that violates the rule most, or -1.  One whose rows are all equal cannot be split.
  int worst_cell() const {
    const double largest = rule_.by_radius ? rule_.largest_squared_radius : rule_.largest_size;
    int worst = -1;
    for (size_t j = 0; j < cells_.size(); ++j) {
      const bool violates = extent(cells_[j]) > largest && cells_[j].farthest > 0;
      if (violates && (worst < 0 || extent(cells_[j]) > extent(cells_[worst]))) worst = static_cast<int>(j);
    }
    return worst;
  }

  int next_center(int cell) {
    if (rule_.by_radius || cells_[cell].poor_splits == 0) return cells_[cell].farthest_row;
    std::vector<int> others;
    for (int r = 0; r < n_; ++r)
      if (block_.label(r) == cell && block_.nearest(r) > 0) others.push_back(r);
    const auto chosen = others.begin() + (cells_[cell].poor_splits == 1 ? others.size() / 2 : 0);
    std::nth_element(others.begin(), chosen, others.end(), [&](int a, int b) {
      return block_.nearest(a) != block_.nearest(b) ? block_.nearest(a) < block_.nearest(b) : a < b;
    });
    return *chosen;
  }

  bool is_tiny(int cell) const { return !members_[cell].empty() && cells_[cell].size < rule_.tiny_size; }

  // Gives the rows of a cell to the nearest of the other centers, unless that makes one too large.
  bool dissolve(int cell) {
    const std::vector<int>& rows = members_[cell];
    const int count = static_cast<int>(rows.size());
    RowBlock block(count, d_);
    block.load(count, [&](int i) { return row(rows[i]); });
    int n_others = 0;
    for (size_t j = 0; j < centers_.size(); ++j)
      if (static_cast<int>(j) != cell && !members_[j].empty()) {
        block.add_center(row(centers_[j]), static_cast<int32_t>(j));
        ++n_others;
      }
    if (n_others == 0) return false;
    std::vector<double> gained(centers_.size(), 0.0);
    for (int i = 0; i < count; ++i) {
      if (block.nearest(i) == kInfinity) return false;
      const int to = block.label(i);
      gained[to] += counts_[rows[i]];
      if (cells_[to].size + gained[to] > rule_.largest_size) return false;
    }
    for (int i = 0; i < count; ++i) {
      label_[rows[i]] = block.label(i);
      distance_[rows[i]] = block.nearest(i);
      members_[block.label(i)].push_back(rows[i]);
    }
    for (size_t j = 0; j < centers_.size(); ++j) cells_[j].size += gained[j];
    members_[cell].clear();
    return true;
  }

  const float* X_;
  const int n_, d_;
  const double* counts_;
  const SplitRule rule_;
  RowBlock block_;
  std::vector<int> centers_;
  std::vector<CellState> cells_;
  std::vector<std::vector<int>> members_;
  std::vector<int32_t> label_;
  std::vector<float> distance_;
};

}  // namespace

void nearest_centers(const float* X, size_t n, int n_features, const float* centers, int n_centers, int32_t* labels,
                     float* distances, const CancelFlag* cancelled) {
  constexpr int kBlock = 64;  // rows that stay in the first-level cache while they are compared with all centers
  RowBlock block(kBlock, n_features);
  for (size_t begin = 0; begin < n && !is_set(cancelled); begin += kBlock) {
    const int count = static_cast<int>(std::min<size_t>(kBlock, n - begin));
    block.load(count, [&](int i) { return X + (begin + i) * n_features; });
    for (int c = 0; c < n_centers; ++c) block.add_center(centers + static_cast<size_t>(c) * n_features, c);
    for (int i = 0; i < count; ++i) {
      labels[begin + i] = block.label(i);
      distances[begin + i] = block.nearest(i);
    }
  }
}

Splitting farthest_first(const float* X, int n, int n_features, const double* counts, const SplitRule& rule,
                         const CancelFlag* cancelled) {
  Traversal traversal(X, n, n_features, counts, rule);
  traversal.grow(cancelled);
  traversal.collect();
  if (!rule.by_radius) traversal.merge(cancelled);
  return traversal.result();
}

}  // namespace localsvm
