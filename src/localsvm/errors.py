"""What can go wrong, as types: a message says what was wrong, the value seen, and what to do."""


class LocalSVMError(Exception):
    """Base of all errors that localsvm raises on purpose."""


class InvalidData(LocalSVMError, ValueError):
    """The data cannot be learned from or predicted for."""


class InvalidParameter(LocalSVMError, ValueError):
    """A parameter of an estimator, a grid or a partition has a value that makes no sense."""


class InvalidFile(LocalSVMError, ValueError):
    """A file is not what it should be: foreign, truncated, damaged, or of a later version."""


class CannotWrite(LocalSVMError, OSError):
    """The system refuses to write: no space, no permission, no such directory. What was there is unharmed."""


class MissingPackage(LocalSVMError, ImportError):
    """Something was asked for that needs a package which is not installed."""


class GridEdgeWarning(UserWarning):
    """Cross-validation chose the edge of the grid: the best value may lie outside."""


class PrecisionWarning(UserWarning):
    """Some solves could not be certified; their certificates say how far they came."""
