// Parallel loops: threads take the next block or job when they have finished one.
//
// An exception in any thread ends the loop: no thread takes more work, and when all have stopped, the first exception
// is thrown in the calling thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "core/cancel.h"
#include "core/range.h"

namespace localsvm {

// The first exception of some threads.
class FirstFailure {
 public:
  // Calls run(); an exception is kept here, and `on_failure` is called.
  template <typename Run, typename OnFailure>
  void catching(const Run& run, const OnFailure& on_failure) noexcept {
    try {
      run();
    } catch (...) {
      on_failure();
      const std::lock_guard<std::mutex> guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  // Once all threads have ended.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// Calls run(thread), which does not throw, in this thread and in `n_helpers` others, and waits for all.
template <typename Run>
void run_in_threads(int n_helpers, const Run& run) {
  std::vector<std::thread> helpers;
  helpers.reserve(std::max(n_helpers, 0));
  try {
    for (int thread = 1; thread <= n_helpers; ++thread) helpers.emplace_back(run, thread);
  } catch (const std::system_error&) {
    // No more threads are available: those that run do all the work.
  } catch (const std::bad_alloc&) {
  }
  run(0);
  for (std::thread& helper : helpers) helper.join();
}

// Calls work(thread, begin) for begin = 0, block, 2 block, ... below n; stops between two blocks once `cancelled` is
// set.
template <typename Work>
void share_blocks(int64_t n, int64_t block, int n_helpers, const CancelFlag* cancelled, const Work& work) {
  std::atomic<int64_t> next{0};
  FirstFailure failure;
  run_in_threads(n_helpers, [&](int thread) noexcept {
    failure.catching(
        [&] {
          for (int64_t begin; (begin = next.fetch_add(block)) < n && !is_set(cancelled);) work(thread, begin);
        },
        [&] { next = n; });
  });
  failure.rethrow();
}

// Calls work(thread, rows) for all blocks of `block` rows of 0..n-1.  Blocks must not depend on each other.
template <typename Work>
void for_blocks(int n, int block, int n_threads, const CancelFlag* cancelled, const Work& work) {
  // Small work is finished before a thread would have started.
  const int n_helpers = n / 16 >= block ? n_threads - 1 : 0;
  share_blocks(n, block, n_helpers, cancelled, [&](int thread, int64_t begin) {
    work(thread, Range{static_cast<int>(begin), static_cast<int>(std::min<int64_t>(begin + block, n))});
  });
}

// Calls work(job) for the jobs 0..n-1, each long enough to justify a thread.
template <typename Work>
void for_jobs(int n, int n_threads, const Work& work) {
  share_blocks(n, 1, std::min(n, n_threads) - 1, nullptr, [&](int, int64_t job) { work(static_cast<int>(job)); });
}

}  // namespace localsvm
