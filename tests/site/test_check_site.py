"""The check of the built site finds what is wrong, and nothing else."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "check_site.py"


def _check(site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), str(site)], capture_output=True, text=True, check=False)


def _write(site: Path, body: str) -> None:
    (site / "guide").mkdir()
    (site / "index.html").write_text(f"<html><body>{body}</body></html>")
    (site / "guide" / "page.html").write_text('<h2 id="here">x</h2><a href="../index.html">up</a>')


def test_links_that_lead_somewhere_pass(tmp_path):
    _write(
        tmp_path,
        '<a href="guide/page.html#here">a</a><a href="https://example.org/x#y">b</a><p id="z"><a href="#z">c</a>',
    )
    assert _check(tmp_path).returncode == 0


def test_a_missing_page_a_missing_place_and_a_foreign_script_are_named(tmp_path):
    _write(
        tmp_path,
        '<a href="gone.html">a</a><a href="guide/page.html#there">b</a><script src="https://cdn.example/x.js"></script>',
    )
    found = _check(tmp_path)
    assert found.returncode != 0
    assert all(text in found.stderr for text in ("gone.html", "guide/page.html#there", "https://cdn.example/x.js"))


def test_a_site_that_is_not_there_is_no_success(tmp_path):
    assert _check(tmp_path / "none").returncode != 0
