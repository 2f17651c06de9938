// What is stored of a kernel matrix (see smo/cell.h and kernel/half_kernel.h), and how many bytes that takes.
#pragma once

#include <cstddef>

namespace localsvm {

enum class Storage { full, kernel, rows };  // a part of a cell stores the kernel only

inline const char* name_of(Storage storage) {
  const char* const names[] = {"full", "kernel", "rows"};
  return names[static_cast<int>(storage)];
}

// Bytes of the samples and matrices of a cell.
struct MatrixBytes {
  size_t always;       // whatever is stored
  size_t kernel;       // the kernel matrix; the distances take as much
  size_t scratch;      // where rows are recomputed
  size_t fewest_rows;  // of the kernel matrix, without which no solver can work

  size_t full() const { return always + 2 * kernel; }
  size_t kernel_only() const { return always + scratch + kernel; }
  size_t smallest() const { return always + scratch + fewest_rows; }

  // The first of full, kernel and rows that fits into `max_bytes`; std::invalid_argument if none does.
  Storage choose(size_t max_bytes, int n, int n_features) const;
};

}  // namespace localsvm
