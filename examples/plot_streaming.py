"""
A file that is larger than memory
=================================

Training reads a file once and keeps rows on disk if they do not fit into memory. The model is the same, bit for bit.
Prediction and evaluation process one batch of rows at a time. In this example the memory limit for rows is so small
that they do not fit. The same on the command line:

.. code-block:: console

    $ localsvm train rows.parquet --target label --max-memory 4GB -o model.lsvm
    $ localsvm evaluate model.lsvm test.parquet
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from localsvm import LocalSVC
from localsvm.data import toy_mixture
from localsvm.data.files import open_file
from localsvm.data.files.loading import MemoryBudget, Roles, load
from localsvm.evaluation import Evaluator

folder = tempfile.TemporaryDirectory()
files = {name: Path(folder.name) / f"{name}.parquet" for name in ("train", "test")}
NAMES = [f"x{j}" for j in range(4)]


def rows(seed):
    X, y = toy_mixture(30_000, 4, random_state=seed)
    return pa.table({**dict(zip(NAMES, X.T, strict=True)), "label": y})


for seed, path in enumerate(files.values()):
    pq.write_table(rows(seed), path)

# %%
# At most a hundred kilobytes of rows are kept in memory; larger data are written to an unnamed temporary file.

loaded = load(open_file(str(files["train"])), Roles("label"), MemoryBudget(100_000, folder.name))
print(type(loaded.table.X).__name__, loaded.table.X.shape)
settings = {"cell_size": 1000, "n_folds": 3, "grid": 5, "scaling": "minmax"}
streamed = LocalSVC(**settings).fit(loaded.table, loaded.target)

table = rows(0)
in_memory = LocalSVC(**settings).fit(table.select(NAMES), table["label"].to_numpy())
some = table.select(NAMES).slice(0, 1000)
same = np.array_equal(streamed.decision_function(some), in_memory.decision_function(some))
print(f"same model as in memory, to the bit: {same}")

# %%
# Evaluation in batches: the confidence interval of the error shrinks with the number of rows, at constant memory.

evaluator = Evaluator(streamed)
seen, errors = [], []
for batch in open_file(str(files["test"])).batches([*NAMES, "label"], rows=1000):
    evaluator.add(pa.Table.from_batches([batch]).select(NAMES), batch.column("label").to_numpy())
    error = evaluator.result().headline
    seen.append(1000 * (len(seen) + 1))
    errors.append((error.value, error.low, error.high))

value, low, high = np.array(errors).T
figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
axes.fill_between(seen, low, high, color="#2667c9", alpha=0.2, label="95 % interval")
axes.plot(seen, value, color="#2667c9", label="error so far")
axes.set(xlabel="test rows read", ylabel="error")
axes.legend()
plt.show()
folder.cleanup()
