"""Readers, row sources, encoding and scaling of columns; and bundled samples to try things on."""

from localsvm.data.samples import load_covtype_sample, toy_bayes_error, toy_mixture, toy_posterior

__all__ = ["load_covtype_sample", "toy_bayes_error", "toy_mixture", "toy_posterior"]
