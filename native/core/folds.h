// Rows of a cell are ordered by fold: `fold_ends`[l] is one past the last row of fold l; the last one is n.
#pragma once

#include <algorithm>
#include <vector>

namespace localsvm {

// The fold ends of a part, given its ascending rows and the fold ends of the whole.
inline std::vector<int> ends_within(const std::vector<int>& rows, const std::vector<int>& fold_ends) {
  std::vector<int> ends;
  for (const int end : fold_ends)
    ends.push_back(static_cast<int>(std::lower_bound(rows.begin(), rows.end(), end) - rows.begin()));
  return ends;
}

}  // namespace localsvm
