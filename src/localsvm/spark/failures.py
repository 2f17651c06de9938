"""Errors of tasks, raised on the driver as the errors of localsvm that they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from localsvm import errors


@contextmanager
def errors_of_tasks() -> Iterator[None]:
    """Raise what a task raised, if it is an error of localsvm, without the stack traces of two languages."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        found = re.search(r"localsvm\.errors\.(\w+): (.+)", str(error))
        kind = getattr(errors, found[1], None) if found else None
        if found is None or kind is None:
            raise
        raise kind(found[2]) from error
