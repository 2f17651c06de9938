// Holds the kernel matrix of a part of a cell while it is in use; a whole cell keeps its own.
#pragma once

#include "core/cancel.h"

namespace localsvm {

// Owner has is_part(), copy_kernel_of_whole(cancelled) and release_kernel().
template <typename Owner>
class KernelInUse {
 public:
  KernelInUse(Owner& owner, const CancelFlag* cancelled) : owner_(owner) {
    if (!owner_.is_part()) return;
    try {
      owner_.copy_kernel_of_whole(cancelled);
    } catch (...) {
      owner_.release_kernel();
      throw;
    }
  }
  ~KernelInUse() {
    if (owner_.is_part()) owner_.release_kernel();
  }
  KernelInUse(const KernelInUse&) = delete;
  KernelInUse& operator=(const KernelInUse&) = delete;

 private:
  Owner& owner_;
};

}  // namespace localsvm
