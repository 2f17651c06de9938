#include "partition/center_tree.h"

#include <algorithm>
#include <numeric>

#include "simd/ops.h"

namespace localsvm {

void CenterTree::add_node(const float* centers, const int64_t* children, int count) {
  Node node{Aligned<float>(padded(count) * n_features_), {children, children + count}};
  for (int c = 0; c < count; ++c) {
    float* panel = node.panels.data() + place_in_panels(c, n_features_);
    for (int k = 0; k < n_features_; ++k)
      panel[static_cast<size_t>(k) * kPad] = centers[static_cast<size_t>(c) * n_features_ + k];
  }
  nodes_.push_back(std::move(node));
}

bool CenterTree::ends_in_leaves() const {
  for (size_t number = 0; number < nodes_.size(); ++number) {
    if (nodes_[number].children.empty()) return false;
    for (const int64_t child : nodes_[number].children)
      if (child >= 0 && (child <= static_cast<int64_t>(number) || child >= static_cast<int64_t>(nodes_.size())))
        return false;
  }
  return !nodes_.empty();
}

void CenterTree::descend(const float* X, size_t n, int32_t* leaves, float* squared) const {
  std::vector<size_t> rows(n);
  std::iota(rows.begin(), rows.end(), size_t{0});
  descend_from(0, X, rows.data(), n, leaves, squared);
}

void CenterTree::descend_from(size_t number, const float* X, const size_t* rows, size_t n, int32_t* leaves,
                              float* squared) const {
  const Node& node = nodes_[number];
  std::vector<int32_t> labels(n);
  std::vector<float> distances(n);
  nearest(node, X, rows, n, labels.data(), distances.data());
  std::vector<size_t> inner;  // places of rows that go on
  for (size_t i = 0; i < n; ++i) {
    const int64_t child = node.children[labels[i]];
    leaves[rows[i]] = static_cast<int32_t>(-1 - child);
    squared[rows[i]] = distances[i];
    if (child >= 0) inner.push_back(i);
  }
  // Rows of a child go on together.
  std::stable_sort(inner.begin(), inner.end(), [&](size_t a, size_t b) { return labels[a] < labels[b]; });
  std::vector<size_t> group;
  for (size_t begin = 0; begin < inner.size();) {
    const int32_t label = labels[inner[begin]];
    group.clear();
    for (; begin < inner.size() && labels[inner[begin]] == label; ++begin) group.push_back(rows[inner[begin]]);
    descend_from(static_cast<size_t>(node.children[label]), X, group.data(), group.size(), leaves, squared);
  }
}

void CenterTree::nearest(const Node& node, const float* X, const size_t* rows, size_t n, int32_t* labels,
                         float* squared) const {
  constexpr size_t kRows = 64;
  const float* x[kRows];
  for (size_t begin = 0; begin < n; begin += kRows) {
    const size_t count = std::min(kRows, n - begin);
    for (size_t i = 0; i < count; ++i) x[i] = X + rows[begin + i] * n_features_;
    ops().nearest_in_panels(x, static_cast<int>(count), node.panels.data(), static_cast<int>(node.children.size()),
                            n_features_, labels + begin, squared + begin);
  }
}

}  // namespace localsvm
