"""A Spark standalone cluster on loopback: processes of a master and workers, which end when this process does.

Their output goes to files in the folder of the cluster, which are searched for the line that says they are ready.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
SECONDS_TO_START = 300

# A shell leads a group of processes: it waits until its input ends, which happens even if the process that started it
# is killed, and then kills the group. The group also ends with the program.
_UNTIL_INPUT_ENDS = '{ "$@" </dev/null; kill -KILL 0; } & cat >/dev/null; kill -KILL 0'

_LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""
# Processes that run for seconds: a JVM that compiles less starts sooner.
_BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Service:
    """A program in a group of processes of its own, with its log."""

    def __init__(self, command, log, environment):
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *map(str, command)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def find(self, pattern):
        """Wait until the log matches; return the first group."""
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found:
                return found[1]
            if ended:
                break
            time.sleep(0.05)
        raise RuntimeError(f"no {pattern!r} in {self.log}:\n{self.log.read_text(errors='replace')[-4000:]}")

    def kill(self):
        """SIGKILL for the program and everything it has started, as in a power failure."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()


class Cluster:
    """A master, workers with a core and some memory for each of a few applications, and Connect servers."""

    def __init__(self, folder, *, n_workers=2, applications=4, gigabytes=1):
        self.folder = Path(folder)
        self._applications, self._gigabytes = applications, gigabytes
        self._services = []
        self.workers = []
        self.environment = _environment(self.folder)
        master = self._start("master", "org.apache.spark.deploy.master.Master", "--port", 0)
        self.url = master.find(r"Starting Spark master at (spark://\S+)")
        for _ in range(n_workers):
            self.start_worker()
        self.wait_for_workers()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start_worker(self):
        """Start another worker; it is ready when `wait_for_workers` returns."""
        name = f"worker-{len(self._services)}"
        size = ("--cores", self._applications, "--memory", f"{self._applications * self._gigabytes}g")
        place = ("--port", 0, "--work-dir", self.folder / name)
        worker = self._start(name, "org.apache.spark.deploy.worker.Worker", *size, *place, self.url)
        self.workers.append(worker)
        return worker

    def wait_for_workers(self):
        for worker in self.workers:
            worker.find(r"Successfully registered with master (\S+)")

    def kill_a_worker(self):
        """SIGKILL the oldest worker and its executors."""
        self.workers.pop(0).kill()

    def wait_for_the_end_of(self, application):
        """Wait until no worker has an executor of an application any more."""
        for worker in self.workers:
            worker.find(rf"(Executor {application}/\d+ finished)")

    def start_connect_server(self, **settings):
        """Start a Connect server whose application runs on this cluster; return its address."""
        own = {
            "spark.connect.grpc.binding.port": 0,
            "spark.driver.extraJavaOptions": _BRIEF,
        }  # not quiet: it logs its port
        settings = {**self.settings(), **own, **settings}
        options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        command = [HOME / "bin" / "spark-submit", "--class", server, *options, "spark-internal"]
        port = self._run("connect", command).find(r"Spark Connect server started at: \S+:(\d+)")
        return f"sc://{HOST}:{port}"

    def settings(self):
        """Return the configuration of an application that has a core of each worker and logs errors only."""
        return {
            "spark.master": self.url,
            "spark.cores.max": len(self.workers),
            "spark.executor.cores": 1,
            "spark.executor.memory": f"{self._gigabytes}g",
            "spark.executor.extraJavaOptions": _BRIEF,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.driver.memory": f"{self._gigabytes}g",
            "spark.driver.extraJavaOptions": f"{_BRIEF} -Dlog4j2.configurationFile={self.folder / 'quiet.properties'}",
            "spark.local.dir": self.folder / "local",
            "spark.sql.warehouse.dir": self.folder / "warehouse",
            "spark.sql.shuffle.partitions": 4,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }

    def stop(self):
        for service in reversed(self._services):
            service.kill()

    def _start(self, name, program, *options):
        place = ("--host", HOST, "--webui-port", 0)
        return self._run(name, [HOME / "bin" / "spark-class", program, *place, *options])

    def _run(self, name, command):
        service = Service(command, self.folder / f"{name}.log", self.environment)
        self._services.append(service)
        return service


def _environment(folder):
    """Write how much is logged; return the environment of the cluster's programs."""
    configuration = folder / "conf"
    configuration.mkdir(parents=True)
    (configuration / "log4j2.properties").write_text(_LOGGING.format(level="info"))
    (folder / "quiet.properties").write_text(_LOGGING.format(level="error"))
    return {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_CONF_DIR": str(configuration),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "1g",
        "SPARK_DAEMON_JAVA_OPTS": _BRIEF,
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
