"""Exported models in onnxruntime, compared with the estimators that they come from."""

import copy

import numpy as np
import onnxruntime
import pandas as pd

from localsvm.estimators.base import member_rows

ABSOLUTE = RELATIVE = 1e-5
TIE = 1e-4  # of scores: labels of rows nearer than this to the border between classes may differ
KINDS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(string)": object}


def feeds(session, X):
    """Return what a model takes: a matrix, or a column for each of its inputs; text is missing where it is empty."""
    inputs = session.get_inputs()
    if not isinstance(X, pd.DataFrame) or [one.name for one in inputs] == ["X"]:
        return {"X": np.asarray(X, dtype=KINDS[inputs[0].type])}
    return {one.name: column_of(X[one.name], KINDS[one.type]) for one in inputs}


def column_of(column, kind):
    """Return a column of a frame as (n, 1): text, numbers, or dates as days since 1970."""
    if kind is object:
        texts = ["" if pd.isna(value) else str(value) for value in column]
        return np.array(texts, dtype=object)[:, None]
    if column.dtype.kind == "M":
        days = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        return days.to_numpy(dtype=np.float64)[:, None]
    return column.to_numpy(dtype=kind, na_value=np.nan)[:, None]


def run(model, X):
    """Return the outputs of a model, by name."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds(session, X)), strict=True))


def with_cells(model, member=0):
    """Return a model that shows the cells of its rows, too."""
    shown = copy.deepcopy(model)
    cell = shown.graph.output.add()
    cell.name = f"localsvm/cell/{member}"
    cell.type.tensor_type.elem_type = 7
    return shown, cell.name


def assert_same(estimator, X, **options):
    """Assert that onnxruntime predicts what the estimator does; return the outputs."""
    found = run(estimator.to_onnx(**options), X)
    if not hasattr(estimator, "classes_"):
        assert list(found) == ["prediction"]
        close(found["prediction"], estimator.predict(X))
        return found
    scores = estimator.decision_function(X)
    close(found["scores"], scores)
    close(found["probabilities"], estimator.predict_proba(X))
    lead = np.abs(scores) if scores.ndim == 1 else np.subtract(*np.sort(scores, axis=1).T[[-1, -2]])
    clear = lead > TIE * max(1.0, np.abs(scores).max())
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found["label"][clear], estimator.predict(X)[clear])
    return found


def close(found, expected):
    """Assert that values are equal to 1e-5, of the largest one where that is more than 1."""
    assert found.shape == expected.shape and np.isfinite(expected).all()
    largest = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE * largest)


def exact_scores(estimator, X):
    """Return the first score of rows, computed in double precision, and a bound on its rounding in single precision.

    With kernel values exp(-e) rounded to single precision, their relative error is that of e, and one rounding more.
    """
    total, bound = np.zeros(len(X)), np.zeros(len(X))
    for member, rows in zip(estimator.members_, member_rows(estimator, X).of_members, strict=True):
        points = member.model.scaling.apply(rows[:])
        for row, cell in enumerate(member.model.partition.assign(points)):
            functions = member.model.cells[cell].functions
            value = functions.constants[0]
            for part in functions.sums:
                gaps = np.abs(part.support_vectors.astype(np.float64) - points[row])
                squared, width = np.square(gaps).sum(axis=1), float(np.float32(part.width))
                e = {
                    "gauss": squared / width**2,
                    "laplace": np.sqrt(squared) / width,
                    "manhattan": gaps.sum(axis=1) / width,
                }[functions.kernel]
                terms = part.coefficients[0].astype(np.float64) * np.exp(-e)
                value += terms.sum()
                bound[row] += member.weight * np.abs(terms * (1 + e)).sum() * 2.0**-23
            total[row] += member.weight * np.clip(value, *functions.bounds[0])
    return total, bound
