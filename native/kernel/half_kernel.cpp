#include "kernel/half_kernel.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/parallel.h"

namespace localsvm {

namespace {

int blocks_of(int n) { return (n + kTile - 1) / kTile; }

// Number of tiles in the first `rows` rows of tiles.
size_t tiles_in(int rows, int n_blocks) {
  const size_t r = rows, b = n_blocks;
  return r * b - r * (r - 1) / 2;
}

}  // namespace

MatrixBytes HalfPlan::bytes(size_t n, size_t n_features, size_t n_threads) {
  constexpr size_t tile = kTileSize * sizeof(float);
  const size_t n_blocks = blocks_of(n);
  return {padded(n) * n_features * sizeof(float) + tile * n_threads, tiles_in(n_blocks, n_blocks) * tile, 0, 0};
}

HalfPlan::HalfPlan(int n, int n_features, size_t max_bytes, int n_threads) {
  const MatrixBytes needed = bytes(n, n_features, n_threads);
  const int n_blocks = blocks_of(n);
  storage = needed.choose(max_bytes, n, n_features);
  n_stored = n_blocks;
  if (storage != Storage::rows) return;
  while (needed.always + tiles_in(n_stored, n_blocks) * kTileSize * sizeof(float) > max_bytes) --n_stored;
}

HalfKernel::HalfKernel(const float* X, int n, int n_features, Kernel kernel, const HalfPlan& plan, int n_threads,
                       const CancelFlag* cancelled)
    : n_(n),
      ld_(padded(n)),
      n_blocks_(blocks_of(n)),
      kernel_(kernel),
      storage_(plan.storage),
      n_stored_(plan.n_stored),
      n_threads_(n_threads),
      samples_(X, n, n_features),
      K_(tiles_in(n_stored_, n_blocks_) * kTileSize, Uninitialized{}) {
  if (storage_ != Storage::full) return;
  distances_ = Aligned<float>(K_.size(), Uninitialized{});
  for_blocks(n_blocks_, 1, n_threads_, cancelled, [&](int, Range block) {
    for (int J = block.begin; J < n_blocks_; ++J)
      make_distances(block.begin, J, distances_.data() + place(block.begin, J));
  });
  samples_ = Samples();
}

HalfKernel::HalfKernel(const HalfKernel& whole, std::vector<int> rows)
    : n_(static_cast<int>(rows.size())),
      ld_(padded(rows.size())),
      n_blocks_(blocks_of(n_)),
      kernel_(whole.kernel_),
      storage_(Storage::kernel),
      n_stored_(n_blocks_),
      n_threads_(1),
      whole_(&whole),
      rows_of_whole_(std::move(rows)) {}

Range HalfKernel::rows(int block) const { return {block * kTile, std::min(n_, (block + 1) * kTile)}; }

size_t HalfKernel::place(int I, int J) const { return (tiles_in(I, n_blocks_) + J - I) * kTileSize; }

void HalfKernel::make_distances(int I, int J, float* out) const {
  const Range of_rows = rows(I), columns{J * kTile, std::min((J + 1) * kTile, static_cast<int>(ld_))};
  if (of_rows.size() < kTile || columns.size() < kTile) std::fill_n(out, kTileSize, 0.0f);
  int index[kTile];
  float* row[kTile];
  std::iota(index, index + of_rows.size(), of_rows.begin);
  for (int r = 0; r < of_rows.size(); ++r) row[r] = out + r * kTile;
  samples_.distances(kernel_, index, of_rows.size(), columns, row);
}

void HalfKernel::make_kernel(int I, int J, float* out) const {
  make_distances(I, J, out);
  ops().kernel_values(kernel_, width_, out, out, kTileSize);
}

void HalfKernel::set_width(float width, const CancelFlag* cancelled) {
  width_ = width;
  try {
    fill_kernel(cancelled);
  } catch (...) {
    width_ = 0;
    throw;
  }
}

void HalfKernel::fill_kernel(const CancelFlag* cancelled) {
  for_blocks(n_stored_, 1, n_threads_, cancelled, [&](int, Range block) {
    const int I = block.begin;
    const size_t first = place(I, I), end = place(I + 1, I + 1);
    if (storage_ == Storage::full)
      ops().kernel_values(kernel_, width_, distances_.data() + first, K_.data() + first, end - first);
    else
      for (int J = I; J < n_blocks_; ++J) make_kernel(I, J, K_.data() + place(I, J));
  });
}

Block HalfKernel::tile(int I, int J, float* scratch) const {
  const float* values = scratch;
  if (I < n_stored_)
    values = K_.data() + place(I, J);
  else
    make_kernel(I, J, scratch);
  return {values, kTile, rows(I).size(), std::min(kTile, static_cast<int>(ld_) - J * kTile)};
}

// Reads every tile of the whole once, and copies the entries of the part.  Rows ascend, so the upper half comes from
// the upper half.
void HalfKernel::copy_kernel_of_whole(const CancelFlag* cancelled) {
  K_ = Aligned<float>(tiles_in(n_blocks_, n_blocks_) * kTileSize);
  Aligned<float> scratch(kTileSize, Uninitialized{});
  const auto begin_of = [&](int block) {
    const auto at = std::lower_bound(rows_of_whole_.begin(), rows_of_whole_.end(), block * kTile);
    return static_cast<int>(at - rows_of_whole_.begin());
  };
  for (int I = 0; I < whole_->n_blocks_ && !is_set(cancelled); ++I)
    for (int J = I; J < whole_->n_blocks_; ++J) {
      const Range own_rows{begin_of(I), begin_of(I + 1)}, own_columns{begin_of(J), begin_of(J + 1)};
      if (own_rows.size() > 0 && own_columns.size() > 0)
        copy_tile(whole_->tile(I, J, scratch.data()), own_rows, own_columns);
    }
  mirror_diagonal();
}

void HalfKernel::copy_tile(const Block& tile_of_whole, Range own_rows, Range own_columns) {
  for (int a = own_rows.begin; a < own_rows.end; ++a) {
    const float* const row = tile_of_whole.values + static_cast<size_t>(rows_of_whole_[a] % kTile) * kTile;
    for (int b = std::max(a, own_columns.begin); b < own_columns.end; ++b)
      K_[place(a / kTile, b / kTile) + static_cast<size_t>(a % kTile) * kTile + b % kTile] =
          row[rows_of_whole_[b] % kTile];
  }
}

void HalfKernel::mirror_diagonal() {
  for (int I = 0; I < n_blocks_; ++I) {
    float* const values = K_.data() + place(I, I);
    for (int i = 0; i < kTile; ++i)
      for (int j = 0; j < i; ++j) values[i * kTile + j] = values[j * kTile + i];
  }
}

void HalfKernel::copy(float* out) const {
  Aligned<float> scratch(kTileSize, Uninitialized{});
  for (int I = 0; I < n_blocks_; ++I)
    for (int J = I; J < n_blocks_; ++J) {
      const Block block = tile(I, J, scratch.data());
      for (int i = rows(I).begin; i < rows(I).end; ++i)
        for (int j = rows(J).begin; j < rows(J).end; ++j)
          out[static_cast<size_t>(i) * n_ + j] = out[static_cast<size_t>(j) * n_ + i] =
              block.values[static_cast<size_t>(i % kTile) * kTile + j % kTile];
    }
}

}  // namespace localsvm
