// The functions of a cell, packed once for evaluation at any points.
#pragma once

#include <vector>

#include "core/aligned.h"
#include "simd/ops.h"

namespace localsvm {

// sum_s coefficients (outputs x support) k(x, s) for some of the outputs of a cell; matrices are row-major.
struct SumOfKernels {
  Kernel kernel;
  float width;
  const float* support_vectors;
  int n_support, n_features;
  const float* coefficients;
  std::vector<int> outputs;
};

// A sum of kernels, its support vectors in panels, as seen from their mean.
class PackedSum {
 public:
  explicit PackedSum(const SumOfKernels& sum);

  // Adds the values at points[rows[i]] to values (count x n_outputs).
  void add_values(const float* points, const int* rows, int count, double* values, int n_outputs) const;
  size_t bytes() const { return sizeof(float) * (panels_.size() + sizes_.size() + coefficients_.size()); }

 private:
  void prefetch(const float* point) const;
  bool moved(const float* point, float* out, float* size) const;

  int n_features_;
  std::vector<int> outputs_;
  std::vector<float> origin_;
  Form form_;
  float unit_;        // of points
  float minus_scale_;
  double reach_;      // expanded: points of larger norm are so far from all support vectors that the sum is 0
  size_t ld_;
  Aligned<float> panels_, sizes_, coefficients_;
};

// Constants plus sums of kernels, clipped at bounds.
class PackedCell {
 public:
  // bounds: the smallest and the largest value of each output.
  PackedCell(int n_features, std::vector<double> constants, std::vector<double> bounds)
      : n_features_(n_features), constants_(std::move(constants)), bounds_(std::move(bounds)) {}
  PackedCell(const PackedCell&) = delete;
  void add(const SumOfKernels& sum) { sums_.emplace_back(sum); }

  int n_features() const { return n_features_; }
  int n_outputs() const { return static_cast<int>(constants_.size()); }
  size_t bytes() const;

  // values[rows[i]*n_outputs + o] = the value of output o at points[rows[i]]; a value depends on no other row.
  void evaluate(const float* points, const int* rows, int count, double* values) const;

 private:
  int n_features_;
  std::vector<double> constants_, bounds_;
  std::vector<PackedSum> sums_;
};

}  // namespace localsvm
