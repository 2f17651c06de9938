"""Probabilities from out-of-fold decision values."""

from localsvm.calibration.calibration import Calibration, fit_binary, fit_multiclass

__all__ = ["Calibration", "fit_binary", "fit_multiclass"]
