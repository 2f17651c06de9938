"""The page of results is made of what the CSVs say."""

import csv

import pytest
from benchmarks.csv_store import RESULTS
from benchmarks.results_page import NAMES, write_page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "results.md"
    write_page(file)
    return file.read_text()


@pytest.mark.parametrize("name", ["scale.csv", "tasks.csv", "spark.csv", "learned_metric.csv", "accuracy.csv"])
def test_every_set_and_machine_that_was_measured_is_on_the_page(page, name):
    with (RESULTS / name).open(newline="") as lines:
        runs = list(csv.DictReader(lines))
    assert all(NAMES.get(run["set"], run["set"]) in page for run in runs)
    assert all(run["machine"] in page for run in runs)
    assert f"{len(runs)} runs" in page


def test_a_file_that_no_section_knows_is_shown_as_it_is(tmp_path):
    (tmp_path / "new_thing.csv").write_text("set,seconds,revision,machine\nabc,1.25,0000000,a fast one\n")
    write_page(tmp_path / "page.md", tmp_path)
    text = (tmp_path / "page.md").read_text()
    assert "## New thing" in text
    assert "| abc | 1.25 |" in text
    assert "a fast one" in text


def test_a_page_that_would_be_the_same_is_not_written_again(tmp_path):
    file = tmp_path / "page.md"
    write_page(file, tmp_path)
    before = file.stat().st_mtime_ns
    write_page(file, tmp_path)
    assert file.stat().st_mtime_ns == before
