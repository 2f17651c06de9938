#include "kernel/storage.h"

#include <stdexcept>
#include <string>

namespace localsvm {

Storage MatrixBytes::choose(size_t max_bytes, int n, int n_features) const {
  if (max_bytes >= full()) return Storage::full;
  if (max_bytes >= kernel_only()) return Storage::kernel;
  if (max_bytes >= smallest()) return Storage::rows;
  throw std::invalid_argument("a cell of " + std::to_string(n) + " rows and " + std::to_string(n_features) +
                              " features needs at least " + std::to_string(smallest()) + " bytes, but max_bytes is " +
                              std::to_string(max_bytes));
}

}  // namespace localsvm
