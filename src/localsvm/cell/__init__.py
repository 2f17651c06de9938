"""Algorithm 1 for one cell: folds -> grid -> kernel -> lambda path -> select -> combine."""

from localsvm.cell.grid import Grid
from localsvm.cell.train import CellSettings, CellTask, train_cell

__all__ = ["CellSettings", "CellTask", "Grid", "train_cell"]
