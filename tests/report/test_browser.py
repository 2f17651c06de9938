"""The report in a real browser: it renders, sorts, fits a phone, follows the colour scheme, and loads nothing."""

import pytest
from browser import Browser
from selenium.webdriver.common.keys import Keys

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


KINDS = ("two_classes", "hostile_classes", "thirteen_classes", "two_targets", "quantiles", "chunks")
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_all_sections_and_plots_are_visible(browser, pages, kind):
    browser.open(pages(kind))
    for section in browser.find_all("section"):
        assert section.is_displayed()
        assert section.find_element("css selector", "h2").text
    plots = browser.find_all("figure svg")
    assert len(plots) >= 9
    for plot in plots:
        assert plot.size["width"] > 150
        assert plot.size["height"] > 90
        drawn = browser.run("return arguments[0].getBBox().width", plot)
        assert drawn > 100


@every_kind
def test_the_console_stays_empty_and_nothing_is_loaded(browser, pages, kind):
    browser.open(pages(kind))
    browser.find("th > button").click()
    assert browser.console() == []
    requests = browser.requests()
    assert requests[0].startswith("file://")
    assert [url for url in requests[1:] if not url.startswith("data:")] == []


def test_text_of_users_is_not_executed(browser, pages):
    browser.open(pages("hostile_classes"))
    assert browser.run("return window.broken") is None
    assert "<script>window.broken = true</script>" in browser.find("#matrix").text


def column(browser, table, number):
    cells = browser.find_all(f"#{table} tbody tr > :nth-child({number + 1})")
    return [cell.get_attribute("data-v") or cell.text for cell in cells]


def number_of(browser, table, title):
    titles = [button.text for button in browser.find_all(f"#{table} thead button")]
    return titles.index(title)


@pytest.mark.parametrize("press", ["click", "enter", "space"])
def test_a_table_sorts_by_the_numbers_of_a_column_and_back(browser, pages, press):
    browser.open(pages("two_classes"))
    number = number_of(browser, "all-cells", "CV error")
    heading = browser.find(f"#all-cells thead th:nth-child({number + 1})")
    button = heading.find_element("css selector", "button")

    def do():
        if press == "click":
            button.click()
        else:
            browser.run("arguments[0].focus()", button)
            button.send_keys(Keys.ENTER if press == "enter" else Keys.SPACE)
        return [float(value) for value in column(browser, "all-cells", number)]

    before = [float(value) for value in column(browser, "all-cells", number)]
    assert do() == sorted(before)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert do() == sorted(before, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    others = browser.find_all("#all-cells thead th:not([aria-sort='descending'])")
    assert {other.get_attribute("aria-sort") for other in others} == {"none"}


def test_rows_stay_whole_when_they_are_sorted(browser, pages):
    browser.open(pages("two_classes"))
    before = {row.text for row in browser.find_all("#worst-cells tbody tr")}
    for button in browser.find_all("#worst-cells thead button"):
        button.click()
        assert {row.text for row in browser.find_all("#worst-cells tbody tr")} == before


def test_missing_values_sort_last_in_either_order(browser, pages):
    browser.open(pages("two_classes"))
    number = number_of(browser, "all-cells", "width")
    button = browser.find(f"#all-cells thead th:nth-child({number + 1}) button")
    for _ in range(2):
        button.click()
        found = column(browser, "all-cells", number)
        blanks = found.count("\N{EN DASH}")
        assert 0 < blanks < len(found)
        assert found[-blanks:] == ["\N{EN DASH}"] * blanks


def test_text_sorts_alphabetically(browser, pages):
    browser.open(pages("two_classes"))
    browser.find("#measures thead button").click()
    found = column(browser, "measures", 0)
    assert found == sorted(found, key=str.lower)


@every_kind
@pytest.mark.parametrize("width", [320, 375, 768])
def test_the_page_fits_narrow_screens(browser, pages, kind, width):
    browser.open(pages(kind), width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    too_wide = browser.run(
        "return Array.from(document.querySelectorAll('main section, figure, .card, .tile, nav a'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert too_wide == []


def test_every_button_and_table_can_be_reached_by_keyboard(browser, pages):
    browser.open(pages("two_classes"))
    outside = browser.run(
        "return Array.from(document.querySelectorAll('a, button, .scroll')).filter(e => e.tabIndex < 0).length"
    )
    assert outside == 0
    browser.find("body").send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.textContent") == "Skip to content"


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def style(browser, selector, name):
    return browser.run(f"return getComputedStyle(document.querySelector(arguments[0])).{name}", selector)


def test_the_page_and_its_plots_follow_the_colour_scheme(browser, pages):
    seen = {}
    for scheme in ("light", "dark"):
        browser.open(pages("two_classes"), scheme=scheme)
        seen[scheme] = {
            "page": style(browser, "body", "backgroundColor"),
            "card": style(browser, "#plot-partition", "backgroundColor"),
            "text": style(browser, "#plot-partition svg text", "fill"),
            "title": style(browser, "#plot-cells-size svg text:last-of-type", "fill"),
            "bar": style(browser, "#plot-cells-size svg path[style*='accent']", "fill"),
        }
    for name in seen["light"]:
        assert seen["light"][name] != seen["dark"][name], name
    assert luminance(seen["light"]["page"]) > 0.8
    assert luminance(seen["dark"]["page"]) < 0.05


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_either_scheme(browser, pages, scheme):
    browser.open(pages("two_classes"), scheme=scheme)
    card = style(browser, "#plot-partition", "backgroundColor")
    texts = browser.run(
        "return Array.from(document.querySelectorAll('figure svg text'), e => getComputedStyle(e).fill)"
    )
    assert min(contrast(text, card) for text in texts) >= 4.5
    for selector in ("figcaption", ".caption", ".note", ".hint", "th > button", ".recommendations p"):
        assert contrast(style(browser, selector, "color"), card) >= 4.5, selector
