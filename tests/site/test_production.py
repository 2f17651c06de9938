"""The service of the page "In production", run by a WSGI server."""

import json
import re
import threading
from http.client import HTTPConnection
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import numpy as np
import pytest

from localsvm import LocalSVC
from localsvm.data import toy_mixture

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "production.md"
SMALL = {"effort": "fast", "grid": 2, "cell_size": 100}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return the names that the page defines: `publish` and `Service`."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "production"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    definitions = [re.split(r"^X, y = ", block, flags=re.MULTILINE)[0] for block in blocks[:2]]
    exec(compile("\n".join(definitions), str(PAGE), "exec"), names)
    return names


@pytest.fixture
def model(page):
    X, y = toy_mixture(300, 3, random_state=0)
    fitted = LocalSVC(**SMALL).fit(X, y)
    page["publish"](fitted, "1")
    return fitted


@pytest.fixture
def ask(page, model):
    """Return a function that sends a request to the running service."""
    server = make_server("127.0.0.1", 0, page["Service"]("model.lsvm"), Threads, Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def send(body=None):
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        connection.request("GET" if body is None else "POST", "/", body if body is None else json.dumps(body))
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    yield send
    server.shutdown()
    thread.join()
    server.server_close()


def test_answers_are_the_model_s_probabilities(ask, model):
    X = toy_mixture(5, 3, random_state=1)[0].astype(float)
    status, answer = ask({"rows": X.tolist()})
    assert status == 200
    assert answer == {"version": "model-1.lsvm", "probabilities": model.predict_proba(X).tolist()}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"rows": [[0.0, 1.0]]}, "takes arrays of float32 or float64 of shape"),
        ({"rows": [[0.0, float("nan"), 1.0]]}, "missing values"),
        ({"rows": [["a", "b", "c"]]}, "could not convert string"),
        ({"rows": [[0.0, 1.0], [1.0]]}, "inhomogeneous"),
        ({"wrong": []}, "rows"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_the_service_goes_on(ask, body, sentence):
    status, answer = ask(body)
    assert status == 400
    assert sentence in answer["error"]
    assert ask({"rows": [[0.0, 0.0, 0.0]]})[0] == 200


def test_a_new_version_is_served_while_threads_ask(ask, page, model):
    X, y = toy_mixture(300, 3, random_state=5)
    newer = LocalSVC(**SMALL).fit(X, -y)
    rows = X[:20].astype(float)
    expected = {
        f"model-{version}.lsvm": fitted.predict_proba(rows).tolist() for version, fitted in (("1", model), ("2", newer))
    }
    found, enough = [], threading.Event()

    def keep_asking():
        while not enough.is_set():
            found.append(ask({"rows": rows.tolist()}))

    threads = [threading.Thread(target=keep_asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    page["publish"](newer, "2")
    while ask()[1]["version"] != "model-2.lsvm":
        pass
    enough.set()
    for thread in threads:
        thread.join()
    assert found
    for status, answer in found:
        assert status == 200
        assert answer["probabilities"] == expected[answer["version"]]


def test_rows_far_from_the_training_data_are_counted(ask):
    ask({"rows": [[0.5, 0.5, 0.5], [1e6, 0.0, 0.0]]})
    _, watched = ask()
    assert (watched["rows"], watched["far_rows"]) == (2, 1)


def test_a_predictor_of_a_file_outlives_the_file(page, model, tmp_path):
    import localsvm

    predictor = localsvm.load("model.lsvm").predictor()
    for file in tmp_path.glob("*.lsvm"):
        file.unlink()
    rows = np.zeros((1, 3))
    np.testing.assert_array_equal(predictor.predict_proba(rows), model.predict_proba(rows))
