#include "predict/packed_cell.h"

#include <algorithm>
#include <cmath>

namespace localsvm {

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr int kBlock = 128;  // points that are moved at a time
constexpr int kFetched = 8;  // points that are fetched from memory meanwhile

// The largest norms of support vectors, in units of the exponent, for which distances are expanded.  Squares are
// rounded to about 1e-7 of |x|^2 + |s|^2, and so are exponents of a Gauss kernel; those of a Laplace kernel take a root
// (evaluate_level.cpp); Manhattan distances are rounded to about 1e-7 of |x| + |s|.
constexpr double kLargestSquare = 400 * kLog2E, kLargestRootOfSquare = 64, kLargestAbsolute = 64;

// Beyond this distance the kernel is 0: the exponent of 2 is below -126.
constexpr double kRootOfFar = 12, kFar = 128;

std::vector<float> mean_of(const float* rows, int n, int n_features) {
  std::vector<double> sum(n_features, 0.0);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n_features; ++k) sum[k] += rows[static_cast<size_t>(i) * n_features + k];
  std::vector<float> mean(n_features);
  for (int k = 0; k < n_features; ++k) mean[k] = static_cast<float>(sum[k] / std::max(n, 1));
  return mean;
}

// In double, and four sums, so that compilers and processors agree, and no addition waits for the one before.
template <typename Term>
double sum_over(const float* x, int n, Term term) {
  double sums[4] = {};
  int k = 0;
  for (; k + 4 <= n; k += 4)
    for (int q = 0; q < 4; ++q) sums[q] += term(static_cast<double>(x[k + q]));
  for (int q = 0; k < n; ++k, ++q) sums[q] += term(static_cast<double>(x[k]));
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
double squares(const float* x, int n) {
  return sum_over(x, n, [](double v) { return v * v; });
}
double absolutes(const float* x, int n) {
  return sum_over(x, n, [](double v) { return std::fabs(v); });
}
double plain_sum(const float* x, int n) {
  return sum_over(x, n, [](double v) { return v; });
}

double unit_of(Kernel kernel, float width) {
  return kernel == Kernel::gauss ? std::sqrt(kLog2E) / width : kLog2E / width;
}

// Finite even where 1/width^2 is not, so that a distance of 0 still gives 1.
float minus_scale_of(Kernel kernel, float width) {
  const double scale = kLog2E / (kernel == Kernel::gauss ? static_cast<double>(width) * width : width);
  return scale > 3e38 ? -3e38f : static_cast<float>(-scale);
}

Form form_of(Kernel kernel, double largest) {
  switch (kernel) {
    case Kernel::gauss:
      return largest <= kLargestSquare ? Form::gauss : Form::gauss_differences;
    case Kernel::laplace:
      return largest <= kLargestRootOfSquare ? Form::laplace : Form::laplace_differences;
    default:
      return largest <= kLargestAbsolute ? Form::manhattan : Form::manhattan_differences;
  }
}

bool is_expanded(Form form) { return form == Form::gauss || form == Form::laplace || form == Form::manhattan; }

double reach_of(Form form, double largest) {
  if (form == Form::manhattan) return largest + kFar;
  const double reach = std::sqrt(largest) + (form == Form::gauss ? kRootOfFar : kFar);
  return reach * reach;
}

}  // namespace

PackedSum::PackedSum(const SumOfKernels& sum)
    : n_features_(sum.n_features),
      outputs_(sum.outputs),
      origin_(mean_of(sum.support_vectors, sum.n_support, sum.n_features)),
      minus_scale_(minus_scale_of(sum.kernel, sum.width)),
      ld_(padded(sum.n_support)),
      panels_(ld_ * sum.n_features),
      sizes_(ld_),
      coefficients_(ld_ * sum.outputs.size()) {
  const int n = sum.n_support, d = n_features_;
  std::vector<float> rows(sum.support_vectors, sum.support_vectors + static_cast<size_t>(n) * d);
  const double unit = unit_of(sum.kernel, sum.width);
  double largest = 0;
  for (int s = 0; s < n; ++s) {
    float* x = rows.data() + static_cast<size_t>(s) * d;
    for (int k = 0; k < d; ++k) x[k] -= origin_[k];
    largest = std::max(largest, sum.kernel == Kernel::manhattan ? absolutes(x, d) * unit : squares(x, d) * unit * unit);
  }
  form_ = form_of(sum.kernel, largest);
  reach_ = reach_of(form_, largest);
  unit_ = is_expanded(form_) ? static_cast<float>(unit) : 1.0f;
  for (int s = 0; s < n; ++s) {
    float* x = rows.data() + static_cast<size_t>(s) * d;
    for (int k = 0; k < d; ++k) x[k] *= unit_;
    sizes_[s] = static_cast<float>(form_ == Form::manhattan ? plain_sum(x, d) : -squares(x, d));
    float* panel = panels_.data() + place_in_panels(s, d);
    const float factor = is_expanded(form_) ? 2.0f : 1.0f;
    for (int k = 0; k < d; ++k) panel[static_cast<size_t>(k) * kPad] = factor * x[k];
  }
  for (size_t o = 0; o < outputs_.size(); ++o)
    std::copy_n(sum.coefficients + o * n, n, coefficients_.data() + o * ld_);
}

// Rows of a cell are scattered over memory.
void PackedSum::prefetch(const float* point) const {
  for (int k = 0; k < n_features_; k += kPad) __builtin_prefetch(point + k);
}

// Returns false if the point is beyond reach.
bool PackedSum::moved(const float* point, float* out, float* size) const {
  const int d = n_features_;
  for (int k = 0; k < d; ++k) out[k] = (point[k] - origin_[k]) * unit_;
  if (!is_expanded(form_)) return true;
  const double norm = form_ == Form::manhattan ? absolutes(out, d) : squares(out, d);
  if (!(norm <= reach_)) {  // or NaN, of infinity
    std::fill_n(out, d, 0.0f);
    *size = 0;
    return false;
  }
  *size = static_cast<float>(form_ == Form::manhattan ? plain_sum(out, d) : -norm);
  if (form_ == Form::manhattan)
    for (int k = 0; k < d; ++k) out[k] *= 2.0f;
  return true;
}

void PackedSum::add_values(const float* points, const int* rows, int count, double* values, int n_outputs) const {
  const int n_own = static_cast<int>(outputs_.size());
  const SupportView support{form_, panels_.data(), sizes_.data(), minus_scale_, coefficients_.data(), ld_, n_own};
  const int most = std::min(count, kBlock);
  std::vector<float> x(static_cast<size_t>(most) * n_features_), sizes(most);
  std::vector<char> within(most);
  std::vector<double> f(static_cast<size_t>(most) * n_own);
  for (int begin = 0; begin < count; begin += most) {
    const int size = std::min(most, count - begin);
    for (int p = 0; p < size; ++p) {
      if (begin + p + kFetched < count) prefetch(points + static_cast<size_t>(rows[begin + p + kFetched]) * n_features_);
      within[p] = moved(points + static_cast<size_t>(rows[begin + p]) * n_features_,
                        x.data() + static_cast<size_t>(p) * n_features_, &sizes[p]);
    }
    std::fill(f.begin(), f.end(), 0.0);
    ops().evaluate(support, x.data(), sizes.data(), size, n_features_, f.data());
    for (int p = 0; p < size; ++p)
      if (within[p])
        for (int o = 0; o < n_own; ++o)
          values[static_cast<size_t>(begin + p) * n_outputs + outputs_[o]] += f[static_cast<size_t>(p) * n_own + o];
  }
}

size_t PackedCell::bytes() const {
  size_t bytes = sizeof *this;
  for (const PackedSum& sum : sums_) bytes += sizeof sum + sum.bytes();
  return bytes;
}

void PackedCell::evaluate(const float* points, const int* rows, int count, double* values) const {
  const size_t n_out = constants_.size();
  std::vector<double> f(count * n_out);
  for (int i = 0; i < count; ++i) std::copy(constants_.begin(), constants_.end(), f.begin() + i * n_out);
  for (const PackedSum& sum : sums_) sum.add_values(points, rows, count, f.data(), static_cast<int>(n_out));
  for (int i = 0; i < count; ++i)
    for (size_t o = 0; o < n_out; ++o)
      values[rows[i] * n_out + o] = std::min(std::max(f[i * n_out + o], bounds_[2 * o]), bounds_[2 * o + 1]);
}

}  // namespace localsvm
