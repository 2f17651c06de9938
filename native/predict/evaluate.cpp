#include "predict/evaluate.h"

#include <algorithm>

#include "core/parallel.h"

namespace localsvm {

namespace {

constexpr int kJob = 512;  // rows that a thread takes at a time
constexpr int kRun = 256;  // rows of a cell that are evaluated at a time

}  // namespace

void evaluate_rows(const float* points, const std::vector<int>& slots, const std::vector<const PackedCell*>& cells,
                   int n_threads, double* values) {
  // order = [ rows of cells[0] | rows of cells[1] | ... ]
  std::vector<int> ends(cells.size(), 0);
  for (const int slot : slots)
    if (slot >= 0) ++ends[slot];
  std::vector<int> next(cells.size(), 0);
  for (size_t j = 1; j < cells.size(); ++j) next[j] = ends[j - 1], ends[j] += ends[j - 1];
  const int n = ends.empty() ? 0 : ends.back();
  std::vector<int> order(n);
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i] >= 0) order[next[slots[i]]++] = static_cast<int>(i);

  for_jobs((n + kJob - 1) / kJob, n_threads, [&](int job) {
    const int end = std::min((job + 1) * kJob, n);
    for (int begin = job * kJob; begin < end;) {
      const int cell = slots[order[begin]];
      const int stop = std::min({ends[cell], end, begin + kRun});
      cells[cell]->evaluate(points, order.data() + begin, stop - begin, values);
      begin = stop;
    }
  });
}

}  // namespace localsvm
