"""Errors of tasks, raised on the driver as the errors of localsvm that they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from localsvm import errors
from localsvm.spark.content import rows_changed

_NO_FILE = re.compile(r"\[FAILED_READ_FILE\.FILE_NOT_EXIST\].*?(\w+:/\S+?)\.? ")


@contextmanager
def errors_of_tasks() -> Iterator[None]:
    """Raise errors of localsvm in tasks, and of files that are gone, without the stack traces of two languages."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if gone := _NO_FILE.search(str(error)):
            raise rows_changed(f"{gone[1]!r} is gone") from error
        found = re.search(r"localsvm\.errors\.(\w+): (.+)", str(error))
        kind = getattr(errors, found[1], None) if found else None
        if found is None or kind is None:
            raise
        raise kind(found[2]) from error
