"""What the pages of the site show can be done as it stands."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("quickstart", "mathematics", "from-svc", "from-liquidsvm", "report")]
PAGES += sorted((DOCS / "guide").glob("*.md"))
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if CODE.search(page.read_text())], ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile("\n".join(CODE.findall(page.read_text())), str(page), "exec"), {"__name__": page.stem})
