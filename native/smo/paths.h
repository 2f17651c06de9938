// The lambda paths of several problems at one width, side by side.
//
// A cell of many classes has many binary problems, most of them on a part of its rows.  Results have one column per
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
  std::vector<double> lams;        // descending; jobs may have different numbers of them
  std::vector<double> total_weights;  // of the training samples, by validation fold
};

// A fold of -1 trains on all rows.  A job with fewer lams than others has status `skipped` at those that it lacks.
struct PathsResult {
  std::vector<float> beta;     // fold x lam x column
  std::vector<float> values;   // lam x column: by the solution whose validation fold the sample is in
  std::vector<double> gap;     // job x fold x lam; NaN where skipped
  std::vector<int8_t> status;  // job x fold x lam
  std::vector<int64_t> steps;  // job x fold x lam
  std::vector<double> loss;    // job x fold x lam: of the validation samples, clipped and summed
  std::vector<double> wrong;   // job x fold x lam: the weight of those whose sign is wrong
  double seconds = 0;          // summed over threads
  size_t n_lams = 0, n_columns = 0;
};

// `guesses` are coefficients (fold x column) that may be near those of the first lam, such as the solutions at another
// width; nullptr: none.
PathsResult solve_paths(const std::vector<PathJob>& jobs, const std::vector<int>& folds, const StopRule& stop,
                        int n_threads, const float* guesses);

}  // namespace localsvm
