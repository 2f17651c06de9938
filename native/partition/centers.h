// Voronoi partitions: nearest centers, and centers by farthest-first traversal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cancel.h"

namespace localsvm {

// labels[i] = the center nearest to row i, ties by index; distances[i] = its squared distance.  A row with NaN has
// label 0 and an infinite distance.
void nearest_centers(const float* X, size_t n, int n_features, const float* centers, int n_centers, int32_t* labels,
                     float* distances, const CancelFlag* cancelled);

// A partition of n rows: centers are rows, in the order in which they were found.
struct Splitting {
  std::vector<int32_t> centers;   // row numbers
  std::vector<int32_t> labels;    // n: position in `centers`
  std::vector<float> distances;   // n: squared distance to the center
};

// When a cell is split, and when it is dissolved.
struct SplitRule {
  double largest_size = 0;            // sum of the counts of its rows
  double tiny_size = 0;               // smaller cells are dissolved if possible
  float largest_squared_radius = 0;   // used if by_radius
  bool by_radius = false;
};

// Farthest-first traversal (Gonzalez 1985).
//
//   given   rows X, counts of the rows (a row may stand for several duplicates), a rule
//   result  centers such that every cell obeys the rule, or its rows are all equal
//   stops   when no cell violates the rule
//
// The worst cell is split first: its farthest row becomes a center, and every row moves to its nearest center.  An
// outlier may take hardly any rows with it; the next center of that cell is then a row at the median distance, then the
// nearest other row, whose bisector passes through the middle of the cell.  So outliers cost a few centers, not one
// each.  If the rule is by size, centers of tiny cells are then deleted, smallest first, as long as no cell that takes
// over their rows becomes too large.
Splitting farthest_first(const float* X, int n, int n_features, const double* counts, const SplitRule& rule,
                         const CancelFlag* cancelled);

}  // namespace localsvm
