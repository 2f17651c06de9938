#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "core/aligned.h"

namespace localsvm {

namespace {

constexpr size_t kSmallestKept = size_t{16} << 10;
constexpr size_t kMaxKept = size_t{64} << 20;
constexpr size_t kLargestKept = kMaxKept / 2;  // a larger block would displace most others

struct Block {
  void* start;
  size_t bytes;
};

class BlockPool {
 public:
  ~BlockPool() { clear(); }

  void clear() {
    const std::lock_guard lock(mutex_);
    for (const Block& block : blocks_) std::free(block.start);
    blocks_.clear();
    total_ = 0;
  }

  // The smallest block that fits without wasting more than half of it, or nullptr.
  void* take(size_t& bytes) {
    const std::lock_guard lock(mutex_);
    size_t best = blocks_.size();
    for (size_t b = 0; b < blocks_.size(); ++b)
      if (blocks_[b].bytes >= bytes && blocks_[b].bytes <= 2 * bytes &&
          (best == blocks_.size() || blocks_[b].bytes < blocks_[best].bytes))
        best = b;
    if (best == blocks_.size()) return nullptr;
    const Block block = blocks_[best];
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(best));
    total_ -= block.bytes;
    bytes = block.bytes;
    return block.start;
  }

  // Adds a block, and frees the oldest ones beyond the limit.
  void keep(Block block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(block);  // may throw
    total_ += block.bytes;
    while (total_ > kMaxKept) {
      total_ -= blocks_.front().bytes;
      std::free(blocks_.front().start);
      blocks_.erase(blocks_.begin());
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;
  size_t total_ = 0;
};

BlockPool& pool() {
  static BlockPool blocks;
  return blocks;
}

}  // namespace

OutOfMemory::OutOfMemory(size_t bytes) noexcept {
  std::snprintf(message_, sizeof message_, "an array of %zu bytes could not be allocated", bytes);
}

void* allocate_block(size_t& bytes) {
  const bool large = bytes >= kHugePage;
  const size_t alignment = large ? kHugePage : 64;
  if (bytes > std::numeric_limits<size_t>::max() / 2) throw OutOfMemory(bytes);
  bytes = bytes ? (bytes + alignment - 1) / alignment * alignment : alignment;
  if (bytes >= kSmallestKept)
    if (void* block = pool().take(bytes)) return block;
  void* block = std::aligned_alloc(alignment, bytes);
  if (!block) {
    free_kept_blocks();
    block = std::aligned_alloc(alignment, bytes);
  }
  if (!block) throw OutOfMemory(bytes);
#if defined(__linux__)
  // The solver jumps between rows: with small pages most jumps miss the TLB.
  if (large) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}

void free_kept_blocks() noexcept { pool().clear(); }

void free_block(void* block, size_t bytes) noexcept {
  if (bytes < kSmallestKept || bytes > kLargestKept) {
    std::free(block);
    return;
  }
  try {
    pool().keep({block, bytes});
  } catch (...) {
    std::free(block);
  }
}

}  // namespace localsvm
