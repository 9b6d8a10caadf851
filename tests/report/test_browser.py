"""The report in Chromium: nothing leaves the page, everybody can read it, on every screen.

Pictures of the pages are kept under out/report.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import shapband as sb
from tests.report.axe import axe_script
from tests.report.chromium import PROGRAM, Browser
from tests.report.made_up import EVIL, made_up, unfinished
from tests.report.reading import VALUES, assert_shown

OUT = Path(__file__).parents[2] / "out" / "report"
LOOKS = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"width": 375},
    "dark phone": {"width": 375, "dark": True},
}
WORST = ("serious", "critical")

pytestmark = pytest.mark.skipif(
    PROGRAM is None,
    reason="*** NO BROWSER: the report was NOT tested as a reader sees it; install chromium ***",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("chromium"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def axe():
    try:
        return axe_script()
    except OSError as cause:
        return pytest.skip(f"*** NO AXE: accessibility was NOT tested; axe-core: {cause} ***")


def page_file(folder, valuation, **more):
    file = folder / "report.html"
    valuation.report(file, **more)
    return file


@pytest.fixture(scope="module")
def wine_valuation(wine):
    return sb.value(wine.providers, wine.utility, sampling=sb.Pooled(250, 60), n_games=100, seed=0)


@pytest.fixture(scope="module")
def wine_page(wine_valuation, tmp_path_factory):
    paid = sb.payouts(wine_valuation, 10_000)
    return page_file(tmp_path_factory.mktemp("wine"), wine_valuation, payouts=paid)


@pytest.fixture(scope="module")
def evil_page(tmp_path_factory):
    valuation = unfinished(made_up(len(EVIL), 40, names=EVIL))
    return page_file(tmp_path_factory.mktemp("evil"), valuation)


def check_quiet(browser, file):
    """Nothing but the file itself was asked for, and nobody complained."""
    addresses = [one for one in browser.requests if not one.startswith("data:")]
    assert addresses == [file.as_uri()]
    assert browser.complaints == []


def check_fits(browser, width):
    """Only tables scroll sideways, and no text of a chart is cut off."""
    assert browser.run("innerWidth") == width
    assert browser.run("document.documentElement.scrollWidth") <= width
    ends = browser.run(
        "[...document.querySelectorAll('.chart text')].map(one => one.getBoundingClientRect())"
        ".flatMap(box => [box.left, box.right])"
    )
    assert min(ends) >= 0
    assert max(ends) <= width


def violations(browser, axe):
    """What axe finds to be serious: rules and elements."""
    browser.run(axe)
    found = browser.run(
        "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map("
        "one => [one.impact, one.id, one.nodes.map(node => node.html).slice(0, 3)]))"
    )
    return [one for one in found if one[0] in WORST]


def keep(browser, name):
    OUT.mkdir(parents=True, exist_ok=True)
    browser.picture(OUT / f"{name}.png")


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_the_page_is_quiet_fits_and_can_be_read_by_all(browser, axe, wine_page, look):
    browser.open(wine_page, **LOOKS[look])
    check_quiet(browser, wine_page)
    check_fits(browser, LOOKS[look].get("width", 1100))
    assert violations(browser, axe) == []
    keep(browser, f"wine {look}")


@pytest.mark.parametrize("look", ["light", "dark phone"])
def test_the_page_for_one_provider_is_quiet_fits_and_can_be_read_by_all(
    browser, axe, tmp_path, look
):
    valuation = made_up(10, 40)
    paid = sb.payouts(valuation, 10_000)
    file = page_file(tmp_path, valuation, provider=valuation.names[3], payouts=paid)
    browser.open(file, **LOOKS[look])
    check_quiet(browser, file)
    check_fits(browser, LOOKS[look].get("width", 1100))
    assert browser.run("document.title") == "What provider 0003 is worth"
    assert violations(browser, axe) == []
    keep(browser, f"one provider {look}")


@pytest.mark.parametrize("look", ["light", "phone"])
def test_evil_names_do_nothing(browser, axe, evil_page, look):
    browser.open(evil_page, **LOOKS[look])
    check_quiet(browser, evil_page)
    check_fits(browser, LOOKS[look].get("width", 1100))
    assert browser.run("document.scripts.length") == 0
    assert browser.run("document.title") == "What each provider is worth"
    assert violations(browser, axe) == []
    keep(browser, f"evil names {look}")


def test_what_a_bad_page_does_is_noticed(browser, axe, tmp_path):
    file = tmp_path / "bad.html"
    wide = "<p style='width: 2000px'>wide</p><svg class='chart'><text x='1200'>far</text></svg>"
    file.write_text(f"<img src='https://example.org/a.png'>{wide}")
    browser.open(file)
    with pytest.raises(AssertionError):
        check_quiet(browser, file)
    assert browser.complaints != []
    with pytest.raises(AssertionError):
        check_fits(browser, 1100)
    assert {one[1] for one in violations(browser, axe)} >= {"image-alt", "html-has-lang"}


def test_the_colours_follow_the_system(browser, wine_page):
    papers = []
    for look in ("light", "dark"):
        browser.open(wine_page, **LOOKS[look])
        paper = browser.run("getComputedStyle(document.body).backgroundColor")
        papers.append(np.mean([int(part) for part in re.findall(r"\d+", paper)]))
    assert papers[0] > 200
    assert papers[1] < 60


def test_the_numbers_on_the_page_are_those_of_the_valuation(browser, wine_page, wine_valuation):
    browser.open(wine_page)
    rows = browser.run(
        f"[...[...document.querySelectorAll('table')].find(one => one.caption.innerText == "
        f"'{VALUES}').rows].map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    place = rows[0].index("expectation")
    column = {row[0]: row[place] for row in rows}
    assert_shown(column, wine_valuation.names, wine_valuation.expectation)


def test_the_first_key_leads_to_the_results(browser, wine_page):
    browser.open(wine_page)
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    browser.press("Tab")
    assert browser.run("document.activeElement.closest('nav') !== null")


def pages_of(content):
    return len(re.findall(rb"/Type\s*/Page\b", content))


def test_prints_have_short_tables_and_leave_out_long_ones(browser, tmp_path):
    seen = "[...document.querySelectorAll('table')].map(one => one.checkVisibility())"
    OUT.mkdir(parents=True, exist_ok=True)
    for n, printed in ((30, True), (70, False)):
        browser.open(page_file(tmp_path, made_up(n)))
        assert not any(browser.run(seen))  # closed on the screen
        content = browser.print(OUT / f"{n} providers.pdf")
        assert content.startswith(b"%PDF")
        assert 4 <= pages_of(content) <= 16
        browser.ask("Emulation.setEmulatedMedia", media="print")
        *others, by_games = sorted(browser.run(seen), reverse=True)
        assert not by_games  # the half widths are not worth their paper
        assert set(others) == {printed}
        browser.ask("Emulation.setEmulatedMedia", media="")


@pytest.fixture(scope="module")
def page_of_size(tmp_path_factory):
    """Makes the page of n providers once for all looks."""
    return cache(lambda n: page_file(tmp_path_factory.mktemp(f"size{n}"), made_up(n)))


@pytest.mark.long
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("n", [1, 2, 10, 50, 500, 1_000])
def test_pages_of_any_size_can_be_read(browser, axe, page_of_size, n, look):
    file = page_of_size(n)
    browser.open(file, **LOOKS[look])
    check_quiet(browser, file)
    check_fits(browser, LOOKS[look].get("width", 1100))
    assert violations(browser, axe) == []
    keep(browser, f"{n} providers {look}")


@pytest.mark.long
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("n", [1, 2, 10, 50, 500])
def test_pages_for_one_of_any_number_of_providers_can_be_read(browser, axe, tmp_path, n, look):
    valuation = made_up(n)
    file = page_file(tmp_path, valuation, provider=valuation.names[-1], title="W" * 200)
    browser.open(file, **LOOKS[look])
    check_quiet(browser, file)
    check_fits(browser, LOOKS[look].get("width", 1100))
    assert violations(browser, axe) == []
    keep(browser, f"one of {n} {look}")


@pytest.mark.long
@pytest.mark.parametrize("n", [1, 2, 10, 50, 500])
def test_pages_of_any_size_are_printed_on_few_sheets(browser, page_of_size, tmp_path, n):
    OUT.mkdir(parents=True, exist_ok=True)
    browser.open(page_of_size(n))
    most = 24  # with 50 providers, whose tables are all printed, 21 sheets
    assert 2 <= pages_of(browser.print(OUT / f"{n} providers.pdf")) <= most
    browser.open(page_file(tmp_path, made_up(n), provider="provider 0000"))
    assert 1 <= pages_of(browser.print(OUT / f"one of {n}.pdf")) <= 4
