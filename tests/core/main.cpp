// Checks of the core without Python, so that they run under any compiler, sanitizer and emulator.
//
//   core_check digests       digests of small work of every kind; fails where SIMD levels, threads or memory change one
//   core_check arithmetic    multiply-add in software against std::fma
//   core_check allocations   fails every allocation and every start of a thread, one after the other: work must end
//                            with std::bad_alloc or with its usual result, and leave nothing behind
//
// A second argument is a part of the names of the work that is done.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "allocations.h"
#include "arithmetic.h"
#include "core/aligned.h"
#include "simd/ops.h"
#include "workloads.h"

namespace localsvm::check {

namespace {

constexpr int kRows = 333, kFewRows = 60;

bool check_digests(const char* part_of_name) {
  bool all_equal = true;
  for (const Workload& work : all_workloads(kRows)) {
    if (work.name.find(part_of_name) == std::string::npos) continue;
    const uint64_t first = work.digest(work.ways[0]);
    std::printf("%016" PRIx64 " %s\n", first, work.name.c_str());
    for (const char* const* level = available_levels(); *level; ++level) {
      set_simd_level(*level);
      for (const Way& way : work.ways) {
        if (work.digest(way) == first) continue;
        std::fprintf(stderr, "%s: another digest at level %s, with %d threads and %zu bytes\n", work.name.c_str(), *level,
                     way.n_threads, way.max_bytes);
        all_equal = false;
      }
    }
    set_simd_level(*available_levels());
  }
  return all_equal;
}

// Fails allocations until one run needs fewer; returns how many runs that took, or -1 if one went wrong.
int64_t fail_each(const Workload& work, const Way& way) {
  const uint64_t usual = work.digest(way);
  free_kept_blocks();
  const int64_t before = live_blocks();
  for (int64_t count = 0;; ++count) {
    fail_after(count);
    bool has_result = false;
    uint64_t result = 0;
    try {
      result = work.digest(way);
      has_result = true;
    } catch (const std::bad_alloc&) {
    }
    const bool is_over = !has_failed();
    fail_never();
    free_kept_blocks();
    const int64_t leaked = live_blocks() - before;
    if ((has_result && result != usual) || leaked != 0) {
      std::fprintf(stderr, "%s, %d threads: without allocation %" PRId64 ": %s, %" PRId64 " blocks are left\n",
                   work.name.c_str(), way.n_threads, count, has_result ? "a result" : "an exception", leaked);
      return -1;
    }
    if (is_over) return count;
  }
}

bool check_allocations(const char* part_of_name) {
  bool all_right = true;
  for (const Workload& work : all_workloads(kFewRows)) {
    if (work.name.find(part_of_name) == std::string::npos) continue;
    for (const Way& way : {work.ways.front(), work.ways.back()}) {
      const int64_t failures = fail_each(work, way);
      std::printf("%s, %d threads: %" PRId64 " failures\n", work.name.c_str(), way.n_threads, failures);
      all_right = all_right && failures >= 0;
    }
  }
  return all_right;
}

}  // namespace

}  // namespace localsvm::check

int main(int n_arguments, char** arguments) {
  const char *const what = n_arguments > 1 ? arguments[1] : "", *const part_of_name = n_arguments > 2 ? arguments[2] : "";
  bool is_right = false;
  if (std::strcmp(what, "digests") == 0)
    is_right = localsvm::check::check_digests(part_of_name);
  else if (std::strcmp(what, "allocations") == 0)
    is_right = localsvm::check::check_allocations(part_of_name);
  else if (std::strcmp(what, "arithmetic") == 0)
    is_right = localsvm::check::check_arithmetic();
  else
    std::fprintf(stderr, "core_check arithmetic | digests | allocations [part of a name]\n");
  return is_right ? 0 : 1;
}
