"""Partitions of the input space: Voronoi cells, random chunks, overlapping cells, or none."""

from localsvm.partition.base import Members, Partition
from localsvm.partition.build import (
    PartitionPlan,
    build_partition,
    chunk_partition,
    overlap_partition,
    voronoi_partition,
)
from localsvm.partition.chunks import ChunkPartition
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.overlap import OverlapPartition
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.partition.whole import WholePartition

__all__ = [
    "ChunkPartition",
    "CoarseCells",
    "Members",
    "OverlapPartition",
    "Partition",
    "PartitionPlan",
    "VoronoiPartition",
    "WholePartition",
    "build_partition",
    "chunk_partition",
    "overlap_partition",
    "voronoi_partition",
]
