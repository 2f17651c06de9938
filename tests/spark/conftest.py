"""One cluster for the tests of Spark, a classic session on it, and a client of a Connect server on it."""

import os

import pytest
from spark_cluster import Cluster
from spark_process import SparkProcess, open_session

# Errors in tasks are deterministic here: a second attempt would take seconds and fail, too.
ONE_ATTEMPT = {"spark.task.maxFailures": 1}
# The driver of a few thousand rows may receive a hundredth of what that of millions may.
SMALL_RESULTS = {"spark.driver.maxResultSize": "4m"}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A master and two workers; tests that kill workers start their own."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(cluster):
    """A classic session of this process, with a core of each worker."""
    os.environ.update({name: cluster.environment[name] for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")})
    session = open_session(cluster.settings() | ONE_ATTEMPT | SMALL_RESULTS)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect_url(cluster):
    """The address of a Connect server, whose application has a core of each worker."""
    return cluster.start_connect_server(**ONE_ATTEMPT)


@pytest.fixture(scope="session")
def connect(cluster, connect_url):
    """A process with a Connect session, in which `connect.run(f, *arguments)` calls `f(session, *arguments)`."""
    with SparkProcess({"spark.remote": connect_url}, cluster.environment) as client:
        yield client
