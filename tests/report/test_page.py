"""The report: self-contained, reproducible, and safe for any text in the data."""

import pickle
import re
import subprocess
import sys
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from fitted import SMALL, frame
from partitions import Halves
from single import svc

from localsvm import InvalidParameter
from localsvm.data import toy_mixture
from localsvm.evaluation import Evaluator
from localsvm.report import write_report
from localsvm.report.style import theme

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; a tag that is closed in the wrong place is an error."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def page_of(model, folder, **options):
    options = {"evaluation": model.evaluation, **options}
    return Page(write_report(model.estimator, folder / "report.html", **options))


@pytest.mark.parametrize("tested", [True, False])
def test_every_kind_of_model_has_a_page_with_all_sections(any_kind, models, pages, tested):
    page = Page(pages(any_kind, tested=tested))
    sections = {section["id"] for section in page.all("section")}
    assert {"partition", "cells", "worst", "all", "time", "settings"} <= sections
    assert ("test" in sections) == tested
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for link in page.all("a"):
        assert link["href"][1:] in ids
    for figure in page.all("figure"):
        assert figure["id"] in ids
    assert f"{models(any_kind).estimator.n_cells_:,}" in page.text


def test_the_page_is_self_contained(any_kind, pages):
    page = Page(pages(any_kind))
    addresses = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in page.source
    assert not re.search(r"url\((?!#)", page.source)


@pytest.mark.parametrize("kind", ["two_classes", "hostile_classes", "two_targets"])
def test_the_same_model_makes_the_same_page(kind, models, pages, tmp_path):
    copy = pickle.loads(pickle.dumps(models(kind)))
    assert page_of(copy, tmp_path).source == Page(pages(kind)).source


def test_colours_of_plots_are_those_of_the_theme(any_kind, pages):
    plots = re.findall(r"<svg.*?</svg>", Page(pages(any_kind)).source, re.DOTALL)
    assert len(plots) >= 9
    for plot in plots:
        assert not re.findall(r"(?:fill|stroke): (?!none|var)[^;\"]*", plot)


def test_the_dark_theme_has_every_colour(pages):
    source = Page(pages("two_classes")).source
    dark = re.search(r"prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", source, re.DOTALL)[1]
    assert {name for name in theme() if f"--{name}:" not in dark} == set()


def test_measures_and_confusions_are_in_the_page(models, pages):
    model, page = models("two_classes"), Page(pages("two_classes"))
    for measure in model.evaluation.measures:
        assert measure.title in page.text
    for row in model.evaluation.confusion.counts:
        for count in row:
            assert f"{count:,.6g}" in page.text
    assert f"{100 * model.evaluation.headline.value:.2f} %" in page.text


def test_features_that_differ_in_relevance_have_a_section(models, tmp_path):
    estimator = copy(models("many_features").estimator)
    estimator.feature_relevance_ = np.array([1, 0.125, 2, 0.5, 3, 0.25, 0.125])
    page = Page(write_report(estimator, tmp_path / "report.html"))
    assert "features" in {section["id"] for section in page.all("section")}
    assert "#features" in {link["href"] for link in page.all("a")}
    assert "plot-relevance" in {figure["id"] for figure in page.all("figure")}
    table = page.text[page.text.index("Features by relevance") :]
    assert table.index("x4 3") < table.index("x2 2") < table.index("x3 0.5") < table.index("x1 0.125")


@pytest.mark.parametrize("relevance", [None, np.ones(7)])
def test_features_that_do_not_differ_in_relevance_have_no_section(models, tmp_path, relevance):
    estimator = copy(models("many_features").estimator)
    estimator.feature_relevance_ = relevance
    page = Page(write_report(estimator, tmp_path / "report.html"))
    assert "features" not in {section["id"] for section in page.all("section")}
    assert "plot-relevance" not in {figure["id"] for figure in page.all("figure")}


def test_features_that_are_encoded_have_a_table(models, tmp_path):
    rows, y = frame()
    page = Page(write_report(svc(missing="impute", **SMALL).fit(rows, y), tmp_path / "report.html"))
    assert "encoding" in {section["id"] for section in page.all("section")}
    assert "size number as given 1" in page.text
    assert "age number as given; indicator of missing (15 %) 2" in page.text
    plain = Page(write_report(models("many_features").estimator, tmp_path / "plain.html"))
    assert "encoding" not in {section["id"] for section in plain.all("section")}


def test_many_classes_have_a_list_of_confusions_instead_of_a_matrix(pages):
    tables = {table.get("id") for table in Page(pages("thirteen_classes")).all("table")}
    assert "confusions" in tables
    assert "matrix" not in tables


def test_without_test_rows_the_page_has_cross_validated_risks(pages):
    text = Page(pages("two_classes", tested=False)).text
    assert "Cross-validated error" in text
    assert "test rows" not in text


def test_text_of_users_is_escaped(models, tmp_path):
    model = models("hostile_classes")
    page = page_of(model, tmp_path, title="<b>bold</b> & <script>window.broken = true</script>")
    assert "<script>window" not in page.source
    assert len(page.all("script")) == 1
    assert page.all("b") == []
    assert "<b>bold</b> & <script>window.broken = true</script>" in page.text
    for label in model.estimator.classes_:
        assert label in page.text


def test_column_names_are_escaped(tmp_path):
    X, y = toy_mixture(500, 3, random_state=0)
    frame = pd.DataFrame(X, columns=["<img src=x onerror=alert(1)>", "$\\frac{", "</svg></script>"])
    clf = svc(cell_size=60, grid=2).fit(frame, y)
    page = Page(write_report(clf, tmp_path / "report.html"))
    assert page.all("img") == []
    assert "<img src=x onerror=alert(1)>" in page.text
    two = svc(cell_size=60, grid=2).fit(frame.iloc[:, 1:], y)
    assert "$\\frac{ (scaled)" in Page(write_report(two, tmp_path / "report.html")).text


def test_a_custom_partition_has_a_page(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    clf = svc(partition=Halves(), scaling=None, grid=2).fit(X, X[:, 1] > 0)
    text = Page(write_report(clf, tmp_path / "report.html")).text
    assert "Empty cells" in text


def test_thousands_of_cells_make_a_page_of_less_than_a_megabyte(tmp_path):
    X, y = toy_mixture(30_000, 4, random_state=0)
    clf = svc(cell_size=20, grid=2, n_folds=2, scaling="minmax").fit(X, y)
    assert clf.n_cells_ > 2000
    evaluator = Evaluator(clf)
    evaluator.add(X, y)
    path = write_report(clf, tmp_path / "report.html", evaluator.result())
    assert path.stat().st_size < 1_000_000
    assert f"{clf.n_cells_ - 300:,} cells are not shown" in Page(path).text


def test_an_evaluation_of_another_model_is_refused(models, tmp_path):
    with pytest.raises(InvalidParameter, match="evaluation of this model"):
        write_report(models("one_cell").estimator, tmp_path / "report.html", models("two_classes").evaluation)
    assert not (tmp_path / "report.html").exists()


def test_an_evaluation_without_classes_by_cell_is_drawn_by_width(models, tmp_path):
    model = models("two_classes")
    evaluation = replace(model.evaluation, cells=replace(model.evaluation.cells, classes=None))
    figures = {figure["id"] for figure in page_of(model, tmp_path, evaluation=evaluation).all("figure")}
    assert {"plot-partition", "plot-widths"} <= figures


def _run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_plotting_packages_are_imported_only_when_plots_are_drawn():
    code = (
        "import localsvm, localsvm.evaluation, localsvm.report, sys; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    )
    done = _run(code)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("matplotlib", "write_report(clf, 'never.html')"),
        ("jinja2", "write_report(clf, 'never.html')"),
        ("matplotlib", "CellsDisplay.from_estimator(clf)"),
        ("matplotlib", "PartitionDisplay.from_estimator(clf)"),
    ],
)
def test_a_missing_package_is_named_with_the_command_to_install_it(package, call):
    code = f"""
import sys
sys.modules[{package!r}] = None
from localsvm import LocalSVC, LocalSVMError
from localsvm.report import CellsDisplay, PartitionDisplay, write_report
clf = LocalSVC(grid=1).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
try:
    {call}
except LocalSVMError as error:
    print(error)
"""
    done = _run(code)
    assert done.stdout.strip() == f"Reports and plots need the package {package!r}: pip install 'localsvm[report]'"


def test_cells_that_are_all_constants_have_a_report(tmp_path):
    y = np.arange(400) // 200
    X = np.random.default_rng(0).normal(size=(400, 2)) + 100 * y[:, None]
    model = svc(grid=3, cell_size=200).fit(X, y)
    assert np.isnan([cell["width"] for cell in model.cells_]).all()
    write_report(model, tmp_path / "report.html")
    assert "Kernel width by cell" in Page(tmp_path / "report.html").text
