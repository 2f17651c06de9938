"""A fit, from validated rows to a model: settings, preparation, training of the cells, forecasts and trials."""
