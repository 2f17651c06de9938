"""What the pages of the site show can be done as it stands, and prints what they show."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "page_outputs.py"
spec = importlib.util.spec_from_file_location("page_outputs", TOOL)
page_outputs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page_outputs)

PAGES = [page for page in page_outputs.PAGES if page_outputs.BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_code_of_a_page_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for block, printed in page_outputs.outputs(page):
        shown = block["shown"] or ""
        assert page_outputs.is_shown(block, printed), f"it prints\n{printed}\nand the page shows\n{shown}"
