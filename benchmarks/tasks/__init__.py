"""Learning tasks: classes, means and quantiles against liquidSVM, probabilities and rare classes."""
