// Parallel loops: threads take the next block or job when they have finished one.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/cancel.h"
#include "core/range.h"

namespace localsvm {

// Calls run(thread) in this thread and in `n_helpers` others, and waits for all.
template <typename Run>
void run_in_threads(int n_helpers, const Run& run) {
  std::vector<std::thread> helpers;
  try {
    for (int thread = 1; thread <= n_helpers; ++thread) helpers.emplace_back(run, thread);
  } catch (const std::system_error&) {
    // No more threads are available: those that run do all the work.
  }
  run(0);
  for (std::thread& helper : helpers) helper.join();
}

// Calls work(thread, rows) for all blocks of `block` rows of 0..n-1; stops between two blocks once `cancelled` is set.
// Blocks must not depend on each other, and `work` must not throw: exceptions of helper threads are not passed on.
template <typename Work>
void for_blocks(int n, int block, int n_threads, const CancelFlag* cancelled, const Work& work) {
  std::atomic<int> next{0};
  const auto run = [&](int thread) {
    for (int begin; (begin = next.fetch_add(block)) < n && !is_set(cancelled);)
      work(thread, Range{begin, begin + block < n ? begin + block : n});
  };
  // Small work is finished before a thread would have started.
  run_in_threads(n >= 16 * block ? n_threads - 1 : 0, run);
}

// Calls work(job) for the jobs 0..n-1, each long enough to justify a thread.  The first exception is rethrown here,
// after the running jobs have ended.
template <typename Work>
void for_jobs(int n, int n_threads, const Work& work) {
  std::atomic<int> next{0};
  std::mutex lock;
  std::exception_ptr failure;
  run_in_threads(std::min(n, n_threads) - 1, [&](int) {
    try {
      for (int job; (job = next.fetch_add(1)) < n;) work(job);
    } catch (...) {
      next = n;
      const std::lock_guard<std::mutex> guard(lock);
      if (!failure) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace localsvm
