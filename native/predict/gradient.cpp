#include "predict/gradient.h"

#include <algorithm>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "kernel/samples.h"

namespace localsvm {

namespace {

constexpr int kPoints = 32;    // of a block
constexpr int kGroups = 64;    // of points whose squares are summed in one piece
constexpr float kFar = 1e38f;  // points are clipped to this: their slopes are 0 and their differences finite

// Memory of one thread for a block of points.
class Workspace {
 public:
  explicit Workspace(const KernelSums& sums)
      : n_features_(sums.n_features),
        size_(static_cast<size_t>(sums.n_outputs) * sums.n_features),
        points_(static_cast<size_t>(kPoints) * sums.n_features),
        slopes_(static_cast<size_t>(kPoints) * kStrip),
        sums_(kPoints * size_) {
    for (int p = 0; p < kPoints; ++p) {
      x[p] = points_.data() + static_cast<size_t>(p) * n_features_;
      slopes[p] = slopes_.data() + static_cast<size_t>(p) * kStrip;
    }
  }

  void start(const float* points, int count) {
    for (size_t i = 0; i < static_cast<size_t>(count) * n_features_; ++i)
      points_[i] = std::clamp(points[i], -kFar, kFar);
    std::fill_n(sums_.data(), count * size_, 0.0);
  }

  // Gradients (outputs x features) of a point.
  double* gradients_of(int p) { return sums_.data() + p * size_; }
  size_t size() const { return size_; }

  const float* x[kPoints];
  float* slopes[kPoints];

 private:
  int n_features_;
  size_t size_;
  std::vector<float> points_;
  Aligned<float> slopes_;
  std::vector<double> sums_;
};

// The support vectors in panels, the coefficients padded.
class Support {
 public:
  explicit Support(const KernelSums& sums)
      : sums_(sums),
        ld_(padded(sums.n_support)),
        samples_(sums.support_vectors, sums.n_support, sums.n_features),
        coefficients_(ld_ * sums.n_outputs) {
    for (int o = 0; o < sums.n_outputs; ++o)
      std::copy_n(sums.coefficients + static_cast<size_t>(o) * sums.n_support, sums.n_support,
                  coefficients_.data() + o * ld_);
  }

  // Leaves the gradients of at most kPoints points in the workspace.
  void gradients_at(const float* points, int count, Workspace& work) const {
    work.start(points, count);
    const int d = sums_.n_features;
    for (int begin = 0; begin < static_cast<int>(ld_); begin += kStrip) {
      const Range strip{begin, std::min(begin + kStrip, static_cast<int>(ld_))};
      ops().distances(sums_.kernel, work.x, count, samples_.panels(), d, strip, work.slopes);
      for (int p = 0; p < count; ++p)
        ops().kernel_slopes(sums_.kernel, sums_.width, work.slopes[p], work.slopes[p], strip.size());
      for (int o = 0; o < sums_.n_outputs; ++o) {
        double* out[kPoints];
        for (int p = 0; p < count; ++p) out[p] = work.gradients_of(p) + static_cast<size_t>(o) * d;
        ops().add_differences(sums_.kernel, work.x, count, work.slopes, coefficients_.data() + o * ld_,
                              samples_.panels(), d, strip, out);
      }
    }
  }

 private:
  const KernelSums& sums_;
  size_t ld_;
  Samples samples_;
  Aligned<float> coefficients_;
};

}  // namespace

void gradients(const KernelSums& sums, const float* points, int n_points, int n_threads, float* out) {
  const Support support(sums);
  std::vector<Workspace> workspaces;
  workspaces.reserve(n_threads);  // a workspace has pointers to its arrays, and must not move
  for (int thread = 0; thread < n_threads; ++thread) workspaces.emplace_back(sums);
  for_blocks(n_points, kPoints, n_threads, nullptr, [&](int thread, Range rows) {
    Workspace& work = workspaces[thread];
    support.gradients_at(points + static_cast<size_t>(rows.begin) * sums.n_features, rows.size(), work);
    std::copy_n(work.gradients_of(0), rows.size() * work.size(), out + rows.begin * work.size());
  });
}

// Groups do not depend on the number of threads, and their sums are added in order.
void mean_squared_gradients(const KernelSums& sums, const float* points, const double* weights, int n_points,
                            int n_threads, double* out) {
  const Support support(sums);
  const size_t size = static_cast<size_t>(sums.n_outputs) * sums.n_features;
  const int group_size = (n_points + kGroups * kPoints - 1) / (kGroups * kPoints) * kPoints;
  const int n_groups = (n_points + group_size - 1) / group_size;
  std::vector<double> totals(n_groups * size);
  for_jobs(n_groups, n_threads, [&](int group) {
    Workspace work(sums);
    double* total = totals.data() + group * size;
    const int end = std::min((group + 1) * group_size, n_points);
    for (int begin = group * group_size; begin < end; begin += kPoints) {
      const int count = std::min(kPoints, end - begin);
      support.gradients_at(points + static_cast<size_t>(begin) * sums.n_features, count, work);
      for (int p = 0; p < count; ++p) {
        const double* gradient = work.gradients_of(p);
        for (size_t i = 0; i < size; ++i) total[i] += weights[begin + p] * gradient[i] * gradient[i];
      }
    }
  });
  double total_weight = 0;
  for (int p = 0; p < n_points; ++p) total_weight += weights[p];
  std::fill_n(out, size, 0.0);
  for (int group = 0; group < n_groups; ++group)
    for (size_t i = 0; i < size; ++i) out[i] += totals[group * size + i] / total_weight;
}

}  // namespace localsvm
