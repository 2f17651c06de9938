#include "partition/center_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simd/ops.h"

namespace localsvm {

namespace {

constexpr int kTogether = 4;    // points that share a load of centers
constexpr size_t kMany = 256;   // centers for which products come first
constexpr int kMostNear = 64;  // centers that are compared by differences
constexpr float kHuge = 1e38f;

double squares(const float* x, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += static_cast<double>(x[k]) * x[k];
  return sum;
}

}  // namespace

void CenterTree::add_node(const float* centers, const int64_t* children, int count) {
  Node node{Aligned<float>(padded(count) * n_features_), {children, children + count}, Aligned<float>(padded(count))};
  std::fill_n(node.sizes.data(), padded(count), kHuge);
  for (int c = 0; c < count; ++c) {
    const double size = squares(centers + static_cast<size_t>(c) * n_features_, n_features_);
    node.sizes[c] = static_cast<float>(std::min<double>(size, kHuge));
    node.largest_size = std::max(node.largest_size, size);
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
  const bool has_many = node.children.size() >= kMany;
  Aligned<float> workspace(has_many ? kTogether * (node.sizes.size() + n_features_) : 0, Uninitialized{});
  for (size_t begin = 0; begin < n; begin += kRows) {
    const size_t count = std::min(kRows, n - begin);
    for (size_t i = 0; i < count; ++i) x[i] = X + rows[begin + i] * n_features_;
    if (has_many) {
      for (size_t i = 0; i < count; i += kTogether)
        nearest_of_many(node, x + i, static_cast<int>(std::min<size_t>(kTogether, count - i)), workspace.data(),
                        labels + begin + i, squared + begin + i);
      continue;
    }
    ops().nearest_in_panels(x, static_cast<int>(count), node.panels.data(), static_cast<int>(node.children.size()),
                            n_features_, labels + begin, squared + begin);
  }
}

// Products take a third of the operations that differences take, and leave a few centers that may be nearest: the
// differences of these decide, so that leaves do not depend on how products are rounded.
void CenterTree::nearest_of_many(const Node& node, const float* const* x, int count, float* workspace, int32_t* labels,
                                 float* squared) const {
  const size_t ld = node.sizes.size(), d = n_features_;
  float* products = workspace;
  float* minus_twice = workspace + kTogether * ld;
  const float* points[kTogether];
  float* out[kTogether];
  float least[kTogether];
  for (int a = 0; a < count; ++a) {
    for (size_t k = 0; k < d; ++k) minus_twice[a * d + k] = -2 * x[a][k];
    points[a] = minus_twice + a * d;
    out[a] = products + a * ld;
  }
  ops().center_products(points, count, node.panels.data(), node.sizes.data(), ld, n_features_, out, least);
  for (int a = 0; a < count; ++a)
    if (!nearest_of_found(node, x[a], out[a], least[a], labels + a, squared + a))
      ops().nearest_in_panels(x + a, 1, node.panels.data(), static_cast<int>(node.children.size()), n_features_,
                              labels + a, squared + a);
}

// Returns false if products do not tell enough: they overflow, or too many centers are as near.
bool CenterTree::nearest_of_found(const Node& node, const float* x, const float* products, float least,
                                  int32_t* label, float* squared) const {
  // Sums of d + 2 terms, in both ways of computing, are rounded by at most (d + 2) 2^-23 of the sum of their sizes,
  // which is at most 2 |x|^2 + 2 |c|^2; twice that, for either of two centers.
  const double size = squares(x, n_features_) + node.largest_size;
  const double limit = least + 4.0 * (n_features_ + 4) * 0x1p-23 * 2 * size;
  if (!(size < kHuge / 8) || !(limit < kHuge / 2)) return false;
  int32_t found[kMostNear];
  const int n_centers = static_cast<int>(node.children.size());
  const int count = ops().find_within(products, n_centers, std::nextafter(static_cast<float>(limit), kHuge),
                                      found, kMostNear);
  if (count == 0 || count == kMostNear) return false;
  for (int i = 0; i < count; ++i) {
    const float* center = node.panels.data() + place_in_panels(found[i], n_features_);
    float sum = 0;
    for (int k = 0; k < n_features_; ++k) {
      const float e = x[k] - center[static_cast<size_t>(k) * kPad];
      sum += e * e;
    }
    if (i == 0 || sum < *squared) *label = found[i], *squared = sum;
  }
  return true;
}

}  // namespace localsvm
