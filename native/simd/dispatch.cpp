// Chooses the SIMD level once, at load time: the best the processor has, or LOCALSVM_SIMD.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "simd/ops.h"

namespace localsvm {

#if defined(LOCALSVM_SUPPORTS_AVX512)
namespace avx512 {
extern const Ops kOps;
}
#endif
#if defined(LOCALSVM_SUPPORTS_AVX2)
namespace avx2 {
extern const Ops kOps;
}
#endif
namespace baseline {
extern const Ops kOps;
}

namespace {

struct Levels {
  const Ops* tables[4] = {};
  const char* names[4] = {};
  int count = 0;
  void add(const Ops& table) {
    tables[count] = &table;
    names[count++] = table.name;
  }
};

Levels find_levels() {
  Levels levels;
  // CMakeLists.txt defines these by the features that a level is compiled with.
#if defined(LOCALSVM_SUPPORTS_AVX512)
  __builtin_cpu_init();
  if (LOCALSVM_SUPPORTS_AVX512) levels.add(avx512::kOps);
#endif
#if defined(LOCALSVM_SUPPORTS_AVX2)
  __builtin_cpu_init();
  if (LOCALSVM_SUPPORTS_AVX2) levels.add(avx2::kOps);
#endif
  levels.add(baseline::kOps);
  return levels;
}

const Levels& levels() {
  static const Levels found = find_levels();
  return found;
}

const Ops* table_of(const char* name) {
  for (int i = 0; i < levels().count; ++i)
    if (std::strcmp(levels().names[i], name) == 0) return levels().tables[i];
  return nullptr;
}

const Ops* initial_table() {
  const char* forced = std::getenv("LOCALSVM_SIMD");
  const Ops* table = forced ? table_of(forced) : nullptr;
  return table ? table : levels().tables[0];
}

std::atomic<const Ops*>& current() {
  static std::atomic<const Ops*> table{initial_table()};
  return table;
}

}  // namespace

const Ops& ops() { return *current().load(std::memory_order_relaxed); }
const char* simd_level() { return ops().name; }
const char* const* available_levels() { return levels().names; }

bool set_simd_level(const char* name) {
  const Ops* table = table_of(name);
  if (table) current().store(table);
  return table != nullptr;
}

}  // namespace localsvm
