// When a solver stops, and what it certifies about its solution.
#pragma once

#include <cstdint>

#include "core/cancel.h"

namespace localsvm {

enum class Status : int8_t {
  converged = 0,  // the gap is at most the tolerance
  max_steps = 1,  // the steps allowed were used up
  precision = 2,  // float32 allows no further progress
  cancelled = 3,  // stopped by another thread
  skipped = 4,    // not solved, as the caller asked for fewer lams
};

inline constexpr const char* kStatusNames[] = {"converged", "max_steps", "precision", "cancelled", "skipped"};

struct Certificate {
  double gap = 0;  // duality gap in risk units
  Status status = Status::converged;
  int64_t steps = 0;
};

struct StopRule {
  double tolerance = 1e-3;  // of the duality gap in risk units
  int64_t max_steps = 0;
  const CancelFlag* cancelled = nullptr;
  bool is_cancelled() const { return is_set(cancelled); }
};

}  // namespace localsvm
