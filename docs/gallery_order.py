"""The order of the gallery: from what it is to what it is for."""

ORDER = ("partition", "regression", "quantiles", "probabilities", "imbalance", "cell_size", "streaming", "report")


def by_teaching(filename: str) -> tuple[int, str]:
    """Return the key by which an example is sorted; new ones come last."""
    name = filename.removeprefix("plot_").removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)
