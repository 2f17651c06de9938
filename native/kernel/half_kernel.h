// The upper half of a kernel matrix, in tiles.
//
//   [ 00 01 02 03 ]      A tile has kTile rows and columns, row-major; the tiles of a row of tiles are contiguous:
//   [    11 12 13 ]
//   [       22 23 ]      00 01 02 03 | 11 12 13 | 22 23 | 33
//   [          33 ]
//
// K is symmetric, so products with it need no more (block_product.h).  Tiles are read sequentially, at the bandwidth of
// memory, and each stays in the first-level cache until it has been multiplied by all vectors.
//
// Memory, in floats, besides n d for the samples; entries are the same to the bit:
//
//   full     n^2     distances, computed once, and K
//   kernel   n^2/2   K; distances are recomputed for every width
//   rows     c n     the first rows of tiles; the others are computed when they are needed
//
// A part is the matrix of some of the samples, copied from that of the whole while it is in use (kernel_in_use.h).
#pragma once

#include <vector>

#include "core/aligned.h"
#include "core/cancel.h"
#include "kernel/samples.h"
#include "kernel/storage.h"

namespace localsvm {

constexpr size_t kTileSize = static_cast<size_t>(kTile) * kTile;

// What is stored of a matrix of n rows, and the bytes that it takes.
struct HalfPlan {
  // The first of full, kernel, rows that fits into `max_bytes`; std::invalid_argument if not even the samples and one
  // tile for each of `n_threads` do.
  HalfPlan(int n, int n_features, size_t max_bytes, int n_threads);
  static MatrixBytes bytes(size_t n, size_t n_features, size_t n_threads);
  Storage storage;
  int n_stored;  // rows of tiles
};

class HalfKernel {
 public:
  // X is row-major.  `n_threads` threads build the matrix; it is left unfinished once `cancelled` is set.
  HalfKernel(const float* X, int n, int n_features, Kernel kernel, const HalfPlan& plan, int n_threads,
             const CancelFlag* cancelled);

  // A part: `rows` of `whole`, ascending, which must outlive it.
  HalfKernel(const HalfKernel& whole, std::vector<int> rows);

  // Should it throw, the matrix has no width.
  void set_width(float width, const CancelFlag* cancelled);

  // Of a part: copies the kernel values of the whole, and releases them.
  void copy_kernel_of_whole(const CancelFlag* cancelled);
  void release_kernel() { K_ = Aligned<float>(); }

  int n() const { return n_; }
  size_t ld() const { return ld_; }  // n, padded: vectors have as many entries
  int n_blocks() const { return n_blocks_; }
  Range rows(int block) const;
  Storage storage() const { return storage_; }
  bool has_width() const { return whole_ ? whole_->has_width() : width_ > 0; }
  bool is_part() const { return whole_ != nullptr; }

  // The tile of the rows of block I and the columns of block J, I <= J: where it is stored, or computed in `scratch`.
  // Its columns end with those of the matrix, padded; the padding holds finite numbers.
  Block tile(int I, int J, float* scratch) const;

  // All n rows, each of n entries; for tests and inspection.
  void copy(float* out) const;

 private:
  size_t place(int I, int J) const;  // offset of a tile
  void fill_kernel(const CancelFlag* cancelled);
  void make_distances(int I, int J, float* out) const;
  void make_kernel(int I, int J, float* out) const;
  void copy_tile(const Block& tile_of_whole, Range own_rows, Range own_columns);
  void mirror_diagonal();

  const int n_;
  const size_t ld_;
  const int n_blocks_;
  const Kernel kernel_;
  const Storage storage_;
  const int n_stored_;
  const int n_threads_;
  const HalfKernel* const whole_ = nullptr;
  const std::vector<int> rows_of_whole_;
  float width_ = 0;  // none yet
  Samples samples_;
  Aligned<float> distances_, K_;
};

}  // namespace localsvm
