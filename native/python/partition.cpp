// The binding of content hashes and partitions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <nanobind/stl/pair.h>

#include <limits>
#include <memory>
#include <utility>

#include "partition/center_tree.h"
#include "partition/centers.h"
#include "partition/hashes.h"
#include "python/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace localsvm {

namespace {

template <typename Float>
auto hashes(nb::ndarray<const Float, nb::ndim<2>, nb::c_contig, nb::device::cpu> X, uint64_t seed) {
  const int n_features = as_int(X.shape(1), "features");
  std::vector<uint64_t> out(X.shape(0));
  {
    nb::gil_scoped_release unlocked;
    content_hashes(X.data(), X.shape(0), n_features, seed, out.data());
  }
  return to_numpy(std::move(out), {X.shape(0)});
}

nb::tuple nearest(Matrix X, Matrix centers, const CancelToken* token) {
  const size_t n = X.shape(0);
  require(centers.shape(0) >= 1 && centers.shape(1) == X.shape(1), "rows and centers need the same number of features");
  const int n_features = as_int(X.shape(1), "features"), n_centers = as_int(centers.shape(0), "centers");
  std::vector<int32_t> labels(n);
  std::vector<float> distances(n);
  {
    nb::gil_scoped_release unlocked;
    nearest_centers(X.data(), n, n_features, centers.data(), n_centers, labels.data(), distances.data(),
                    flag_of(token));
  }
  return nb::make_tuple(to_numpy(std::move(labels), {n}), to_numpy(std::move(distances), {n}));
}

nb::tuple split(Matrix X, DoubleVector counts,
                double largest_size, double largest_radius, double tiny_size, const CancelToken* token) {
  const size_t n = X.shape(0);
  const int n_rows = as_int(n, "rows"), n_features = as_int(X.shape(1), "features");
  require(n >= 1, "a splitting needs between 1 and 2**30 rows");
  require(counts.shape(0) == n, "one count per row");
  require_finite(X, "rows");
  require_finite(counts.data(), n, "counts");
  SplitRule rule;
  rule.largest_size = largest_size;
  rule.tiny_size = tiny_size;
  rule.by_radius = largest_radius < std::numeric_limits<double>::infinity();
  rule.largest_squared_radius = static_cast<float>(largest_radius * largest_radius);
  Splitting splitting;
  {
    nb::gil_scoped_release unlocked;
    splitting = farthest_first(X.data(), n_rows, n_features, counts.data(), rule, flag_of(token));
  }
  const size_t m = splitting.centers.size();
  return nb::make_tuple(to_numpy(std::move(splitting.centers), {m}), to_numpy(std::move(splitting.labels), {n}),
                        to_numpy(std::move(splitting.distances), {n}));
}

using Children = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void make_tree(CenterTree* self, int n_features, nb::list nodes) {
  require(n_features >= 1, "centers need a feature");
  const auto tree = std::make_unique<CenterTree>(n_features);
  for (const nb::handle node : nodes) {
    const auto [centers, children] = nb::cast<std::pair<Matrix, Children>>(node);
    require(centers.shape(0) >= 1 && centers.shape(0) < std::numeric_limits<int32_t>::max(), "a node needs centers");
    require(centers.shape(1) == static_cast<size_t>(n_features), "all nodes have the same number of features");
    require(children.shape(0) == centers.shape(0), "one child per center");
    tree->add_node(centers.data(), children.data(), static_cast<int>(centers.shape(0)));
  }
  require(tree->ends_in_leaves(), "nodes must come after their parents");
  new (self) CenterTree(std::move(*tree));
}

nb::tuple descend(const CenterTree& tree, Matrix X) {
  const size_t n = X.shape(0);
  require(X.shape(1) == static_cast<size_t>(tree.n_features()), "rows and centers need the same number of features");
  std::vector<int32_t> leaves(n);
  std::vector<float> squared(n);
  {
    nb::gil_scoped_release unlocked;
    tree.descend(X.data(), n, leaves.data(), squared.data());
  }
  return nb::make_tuple(to_numpy(std::move(leaves), {n}), to_numpy(std::move(squared), {n}));
}

}  // namespace

void bind_partition(nb::module_& m) {
  nb::class_<CenterTree>(m, "CenterTree", "Nodes of centers, packed.")
      .def("__init__", &make_tree, "n_features"_a, "nodes"_a)
      .def("descend", &descend, "X"_a);
  m.def("content_hash", &hashes<float>, "X"_a, "seed"_a);
  m.def("content_hash", &hashes<double>, "X"_a, "seed"_a);
  m.def("nearest_centers", &nearest, "X"_a, "centers"_a, "token"_a.none() = nb::none());
  m.def("farthest_first", &split, "X"_a, "counts"_a, "largest_size"_a,
        "largest_radius"_a = std::numeric_limits<double>::infinity(), "tiny_size"_a = 0.0,
        "token"_a.none() = nb::none());
}

}  // namespace localsvm
