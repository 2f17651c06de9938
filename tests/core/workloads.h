// Small work of every kind that the core does, with a digest of the results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace localsvm::check {

// How the same work can be done; the results may not depend on it.
struct Way {
  int n_threads = 1;
  size_t max_bytes = SIZE_MAX;  // of a kernel matrix
};

struct Workload {
  std::string name;
  std::function<uint64_t(const Way&)> digest;
  std::vector<Way> ways;
};

// On samples of `n` rows.
std::vector<Workload> all_workloads(int n);

}  // namespace localsvm::check
