// What the bindings share.  They check shapes and values once; the rest of native/ trusts them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/cancel.h"
#include "data/scaling.h"
#include "simd/ops.h"

namespace localsvm {

using Matrix = nanobind::ndarray<const float, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using Cube = nanobind::ndarray<const float, nanobind::ndim<3>, nanobind::c_contig, nanobind::device::cpu>;
using Vector = nanobind::ndarray<const float, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using DoubleVector = nanobind::ndarray<const double, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// A flag that stops native work from another thread.
struct CancelToken {
  CancelFlag flag{false};
};

inline const CancelFlag* flag_of(const CancelToken* token) { return token ? &token->flag : nullptr; }

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Sizes are ints in the core.
inline int as_int(size_t size, const char* of_what) {
  constexpr size_t kMost = std::numeric_limits<int>::max() / 2;  // so that padded sizes are ints, too
  if (size > kMost)
    throw std::invalid_argument("at most " + std::to_string(kMost) + " " + of_what + " are possible, got " +
                                std::to_string(size));
  return static_cast<int>(size);
}

template <typename T>
void require_finite(const T* values, size_t n, const char* of_what) {
  if (all_finite(values, n)) return;
  for (size_t i = 0; i < n; ++i)
    if (!std::isfinite(values[i]))
      throw std::invalid_argument(std::string(of_what) + " must be finite, got " + std::to_string(values[i]));
}
inline void require_finite(const Matrix& values, const char* of_what) {
  require_finite(values.data(), values.size(), of_what);
}

// Hands a vector's memory to NumPy.
template <typename T>
nanobind::object to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owner->data();
  nanobind::capsule capsule(owner.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owner.release();
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, shape, capsule));
}

// Results of a solver, as NumPy arrays; the methods that return them say what their axes are.
struct Solutions {
  nanobind::object beta, values, gap, status, steps;
};

Kernel kernel_of(const std::string& name);
void require_cell(const Matrix& X, const std::vector<int>& fold_ends, int n_threads);
void require_rows_of_part(const std::vector<int>& rows, int n_rows_of_whole);
void require_lams(const std::vector<double>& lams);

void bind_cell(nanobind::module_& m);
void bind_data(nanobind::module_& m);
void bind_square_cell(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_partition(nanobind::module_& m);
void bind_predict(nanobind::module_& m);

}  // namespace localsvm
