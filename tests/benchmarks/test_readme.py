"""The README has the table that the committed results make."""

from benchmarks.marked import replace_marked
from benchmarks.readme import PAGE, table


def test_the_readme_has_the_table_of_the_committed_results():
    assert table() in PAGE.read_text(), "run python -m benchmarks.readme --write"


def test_what_stands_between_two_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n")
    replace_marked(page, "a", "new\n")
    replace_marked(page, "no such mark", "never\n")
    assert page.read_text() == "before\n<!-- a: begin -->\nnew\n<!-- a: end -->\nafter\n"
