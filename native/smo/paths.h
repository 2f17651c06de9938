// The lambda paths of several problems at one width, side by side.
//
// A cell of many classes has many binary problems, most of them on a part of its rows.  Results stand in columns, one per
// sample of a problem:
//
//   columns = [ samples of problem 0 | samples of problem 1 | ... ]
#pragma once

#include <cstdint>
#include <vector>

#include "smo/cell.h"

namespace localsvm {

struct PathJob {
  Cell* cell;  // the whole, or a part of it
  int problem;
  std::vector<double> lams;        // descending; at most those of the longest job
  std::vector<double> total_weights;  // of the training samples, by fold asked for
};

// A fold of -1 leaves nothing out.
struct PathsResult {
  std::vector<float> beta;     // fold x lambda x column
  std::vector<float> values;   // lambda x column: by the machine that left the sample's fold out
  std::vector<double> gap;     // job x fold x lambda; NaN where a job has fewer lams
  std::vector<int8_t> status;  // job x fold x lambda
  std::vector<int64_t> steps;  // job x fold x lambda
  std::vector<double> loss;    // job x fold x lambda: of the samples left out, clipped and summed
  std::vector<double> wrong;   // job x fold x lambda: the weight of those whose sign is wrong
  double seconds = 0;          // summed over threads
  size_t n_lams = 0, n_columns = 0;
};

// `skipped` is the status of lams a job does not have.  `guesses`, if there are any, are coefficients (fold x column) that
// may be near to those of the first lambda: the solutions at another width.
PathsResult solve_paths(const std::vector<PathJob>& jobs, const std::vector<int>& folds, const StopRule& stop,
                        int n_threads, const float* guesses);

}  // namespace localsvm
