#include "lanczos.h"

#include <algorithm>
#include <cmath>

namespace localsvm {

namespace {

constexpr double kNothing = 0x1p-24;  // of the largest A v: a vector shorter than this is rounding

double norm_of(const Aligned<double>& v) {
  double squares = 0;
  for (size_t i = 0; i < v.size(); ++i) squares += v[i] * v[i];
  return std::sqrt(squares);
}

}  // namespace

Lanczos::Lanczos(const float* b, const float* s, size_t ld, int dimension)
    : s_(s), ld_(ld), dimension_(dimension), x_(ld), rounded_(ld), next_(ld) {
  for (size_t i = 0; i < ld; ++i) next_[i] = b[i];
  T_.beta.push_back(norm_of(next_));
  if (T_.beta[0] > 0)
    extend(T_.beta[0]);
  else
    complete_ = true;
}

void Lanczos::extend(double norm) {
  Aligned<float>& v = basis_.emplace_back(ld_, Uninitialised{});
  basis_rows_.push_back(v.data());
  for (size_t i = 0; i < ld_; ++i) {
    v[i] = static_cast<float>(next_[i] / norm);
    x_[i] = s_[i] * v[i];
  }
}

void Lanczos::step(const float* y) {
  const Ops& op = ops();
  const Range all{0, static_cast<int>(ld_)};
  const int j = T_.size();
  for (size_t i = 0; i < ld_; ++i) next_[i] = rounded_[i] = s_[i] * y[i];
  double alpha = op.dot(basis_rows_[j], rounded_.data(), all);
  const float near[2] = {static_cast<float>(alpha), j > 0 ? static_cast<float>(T_.beta[j]) : 0.0f};
  const float* const near_rows[2] = {basis_rows_[j], basis_rows_[j > 0 ? j - 1 : 0]};
  op.subtract_rows(next_.data(), near_rows, near, j > 0 ? 2 : 1, all);

  std::vector<float> parts(j + 1);
  for (size_t i = 0; i < ld_; ++i) rounded_[i] = static_cast<float>(next_[i]);
  op.dots(basis_rows_.data(), j + 1, rounded_.data(), all.end, parts.data());
  op.subtract_rows(next_.data(), basis_rows_.data(), parts.data(), j + 1, all);

  alpha += parts[j];
  const double beta = norm_of(next_);
  largest_ = std::max(largest_, std::abs(alpha) + beta);
  complete_ = j + 1 >= dimension_ || !(beta > kNothing * largest_);
  T_.alpha.push_back(alpha);
  T_.beta.push_back(beta);
  if (!complete_) extend(beta);
}

void Lanczos::combine(const std::vector<std::vector<double>>& z, float* const* u) const {
  std::vector<std::vector<float>> rounded(z.size());
  std::vector<BothProducts> products;
  for (size_t q = 0; q < z.size(); ++q) {
    rounded[q].assign(z[q].begin(), z[q].end());
    rounded[q].resize(T_.size());
    products.push_back({rounded[q].data(), u[q], nullptr, nullptr});
  }
  ops().add_products(basis_rows_.data(), T_.size(), {0, static_cast<int>(ld_)}, products.data(),
                     static_cast<int>(products.size()));
}

}  // namespace localsvm
