"""A directory that keeps every finished cell of a fit: nothing but the cells at work can be lost.

    lock              held by the process that fits; the system releases it when the process ends, however it ends
    manifest.json     settings, shape and sums of the data, and what the caller wants to remember
    cell-000042.rec   a record: the key of the cell's rows, the cell, its seconds and its out-of-fold scores

docs/files.md has the details.
"""

from localsvm.checkpoint.directory import Checkpoint, OpenCheckpoint, open_checkpoint
from localsvm.checkpoint.kept_cells import KeptCells
from localsvm.checkpoint.manifest import Manifest, read_manifest

__all__ = [
    "Checkpoint",
    "KeptCells",
    "Manifest",
    "OpenCheckpoint",
    "open_checkpoint",
    "read_manifest",
]
