"""Workers whose Python has no packages: the environment is shipped with the application, compiled code included."""

import json
import subprocess
import sys

from shipped_environment import make_archive
from spark_cluster import HOME
from spark_fits import SETTINGS, write_toy

SCRIPT = """
import json, sys
import pyarrow as pa
from pyspark.sql import SparkSession
from localsvm.spark import LocalSVMClassifier

def places(batches):
    import localsvm
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"place": [localsvm.__file__]})

spark = SparkSession.builder.getOrCreate()
rows = spark.read.parquet(sys.argv[1])
model = LocalSVMClassifier(featuresCol=["x0", "x1", "x2", "x3"], **json.loads(sys.argv[2])).fit(rows)
wrong = model.transform(rows).where("prediction <> label").count()
found = spark.range(8, numPartitions=8).mapInArrow(places, "place string").collect()
print(json.dumps({"wrong": wrong, "places": [row["place"] for row in found]}))
"""


def test_a_worker_trains_with_the_environment_of_an_archive(cluster, tmp_path):
    rows, archive, script = write_toy(tmp_path / "rows", 600), make_archive(tmp_path), tmp_path / "script.py"
    script.write_text(SCRIPT)
    settings = cluster.settings() | {
        "spark.archives": f"{archive}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        "spark.pyspark.driver.python": sys.executable,
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    environment = {name: value for name, value in cluster.environment.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [HOME / "bin" / "spark-submit", *options, script, rows, json.dumps(SETTINGS)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["wrong"] < 200
    assert all("/environment/lib/" in place and place.startswith(str(cluster.folder)) for place in result["places"])
