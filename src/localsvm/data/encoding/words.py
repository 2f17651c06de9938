"""An encoding in words: one record per feature, for people.

Enters: an `Encoding` and the views of it that a model uses. Leaves: dicts with the name of a feature, its type, what
became of it, and its number of columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from localsvm.data.encoding.categories import Category
from localsvm.data.encoding.encoding import Encoding, View

Record = dict[str, Any]


def plain_records(names: Sequence[str]) -> list[Record]:
    """Return the records of features that a model uses as they are.

    Examples
    --------
    >>> from localsvm.data.encoding.words import plain_records
    >>> plain_records(["age"])
    [{'name': 'age', 'type': 'number', 'encoding': 'as given', 'columns': 1}]
    """
    return [{"name": name, "type": "number", "encoding": "as given", "columns": 1} for name in names]


def encoding_records(encoding: Encoding, names: Sequence[str], views: Sequence[View]) -> list[Record]:
    """Return a record per feature; with several views the number of columns is the largest."""
    counts = [Counter(view.origins.tolist()) for view in views]
    transforms = [view.numbers for view in views]
    words = _number_words(encoding, names, transforms) | _category_words(encoding, names, any(v.levels for v in views))
    records = []
    for j, (name, kind) in enumerate(zip(names, encoding.kinds, strict=True)):
        n_columns = max(count[j] for count in counts)
        if n_columns:
            records.append({"name": name, "type": kind, "encoding": "; ".join(words[j]), "columns": n_columns})
        else:
            records.append({"name": name, "type": "dropped", "encoding": _why_dropped(encoding, j), "columns": 0})
    return records


def _why_dropped(encoding: Encoding, column: int) -> str:
    if encoding.kinds[column] == "empty":
        return "no values"
    categories = [category for category in encoding.categories if category.column == column]
    return f"no effect of its {categories[0].n_levels} levels" if categories else "does not vary"


def _number_words(encoding: Encoding, names: Sequence[str], transforms: Sequence[str]) -> dict[int, list[str]]:
    numbers = encoding.numbers
    words: dict[int, list[str]] = {int(j): [] for j in numbers.column}
    for k in numbers.used.tolist():
        column = int(numbers.column[k])
        plain = "days" if encoding.kinds[column] == "date" else "as given"
        kinds = {"plain": plain, "log": "log of the tails" if numbers.log_scale[k] > 0 else plain, "rank": "ranks"}
        words[column].append(", ".join(dict.fromkeys(kinds[transform] for transform in transforms)))
    for k in numbers.with_spike.tolist():
        share = percent(numbers.spike_share[k])
        words[int(numbers.column[k])].append(f"indicator of {numbers.spike[k]:g} ({share} of rows)")
    for k in numbers.with_missing.tolist():
        share = f" ({percent(numbers.missing[k])})" if numbers.missing[k] else ""
        words[int(numbers.column[k])].append(f"indicator of missing{share}")
    for cycle in encoding.cycles:
        words[cycle.column].append(f"{cycle.part} (sine, cosine)")
    return words


def _category_words(encoding: Encoding, names: Sequence[str], levels: bool) -> dict[int, list[str]]:
    return {category.column: _words_of(category, names, levels) for category in encoding.categories}


def _words_of(category: Category, names: Sequence[str], levels: bool) -> list[str]:
    if category.is_binary:
        return [f"indicator of {category.level_name(int(category.indicated[0]))!r}, one of two levels"]
    words = []
    if category.outputs:
        means = "target mean" if len(category.outputs) == 1 else f"{len(category.outputs)} target means"
        within = "" if category.coarser is None else f" within {names[category.coarser]}"
        words.append(f"{means} of {category.n_levels} levels{within}")
    if category.n_indicators(levels):
        count = len(category.indicated)
        words.append("1 level as a column" if count == 1 else f"{count} levels as columns")
    return words


def percent(share: float) -> str:
    """Return a fraction as a percentage with two digits.

    Examples
    --------
    >>> from localsvm.data.encoding.words import percent
    >>> percent(0.914), percent(0.0312), percent(0.00004)
    ('91 %', '3.1 %', '0.004 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
