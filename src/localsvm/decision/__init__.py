"""From out-of-fold scores to decisions: operating points and calibrated probabilities."""
