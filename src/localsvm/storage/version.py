"""The version of this package, which files remember."""

__version__ = "0.1.0"
