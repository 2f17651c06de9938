// What is stored of a kernel matrix: see cell.h and half_kernel.h.
#pragma once

namespace localsvm {

enum class Storage { full, kernel, rows };  // a part has the kernel only

inline const char* name_of(Storage storage) {
  const char* const names[] = {"full", "kernel", "rows"};
  return names[static_cast<int>(storage)];
}

}  // namespace localsvm
