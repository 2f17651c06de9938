"""Exceptions and warnings of localsvm. Messages say what was wrong, the value seen, and what to do."""


class LocalSVMError(Exception):
    """Base class of all exceptions that localsvm raises."""


class InvalidData(LocalSVMError, ValueError):
    """The data cannot be used for training or prediction."""


class InvalidParameter(LocalSVMError, ValueError):
    """A parameter of an estimator, a grid or a partition has an invalid value."""


class InvalidFile(LocalSVMError, ValueError):
    """A file cannot be read: not a localsvm file, truncated, damaged, or of a later version."""


class CannotWrite(LocalSVMError, OSError):
    """A file cannot be written: no space, no permission, no such directory. Existing files are unchanged."""


class MissingPackage(LocalSVMError, ImportError):
    """An optional package that is needed is not installed."""


class GridEdgeWarning(UserWarning):
    """Cross-validation selected the edge of the grid: the best value may lie outside."""


class RareClassWarning(UserWarning):
    """A class has too few samples for its rate to be estimated; accuracy was maximized instead of the objective."""


class SingleGroupWarning(UserWarning):
    """Cells have samples of a single group or time, and were trained without validation."""


class PrecisionWarning(UserWarning):
    """Some solves did not reach the requested duality gap; their certificates have the gap they reached."""
