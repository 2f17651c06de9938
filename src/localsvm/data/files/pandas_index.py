"""The columns of a file that hold the index of the data frame that was written to it.

Enters: an Arrow schema. Leaves: names of columns. pandas says in the metadata which columns are the index; where it
had no name, it has one of a fixed form.
"""

from __future__ import annotations

import json
import re
from typing import Any

_WITHOUT_NAME = re.compile(r"__index_level_\d+__|Unnamed: 0|")
"""As `to_parquet` names it, as pandas names it when it reads what `to_csv` wrote, and as `to_csv` writes it."""


def declared_index(arrow: Any) -> frozenset[str]:
    """Return the columns that the metadata of a `pyarrow.Schema` calls the index."""
    try:
        found = json.loads((arrow.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
        return frozenset(name for name in found if isinstance(name, str))  # a range is no column
    except (ValueError, AttributeError, TypeError):  # not written by pandas
        return frozenset()


def is_index_name(name: str) -> bool:
    """Return whether a column has a name that only an index without a name gets."""
    return _WITHOUT_NAME.fullmatch(name) is not None
