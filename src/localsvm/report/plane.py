"""The plane that a partition is projected to, and the polygons of Voronoi cells in two dimensions.

Enters: scaled points. Leaves: a `Plane`, spanned by the first two principal components, or by the features if there are
at most two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from localsvm.data.types import FloatArray
from localsvm.partition.tree import is_leaf, leaf_number
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.report.style import percent


@dataclass(frozen=True)
class Plane:
    """Origin, two axes and their labels."""

    origin: FloatArray
    axes: FloatArray
    """Unit vectors (2, n_features); the second is zero if there is a single feature."""
    labels: tuple[str, str]

    def project(self, X: NDArray[np.floating]) -> FloatArray:
        """Return the coordinates (n, 2) of points."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.origin) @ self.axes.T)


def plane_of(points: NDArray[np.floating], names: list[str]) -> Plane:
    """Return the plane of the first two principal components, or of the features if there are at most two.

    >>> points = np.random.default_rng(0).normal(size=(50, 3)) * [1, 9, 3]
    >>> plane = plane_of(points, ["a", "b", "c"])
    >>> np.abs(plane.axes).argmax(axis=1).tolist(), plane_of(points[:, :2], ["a", "b"]).labels
    ([1, 2], ('a (scaled)', 'b (scaled)'))
    """
    n_features = points.shape[1]
    if n_features <= 2:
        named = [f"{name} (scaled)" for name in names] + [""]
        return Plane(np.zeros(n_features), np.eye(2, n_features), (named[0], named[1]))
    wide = np.asarray(points, dtype=np.float64)
    if len(wide) < 3 or not np.ptp(wide, axis=0).any():
        return Plane(wide[0] if len(wide) else np.zeros(n_features), np.eye(2, n_features), ("", ""))
    found = PCA(n_components=2, random_state=0).fit(wide)
    first, second = map(percent, found.explained_variance_ratio_)
    labels = (f"first principal component ({first})", f"second principal component ({second})")
    return Plane(found.mean_, found.components_, labels)


def cell_polygons(partition: VoronoiPartition, low: FloatArray, high: FloatArray) -> list[FloatArray]:
    """Return the cells of a two-dimensional partition, clipped to a box, as convex polygons (n_corners, 2).

    The region of a child is the part of its parent's region that is nearest to the child's center.
    """
    box = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]], dtype=np.float64)
    polygons = [np.zeros((0, 2))] * len(partition.centers)
    waiting = [(0, box)]
    while waiting:
        number, region = waiting.pop()
        node = partition.nodes[number]
        centers = node.centers.astype(np.float64)
        for center, child in zip(centers, node.children.tolist(), strict=True):
            part = _nearest_part(region, center, centers)
            if is_leaf(child):
                polygons[leaf_number(child)] = part
            else:
                waiting.append((child, part))
    return polygons


def _nearest_part(polygon: FloatArray, center: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the part of a convex polygon that is nearer to one center than to the others."""
    distance = np.sqrt(np.square(centers - center).sum(axis=1))
    for number in np.argsort(distance, kind="stable"):
        # Nearest first: a center more than twice as far away as the farthest corner cuts nothing off.
        reach = np.sqrt(np.square(polygon - center).sum(axis=1).max(initial=0.0))
        if distance[number] > 2 * reach:
            break
        normal = centers[number] - center
        beyond = polygon @ normal - (centers[number] + center) @ normal / 2
        if beyond.max(initial=0.0) > 0:
            polygon = _cut(polygon, beyond)
    return polygon


def _cut(polygon: FloatArray, beyond: FloatArray) -> FloatArray:
    """Return the part of a convex polygon where a linear function, given at the corners, is not positive."""
    corners = []
    for here, there, f, g in zip(polygon, np.roll(polygon, -1, axis=0), beyond, np.roll(beyond, -1), strict=True):
        if f <= 0:
            corners.append(here)
        if f * g < 0:
            corners.append(here + (there - here) * (f / (f - g)))
    return np.array(corners).reshape(-1, 2)
