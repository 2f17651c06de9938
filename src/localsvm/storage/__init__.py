"""Files: self-verifying records, the model file, and checkpoints.

A checkpoint is a directory that keeps every finished cell of a fit, so that only cells in training can be lost:

    lock              held by the process that fits; the system releases it when the process ends, however it ends
    manifest.json     settings, shape and sums of the data, and what the caller wants to remember
    cell-000042.rec   a record: the key of the cell's rows, the cell, its seconds and its out-of-fold scores

docs/files.md has the formats.
"""
