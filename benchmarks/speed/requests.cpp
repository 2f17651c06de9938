// What a program can ask of callgrind while it runs in it; without callgrind these do nothing.
#include <valgrind/callgrind.h>

extern "C" void start_counting() {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

extern "C" void stop_counting(const char* name) {
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name);
}
