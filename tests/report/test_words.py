"""What a reader sees on every page: plain sentences, styled shapes, and nothing left undone."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import shapband as sb
from shapband.report.page import page_of
from shapband.report.rendering import _TEMPLATES
from tests.conftest import redesigned
from tests.report.made_up import made_up, unfinished
from tests.report.reading import Page

# Words in capitals, and names of code, that a reader meets on purpose.
KNOWN = {"SHA", "JSON", "EUR", "NumPy", "MSE", "StandardScaler"}
CODE = re.compile(r"\w+\([^()]*\)|\w*Utility|to_json|\b[0-9a-f]{16,}\b")  # reprs and digests


@pytest.fixture(scope="module", params=["fresh", "pooled", "blocks", "presence", "groups", "few"])
def valued(request, wine):
    """Valuations, with what is paid for them, whose pages have all the sections between them."""
    options = {
        "fresh": {"sampling": sb.Fresh(30), "solver": sb.Exact()},
        "pooled": {"sampling": sb.Pooled(120, 40), "solver": sb.Strata(60)},
        "blocks": {"sampling": sb.Pooled(240, 20, replace=False), "solver": sb.Permutation(20)},
        "presence": {"sampling": sb.Fresh(30), "participation": sb.Independent(0.6)},
        "groups": {"sampling": sb.Stratified(60, 20, 0.5), "solver": sb.Permutation(20)},
    }
    if request.param == "few":
        flawed = redesigned(
            made_up(70, 30),
            distinct_records=np.array([3.0] + [20.0] * 69),
            one_label=("provider 0001",),
        )
        return unfinished(replace(flawed, failures=7)), None
    providers = wine.providers
    if request.param == "groups":
        providers = [sb.Group("coast", providers[:4]), *providers[4:]]
    valuation = sb.value(providers, wine.utility, n_games=12, seed=0, **options[request.param])
    return valuation, sb.payouts(valuation, "1000")


@pytest.fixture
def page(valued):
    # Written anew for each test: mutation testing runs only the tests that call what is changed.
    valuation, payouts = valued
    return page_of(valuation, payouts=payouts)


def sentences(content):
    """The paragraphs, points, and descriptions of pictures."""
    paragraphs = re.findall(
        r"<(?:p|li|p class=\"(?:note|answer|more)\")>(.*?)</", content, re.DOTALL
    )
    return [*(one for one in paragraphs if one), *re.findall(r'aria-label="([^"]*\.)"', content)]


def test_sentences_begin_with_a_capital(page):
    found = sentences(page)
    assert len(found) > 15
    assert [one for one in found if not re.match(r"[A-Z0-9±<]|provider |wine", one)] == []


def words_of(content):
    """All that can be read, tooltips included, without code and digests."""
    body = content[content.index("<body>") :]
    return CODE.sub("", unescape(re.sub(r"<[^>]*>", " ", body)))


def test_words_are_plain(page):
    text = words_of(page)
    capitals = {word for word in re.findall(r"[A-Za-z]+", text) if re.search(r".[A-Z]", word)}
    assert capitals - KNOWN == set()


def test_nothing_is_shown_as_none_or_nan(page):
    assert re.findall(r"\bNone\b|\bnan\b|\binf\b", words_of(page)) == []


def test_all_classes_have_a_style(page):
    style = (_TEMPLATES / "style.css").read_text()
    styled = set(re.findall(r"\.([a-z][\w-]*)", style))
    used = {
        one for _, attributes in Page(page).elements for one in attributes.get("class", "").split()
    }
    assert used - styled == {"label"}  # looks like a tick


def test_every_mark_of_a_legend_is_drawn_in_its_picture(page):
    for figure in re.findall(r"<figure>.*?</figure>", page, re.DOTALL):
        marks = re.findall(r'<span class="swatch ([\w ]+)">', figure)
        assert marks
        for mark in marks:
            assert f'class="{mark}' in figure, mark


def test_a_group_whose_spread_is_not_known_has_no_band_and_a_note(wine):
    coast = sb.Group("coast", wine.providers[:4])
    pages = {}
    for n_games in (12, 200):
        found = sb.value(
            [coast, *wine.providers[4:]],
            wine.utility,
            sampling=sb.Stratified(60, 20, 0.5),
            solver=sb.Permutation(20),
            n_games=n_games,
            seed=0,
        )
        content = page_of(found)
        begin = content.index('id="groups"')
        known = bool(np.isfinite(found.groups.standard_deviation).all())
        pages[known] = content[begin : content.index("</section>", begin)]
    assert "No band: the spread is not known yet." in pages[False]
    assert "spread: one standard deviation" not in pages[False]
    assert "No band" not in pages[True]
    assert "spread: one standard deviation" in pages[True]
