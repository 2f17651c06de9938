// The binding of scaling.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "data/scaling.h"
#include "python/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

namespace {

template <typename Float>
using Rows = nb::ndarray<const Float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ends = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Float>
auto affine(Rows<Float> X, DoubleVector shift, DoubleVector factor) {
  const size_t n = X.shape(0), d = X.shape(1);
  require(shift.shape(0) == d && factor.shape(0) == d, "a shift and a factor for every column");
  std::vector<float> out(n * d);
  {
    nb::gil_scoped_release unlocked;
    scale_affine(X.data(), n, static_cast<int>(d), shift.data(), factor.data(), out.data());
  }
  return to_numpy(std::move(out), {n, d});
}

template <typename Float>
auto to_ranks(Rows<Float> X, DoubleVector knots, DoubleVector ranks, Ends ends) {
  const size_t n = X.shape(0), d = X.shape(1);
  require(ends.shape(0) == d, "an end of the knots for every column");
  for (size_t k = 0; k < d; ++k) require(ends(k) > (k == 0 ? 0 : ends(k - 1)), "every column needs a knot");
  require(d == 0 || (ends(d - 1) == static_cast<int64_t>(knots.shape(0)) && knots.shape(0) == ranks.shape(0)),
          "knots end with the last column, and each has a rank");
  std::vector<double> out(n * d);
  {
    nb::gil_scoped_release unlocked;
    scale_to_ranks(X.data(), n, static_cast<int>(d), knots.data(), ranks.data(), ends.data(), out.data());
  }
  return to_numpy(std::move(out), {n, d});
}

template <typename Float>
bool is_finite(Rows<Float> X) {
  nb::gil_scoped_release unlocked;
  return all_finite(X.data(), X.shape(0) * X.shape(1));
}

template <typename Float>
void bind_rows(nb::module_& m) {
  m.def("scale_affine", &affine<Float>, "X"_a, "shift"_a, "factor"_a);
  m.def("scale_to_ranks", &to_ranks<Float>, "X"_a, "knots"_a, "ranks"_a, "ends"_a);
  m.def("all_finite", &is_finite<Float>, "X"_a);
}

}  // namespace

void bind_data(nb::module_& m) {
  bind_rows<float>(m);
  bind_rows<double>(m);
}

}  // namespace localsvm
