"""Algorithm 1 for one cell: folds -> grid -> kernel -> lambda path -> select -> combine."""

from localsvm._native import CancelToken
from localsvm.cell.grid import Grid
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell

__all__ = ["CancelToken", "CellSettings", "CellTask", "Grid", "train_cell"]
