// Decision values of many rows, each by the functions of its own cell.
#pragma once

#include <vector>

#include "predict/packed_cell.h"

namespace localsvm {

// values (rows x outputs) by cells[slot]; rows of slot -1 stay as they are.  All cells have the same outputs.
// The value of a row depends on no other row, nor on the number of threads.
void evaluate_rows(const float* points, const std::vector<int>& slots, const std::vector<const PackedCell*>& cells,
                   int n_threads, double* values);

}  // namespace localsvm
