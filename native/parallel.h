// Work in blocks, by a few threads that take the next block when they are done with one.
#pragma once

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "ops.h"
#include "steps.h"

namespace localsvm {

// Calls work(thread, rows) for all blocks of `block` rows of 0..n-1; stops between two blocks once `cancelled` is set.
// Blocks must not depend on each other, and `work` must not throw: a thread has nobody to tell.
template <typename Work>
void for_blocks(int n, int block, int n_threads, const std::atomic<bool>* cancelled, const Work& work) {
  std::atomic<int> next{0};
  const auto run = [&](int thread) {
    for (int begin; (begin = next.fetch_add(block)) < n && !is_set(cancelled);)
      work(thread, Range{begin, begin + block < n ? begin + block : n});
  };
  std::vector<std::thread> helpers;
  // Small work is done before a thread has started.
  const int n_helpers = n >= 16 * block ? n_threads - 1 : 0;
  try {
    for (int thread = 1; thread <= n_helpers; ++thread) helpers.emplace_back(run, thread);
  } catch (const std::system_error&) {
    // No more threads to be had: those there are do it all.
  }
  run(0);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace localsvm
