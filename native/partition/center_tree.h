// A tree of centers, packed once: the way of rows from the root to a leaf, by the nearest center of every node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.h"

namespace localsvm {

class CenterTree {
 public:
  explicit CenterTree(int n_features) : n_features_(n_features) {}
  CenterTree(const CenterTree&) = delete;
  CenterTree(CenterTree&&) = default;

  // Appends a node: its centers (count x n_features), and for each the number of another node, or -1 - a leaf.
  void add_node(const float* centers, const int64_t* children, int count);
  // Whether every path ends: nodes come after their parents.
  bool ends_in_leaves() const;

  int n_features() const { return n_features_; }

  // The leaf of every row, and its squared distance from the leaf's center.  A row's leaf depends on no other row.
  void descend(const float* X, size_t n, int32_t* leaves, float* squared) const;

 private:
  struct Node {
    Aligned<float> panels;
    std::vector<int64_t> children;
    Aligned<float> sizes;  // |c|^2; large in the padding
    double largest_size = 0;
  };
  void descend_from(size_t node, const float* X, const size_t* rows, size_t n, int32_t* leaves, float* squared) const;
  void nearest(const Node& node, const float* X, const size_t* rows, size_t n, int32_t* labels, float* squared) const;
  void nearest_of_many(const Node& node, const float* const* x, int count, float* workspace, int32_t* labels,
                       float* squared) const;
  bool nearest_of_found(const Node& node, const float* x, const float* products, float least, int32_t* label,
                        float* squared) const;

  int n_features_;
  std::vector<Node> nodes_;
};

}  // namespace localsvm
