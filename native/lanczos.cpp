#include "lanczos.h"

#include <algorithm>
#include <cmath>

namespace localsvm {

namespace {

constexpr double kNothing = 0x1p-21;  // of A v: what is left of it below this is rounding

double norm_of(const Aligned<double>& v) {
  double squares = 0;
  for (size_t i = 0; i < v.size(); ++i) squares += v[i] * v[i];
  return std::sqrt(squares);
}

}  // namespace

Lanczos::Lanczos(const float* b, const float* s, size_t ld, Range left_out, int dimension)
    : s_(s), ld_(ld), left_out_(left_out), dimension_(dimension), x_(ld), rounded_(ld), next_(ld) {
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
  Aligned<float>& values = left_out_values_.emplace_back(padded(left_out_.size()));
  std::copy(y + left_out_.begin, y + left_out_.end, values.data());
  value_rows_.push_back(values.data());

  for (size_t i = 0; i < ld_; ++i) next_[i] = rounded_[i] = s_[i] * y[i];
  double alpha = op.dot(basis_rows_[j], rounded_.data(), all);
  const float near[2] = {static_cast<float>(alpha), j > 0 ? static_cast<float>(T_.beta[j]) : 0.0f};
  const float* const near_rows[2] = {basis_rows_[j], basis_rows_[j > 0 ? j - 1 : 0]};
  op.subtract_rows(next_.data(), near_rows, near, j > 0 ? 2 : 1, all);

  std::vector<float> parts(j + 1);
  for (size_t i = 0; i < ld_; ++i) rounded_[i] = static_cast<float>(next_[i]);
  for (int m = 0; m <= j; ++m) parts[m] = static_cast<float>(op.dot(basis_rows_[m], rounded_.data(), all));
  op.subtract_rows(next_.data(), basis_rows_.data(), parts.data(), j + 1, all);

  alpha += parts[j];
  double beta = norm_of(next_);
  const double before = j > 0 ? T_.beta[j] : 0.0;
  if (j + 1 >= dimension_ || !(beta > kNothing * (std::abs(alpha) + before))) {
    complete_ = true;
    beta = 0;
  }
  T_.alpha.push_back(alpha);
  T_.beta.push_back(beta);
  if (!complete_) extend(beta);
}

void Lanczos::combine(const std::vector<std::vector<double>>& z, float* const* u, float* const* f) const {
  const size_t n_columns = z.size();
  std::vector<float> packed(T_.size() * n_columns);
  for (size_t q = 0; q < n_columns; ++q)
    for (size_t j = 0; j < z[q].size(); ++j) packed[j * n_columns + q] = static_cast<float>(z[q][j]);
  const Ops& op = ops();
  op.add_products(basis_rows_.data(), T_.size(), static_cast<int>(ld_), packed.data(), static_cast<int>(n_columns), u);
  op.add_products(value_rows_.data(), T_.size(), static_cast<int>(padded(left_out_.size())), packed.data(),
                  static_cast<int>(n_columns), f);
}

}  // namespace localsvm
