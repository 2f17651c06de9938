// Arrays that start on 64-byte boundaries, so that no vector load of a row's start crosses a cache line.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

namespace localsvm {

constexpr size_t kHugePage = size_t{2} << 20;  // bytes

// Thrown where memory is exhausted; says how much was asked for.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(size_t bytes) noexcept;
  const char* what() const noexcept override { return message_; }

 private:
  char message_[80];
};

// Allocates at least `bytes` bytes (rounded up in place), aligned to 64 bytes, or to a huge page if they are that many.
// Freed blocks of 16 KB to 32 MB are pooled, up to 64 MB in all: consecutive cells and paths need the same sizes, and
// fresh pages would cost a tenth of the training time.
void* allocate_block(size_t& bytes);
void free_block(void* block, size_t bytes) noexcept;
// Frees the blocks of the pool.
void free_kept_blocks() noexcept;

struct Uninitialized {};

template <typename T>
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(size_t size) : Aligned(size, Uninitialized{}) {
    std::memset(static_cast<void*>(data()), 0, size * sizeof(T));
  }
  Aligned(size_t size, Uninitialized) : size_(size) {
    if (size > std::numeric_limits<size_t>::max() / sizeof(T)) throw OutOfMemory(size);
    size_t bytes = size * sizeof(T);
    T* block = static_cast<T*>(allocate_block(bytes));
    data_ = {block, Free{bytes}};
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    size_t bytes = 0;
    void operator()(T* p) const noexcept { free_block(p, bytes); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace localsvm
