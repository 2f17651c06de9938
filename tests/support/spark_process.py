"""A process with a Spark session of its own: functions are sent to it and called there with the session.

Classic and Connect sessions cannot share a process: it decides once what `pyspark.sql` means.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from contextlib import suppress

from pyspark import cloudpickle
from pyspark.sql import SparkSession


class SparkProcess:
    """Calls functions, one after the other, in a process that ends with this one."""

    def __init__(self, settings, environment):
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # a group of processes: its JVM can be killed with it
        )
        self._send(settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def run(self, function, *arguments):
        """Return function(session, *arguments)."""
        self.begin(function, *arguments)
        return self.result()

    def begin(self, function, *arguments):
        """Begin with a function that `result` waits for. A function of a test is sent whole, not by name."""
        cloudpickle.register_pickle_by_value(sys.modules[function.__module__])
        self._send((function, arguments))

    def result(self):
        done, value = pickle.load(self._process.stdout)
        if not done:
            raise RuntimeError(value)
        return value

    def kill(self):
        """SIGKILL the process and its JVM, which is the driver of a classic session."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self):
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.read()  # a result that was not read must not block it
        self._process.wait()
        self._process.stdout.close()

    def _send(self, value):
        self._process.stdin.write(cloudpickle.dumps(value))
        self._process.stdin.flush()


def open_session(settings):
    """Return a session, a Connect session if `spark.remote` is among the settings."""
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, str(value))
    return builder.getOrCreate()


def _serve():
    """Answer until the input ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not mix with the answers
    session = open_session(pickle.load(requests))
    try:
        while True:
            answers.write(cloudpickle.dumps(_call(session, *pickle.load(requests))))
            answers.flush()
    except EOFError:
        session.stop()


def _call(session, function, arguments):
    try:
        return True, function(session, *arguments)
    except Exception:
        return False, traceback.format_exc()


if __name__ == "__main__":
    _serve()
