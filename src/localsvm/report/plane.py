"""The plane that a partition is drawn in.

Enters: scaled points. Leaves: a `Plane`, the first two principal axes of the points, or the features where there are
two; and the polygons of Voronoi cells in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from localsvm.partition.tree import is_leaf, leaf_number
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.report.style import percent

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Plane:
    """Two axes through a point, and what they are called."""

    origin: FloatArray
    axes: FloatArray
    """Unit vectors (2, n_features); the second is zero where there is one feature only."""
    labels: tuple[str, str]

    def project(self, X: NDArray[np.floating]) -> FloatArray:
        """Return the coordinates (n, 2) of points."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.origin) @ self.axes.T)


def plane_of(points: NDArray[np.floating], names: list[str]) -> Plane:
    """Return the plane of the first two principal axes; of two features or one, that of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.report.plane import plane_of
    >>> points = np.random.default_rng(0).normal(size=(50, 3)) * [1, 9, 3]
    >>> plane = plane_of(points, ["a", "b", "c"])
    >>> np.abs(plane.axes).argmax(axis=1).tolist(), plane_of(points[:, :2], ["a", "b"]).labels
    ([1, 2], ('a, scaled', 'b, scaled'))
    """
    n_features = points.shape[1]
    if n_features <= 2:
        named = [f"{name}, scaled" for name in names] + [""]
        return Plane(np.zeros(n_features), np.eye(2, n_features), (named[0], named[1]))
    wide = np.asarray(points, dtype=np.float64)
    if len(wide) < 3 or not np.ptp(wide, axis=0).any():
        return Plane(wide[0] if len(wide) else np.zeros(n_features), np.eye(2, n_features), ("", ""))
    found = PCA(n_components=2, random_state=0).fit(wide)
    first, second = (percent(share) for share in found.explained_variance_ratio_)  # of the spread
    labels = (f"first principal axis, {first}", f"second principal axis, {second}")
    return Plane(found.mean_, found.components_, labels)


def cell_polygons(partition: VoronoiPartition, low: FloatArray, high: FloatArray) -> list[FloatArray]:
    """Return the cells of a partition of the plane, cut at a box, as convex polygons (n_corners, 2).

    The region of a node is the box less what is nearer to other centres on the way down to it; so is that of a cell.
    """
    box = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]], dtype=np.float64)
    polygons = [np.zeros((0, 2))] * len(partition.centers)
    waiting = [(0, box)]
    while waiting:
        number, region = waiting.pop()
        node = partition.nodes[number]
        centers = node.centers.astype(np.float64)
        for centre, child in zip(centers, node.children.tolist(), strict=True):
            part = _nearest_part(region, centre, centers)
            if is_leaf(child):
                polygons[leaf_number(child)] = part
            else:
                waiting.append((child, part))
    return polygons


def _nearest_part(polygon: FloatArray, centre: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the part of a convex polygon that is nearer to one centre than to the others."""
    distance = np.sqrt(np.square(centers - centre).sum(axis=1))
    for number in np.argsort(distance, kind="stable"):
        # Nearest first: centres that are twice as far as the farthest corner cut nothing.
        reach = np.sqrt(np.square(polygon - centre).sum(axis=1).max(initial=0.0))
        if distance[number] > 2 * reach:
            break
        normal = centers[number] - centre
        beyond = polygon @ normal - (centers[number] + centre) @ normal / 2
        if beyond.max(initial=0.0) > 0:
            polygon = _cut(polygon, beyond)
    return polygon


def _cut(polygon: FloatArray, beyond: FloatArray) -> FloatArray:
    """Return the part of a convex polygon where a linear function, given at its corners, is not positive."""
    corners = []
    for here, there, f, g in zip(polygon, np.roll(polygon, -1, axis=0), beyond, np.roll(beyond, -1), strict=True):
        if f <= 0:
            corners.append(here)
        if f * g < 0:
            corners.append(here + (there - here) * (f / (f - g)))
    return np.array(corners).reshape(-1, 2)
