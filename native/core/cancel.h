// The flag by which another thread stops native work.  No flag (nullptr) is never set.
#pragma once

#include <atomic>

namespace localsvm {

using CancelFlag = std::atomic<bool>;

inline bool is_set(const CancelFlag* flag) { return flag && flag->load(std::memory_order_relaxed); }

}  // namespace localsvm
