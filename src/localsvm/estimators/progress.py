"""The progress bar of `verbose=1`: one line of plain characters; without a terminal only its last state."""

from __future__ import annotations

import sys

from localsvm.fit.training import Progress

_WIDTH = 24


class ProgressBar:
    """Draws progress on the standard error stream."""

    def __call__(self, progress: Progress) -> None:
        """Draw one state; where the stream is not a terminal, only the last one."""
        done = progress.cells_done == progress.n_cells
        if not (done or sys.stderr.isatty()):
            return
        sys.stderr.write("\r" + line(progress) + ("\n" if done else ""))
        sys.stderr.flush()


def line(progress: Progress) -> str:
    """Return the bar as text.

    Examples
    --------
    >>> from localsvm.estimators.progress import line
    >>> from localsvm.fit.training import Progress
    >>> line(Progress(cells_done=40, n_cells=80, samples_done=50_000, n_samples=100_000, seconds=10.0))
    'localsvm [############............]  50%  40/80 cells  5,000 rows/s  10 s left '
    """
    done = progress.samples_done / max(progress.n_samples, 1)
    filled = int(done * _WIDTH)
    bar = "#" * filled + "." * (_WIDTH - filled)
    end = f"{progress.seconds:.0f} s" if done == 1 else f"{_duration(progress.seconds_left)} left"
    cells = f"{progress.cells_done:,}/{progress.n_cells:,} cells"
    return f"localsvm [{bar}] {done:4.0%}  {cells}  {progress.rate:,.0f} rows/s  {end} "


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
