"""Probabilities, ranking and regression on mixed and numeric data sets, against gradient boosting."""
