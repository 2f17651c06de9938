"""One training of `benchmarks.kill_resume`, in a process of its own that may be killed."""

import warnings
from multiprocessing.connection import Connection
from pathlib import Path

from localsvm import LocalSVC
from localsvm.data import toy_mixture


def train(rows: int, cell_size: int, jobs: int, model: Path, checkpoint: Path | None, begin: Connection) -> None:
    """Fit and save; say when that begins."""
    warnings.simplefilter("ignore")
    X, y = toy_mixture(rows, 4, random_state=0)
    clf = LocalSVC(objective="accuracy", members=1, cell_size=cell_size, n_jobs=jobs, checkpoint=checkpoint)
    begin.send(None)
    clf.fit(X, y).save(model)
