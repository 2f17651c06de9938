#include "krylov/lanczos.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace localsvm {

namespace {

constexpr double kNothing = 0x1p-24;  // of the largest A v: a shorter vector is only rounding
constexpr double kSmallest = std::numeric_limits<float>::min();
constexpr int kChunk = 8;             // basis vectors that stay in the cache during orthogonalization

}  // namespace

Lanczos::Lanczos(const float* b, const float* s, size_t ld, int dimension)
    : s_(s), ld_(ld), dimension_(dimension), x_(ld), next_(ld), lanes_(kChunk * kLanes) {
  std::copy_n(b, ld, next_.data());
  T_.beta.push_back(std::sqrt(ops().dot(b, b, {0, static_cast<int>(ld)})));
  if (T_.beta[0] > kSmallest)
    extend(T_.beta[0]);
  else
    complete_ = true;
}

const float* Lanczos::vector(int j) const { return basis_[j / kChunk].data() + j % kChunk * ld_; }

// The vectors of a chunk that are among the first `n_vectors` of the basis.
Block Lanczos::chunk(int number, int n_vectors) const {
  return {basis_[number].data(), ld_, std::min(kChunk, n_vectors - number * kChunk), static_cast<int>(ld_)};
}

void Lanczos::extend(double norm) {
  const int j = T_.size();
  if (j % kChunk == 0) basis_.emplace_back(kChunk * ld_, Uninitialized{});
  float* const v = basis_.back().data() + j % kChunk * ld_;
  const float factor = static_cast<float>(1 / norm);
  for (size_t i = 0; i < ld_; ++i) {
    v[i] = factor * next_[i];
    x_[i] = s_[i] * v[i];
  }
}

void Lanczos::step(const float* y) {
  const Range all{0, static_cast<int>(ld_)};
  const int j = T_.size();
  const float *const v = vector(j), *const before = vector(j > 0 ? j - 1 : 0);
  for (size_t i = 0; i < ld_; ++i) next_[i] = s_[i] * y[i];
  double alpha = ops().dot(v, next_.data(), all);
  const float along = static_cast<float>(alpha), back = j > 0 ? static_cast<float>(T_.beta[j]) : 0.0f;
  for (size_t i = 0; i < ld_; ++i) next_[i] -= along * v[i] + back * before[i];
  alpha += orthogonalize();
  const double beta = std::sqrt(ops().dot(next_.data(), next_.data(), all));
  largest_ = std::max(largest_, std::abs(alpha) + beta);
  complete_ = j + 1 >= dimension_ || !(beta > std::max(kSmallest, kNothing * largest_));
  T_.alpha.push_back(alpha);
  T_.beta.push_back(beta);
  if (!complete_) extend(beta);
}

// Orthogonalizes the next vector against all before it; returns its component along the last one.
float Lanczos::orthogonalize() {
  float part[kChunk];
  const int n_vectors = T_.size() + 1;
  for (int first = 0; first < n_vectors; first += kChunk) {
    const Block vectors = chunk(first / kChunk, n_vectors);
    const BlockVector across{next_.data(), lanes_.data()}, down{part, next_.data()};
    std::fill_n(part, kChunk, 0.0f);
    ops().add_across(vectors, &across, 1);
    ops().sum_lanes(lanes_.data(), vectors.n_rows, part);
    for (float& p : part) p = -p;
    ops().add_down(vectors, &down, 1);
  }
  return -part[(n_vectors - 1) % kChunk];
}

void Lanczos::combine(const std::vector<std::vector<double>>& z, float* const* u) const {
  std::vector<std::vector<float>> rounded(z.size());
  for (size_t q = 0; q < z.size(); ++q) {
    rounded[q].assign(z[q].begin(), z[q].end());
    rounded[q].resize(T_.size());
  }
  std::vector<BlockVector> sums(z.size());
  for (int first = 0; first < T_.size(); first += kChunk) {
    for (size_t q = 0; q < z.size(); ++q) sums[q] = {rounded[q].data() + first, u[q]};
    ops().add_down(chunk(first / kChunk, T_.size()), sums.data(), static_cast<int>(sums.size()));
  }
}

}  // namespace localsvm
