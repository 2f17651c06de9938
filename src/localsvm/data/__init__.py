"""What enters the flow: data sets, and samples to try things on."""

from typing import TYPE_CHECKING

from localsvm.lazy import load_when_asked as _load_when_asked

if TYPE_CHECKING:
    from localsvm.data.samples import load_covtype_sample, toy_bayes_error, toy_mixture, toy_posterior

__all__ = ["load_covtype_sample", "toy_bayes_error", "toy_mixture", "toy_posterior"]

# Samples need scikit-learn, rows do not.
__getattr__, __dir__ = _load_when_asked(__name__, dict.fromkeys(__all__, "localsvm.data.samples"))
