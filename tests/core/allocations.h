// Allocations of the core that fail on demand.  The linker redirects its calls here (CMakeLists.txt).
#pragma once

#include <cstdint>

namespace localsvm::check {

// From now on, the allocation (or the start of a thread) after `count` more of them fails, and those after it succeed.
void fail_after(int64_t count);
void fail_never();
// Whether it has failed.
bool has_failed();
// Blocks allocated and not freed.
int64_t live_blocks();

}  // namespace localsvm::check
