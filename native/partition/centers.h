// Voronoi partitions: nearest centers, and centers by farthest-first traversal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cancel.h"

namespace localsvm {

// labels[i] = the center nearest to row i, of equally near ones the first; distances[i] its squared distance.
void nearest_centers(const float* X, size_t n, int n_features, const float* centers, int n_centers, int32_t* labels,
                     float* distances, const CancelFlag* cancelled);

// A partition of n rows: centers are rows, in the order in which they were found.
struct Splitting {
  std::vector<int32_t> centers;   // row numbers
  std::vector<int32_t> labels;    // n: position in `centers`
  std::vector<float> distances;   // n: squared distance to the center
};

// When a cell is split further, and when it is given up again.
struct SplitRule {
  double largest_size = 0;            // sum of the counts of its rows
  double tiny_size = 0;               // below that a cell is dissolved where it can be
  float largest_squared_radius = 0;   // used if by_radius
  bool by_radius = false;
};

// Given   rows X, counts of the rows (a row may stand for many), a rule
// Result  centers such that every cell obeys the rule, or its rows are all equal
// Method  farthest-first traversal (Gonzalez 1985) that always splits the worst cell: its farthest row becomes a center,
//         and every row goes to its nearest center.  A far-off row may take nearly nothing with it; the next
//         center of that cell is then a row at the median distance, then the nearest other row, whose bisector
//         passes through the middle of the cell: so outliers cost a few centers, not one each.
//         By size, centers of tiny cells are then deleted, smallest first, as long as no cell that takes over rows
//         becomes too large.
Splitting farthest_first(const float* X, int n, int n_features, const double* counts, const SplitRule& rule,
                         const CancelFlag* cancelled);

}  // namespace localsvm
