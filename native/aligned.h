// Arrays that start on 64-byte boundaries, so that no vector load of a row's start crosses a cache line.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "ops.h"

namespace localsvm {

inline size_t padded(size_t n) { return (n + kPad - 1) / kPad * kPad; }

constexpr size_t kHugePage = 2u << 20;

struct Uninitialised {};

template <typename T>
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(size_t size) : Aligned(size, Uninitialised{}) {
    std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T));
  }
  Aligned(size_t size, Uninitialised) : size_(size) {
    const size_t wanted = size * sizeof(T);
    const size_t alignment = wanted >= kHugePage ? kHugePage : 64;
    const size_t bytes = (wanted + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes ? bytes : alignment)));
    if (!data_) throw std::bad_alloc();
#if defined(__linux__)
    // The solver jumps between rows: with small pages most jumps miss the TLB.
    if (alignment == kHugePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace localsvm
