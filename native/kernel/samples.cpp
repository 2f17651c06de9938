#include "kernel/samples.h"

#include <vector>

namespace localsvm {

Samples::Samples(const float* X, int n, int n_features)
    : n_features_(n_features), panels_(padded(n) * static_cast<size_t>(n_features)) {
  for (int i = 0; i < n; ++i) {
    float* panel = panels_.data() + place_in_panels(i, n_features);
    const float* x = X + static_cast<size_t>(i) * n_features;
    for (int k = 0; k < n_features; ++k) panel[static_cast<size_t>(k) * kPad] = x[k];
  }
}

// Copies of some samples, each contiguous.
class Samples::Packed {
 public:
  Packed(const Samples& samples, const int* rows, int count)
      : values_(static_cast<size_t>(count) * samples.n_features_), rows_(count) {
    const int d = samples.n_features_;
    for (int a = 0; a < count; ++a) {
      float* x = values_.data() + static_cast<size_t>(a) * d;
      const float* panel = samples.panels_.data() + place_in_panels(rows[a], d);
      for (int k = 0; k < d; ++k) x[k] = panel[static_cast<size_t>(k) * kPad];
      rows_[a] = x;
    }
  }
  const float* const* rows() const { return rows_.data(); }

 private:
  std::vector<float> values_;
  std::vector<const float*> rows_;
};

void Samples::distances(Kernel kernel, const int* rows, int count, Range columns, float* const* out) const {
  const Packed packed(*this, rows, count);
  ops().distances(kernel, packed.rows(), count, panels_.data(), n_features_, columns, out);
}

void Samples::kernel_rows(Kernel kernel, float width, const int* rows, int count, Range columns,
                          float* const* out) const {
  const Packed packed(*this, rows, count);
  ops().kernel_rows(kernel, width, packed.rows(), count, panels_.data(), n_features_, columns, out);
}

}  // namespace localsvm
