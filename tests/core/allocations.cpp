#include "allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <thread>
#include <utility>

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> left{kNever}, live{0};
thread_local bool fails_again = false;  // an array is tried twice

bool fails() { return left.fetch_sub(1) == 0; }

}  // namespace

namespace localsvm::check {

void fail_after(int64_t count) { left = count; }
void fail_never() { left = kNever; }
bool has_failed() { return left < 0; }
int64_t live_blocks() { return live; }

}  // namespace localsvm::check

using Start = void (*)();
using State = std::unique_ptr<std::thread::_State>;

extern "C" {
void* __real__Znwm(size_t bytes);
void* __real__ZnwmRKSt9nothrow_t(size_t bytes, const std::nothrow_t& tag);
void __real__ZdlPv(void* block);
void __real__ZdlPvm(void* block, size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void* block);
void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(std::thread* thread,
                                                                                                 State state,
                                                                                                 Start depend);

void* __wrap__Znwm(size_t bytes) {
  if (fails()) throw std::bad_alloc();
  ++live;
  return __real__Znwm(bytes);
}
void* __wrap__ZnwmRKSt9nothrow_t(size_t bytes, const std::nothrow_t& tag) {
  if (fails()) return nullptr;
  ++live;
  return __real__ZnwmRKSt9nothrow_t(bytes, tag);
}
void __wrap__ZdlPv(void* block) {
  if (block) --live;
  __real__ZdlPv(block);
}
void __wrap__ZdlPvm(void* block, size_t bytes) {
  if (block) --live;
  __real__ZdlPvm(block, bytes);
}
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  if (std::exchange(fails_again, false)) return nullptr;
  if (fails()) {
    fails_again = true;
    return nullptr;
  }
  ++live;
  return __real_aligned_alloc(alignment, bytes);
}
void __wrap_free(void* block) {
  if (block) --live;
  __real_free(block);
}
void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(std::thread* thread,
                                                                                                 State state,
                                                                                                 Start depend) {
  if (fails()) std::__throw_system_error(EAGAIN);  // all in the library, whose allocations are not counted
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(thread, std::move(state),
                                                                                              depend);
}
}
