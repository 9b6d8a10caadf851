"""The report for one provider: its own numbers, and nothing about the others."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.access.meter import AccessReport, Usage
from shapband.app.cli.app import app
from shapband.errors import InvalidInput
from shapband.report.names import shown
from shapband.report.page import page_of
from shapband.sampling.rare import RareLabel
from shapband.sampling.shared import Shared
from shapband.sampling.targets import OddLabel
from tests.conftest import redesigned, with_pools
from tests.report.made_up import EVIL, made_up, unfinished, valuation_of
from tests.report.outlining import owner_page, page_outline
from tests.report.reading import Page

NAMES = ("Aldermoor", "Brackwater", "Castlemere", "Dunwich")
OWN = "Brackwater"
FEWEST = 3  # digits of numbers that could not be on the page for another reason


def market(names=NAMES, order=(0, 1, 2, 3), shift=0):
    """Four providers with faults and sizes of their own; `order` exchanges all that is others'.

    `shift` changes what only the others could tell: their records, seconds, sizes and labels.
    """
    rng = np.random.default_rng(3)
    levels, spread = np.array([3.1571, 2.3192, 1.7413, 0.6337]), np.array([0.31, 0.24, 0.17, 0.4])
    games = (levels + spread * rng.normal(size=(60, 4)))[:, list(order)]
    made = valuation_of(
        games, np.broadcast_to((0.2 * spread[list(order)]) ** 2, games.shape), names
    )
    sizes = np.array([211, 222, 233, 244]) + shift * (np.array(names) != OWN)
    access = {
        name: Usage(int(size) + 100, 60 * int(size), float(size) / 7)
        for name, size in zip(names, sizes, strict=True)
    }
    others = [name for name in names if name != OWN]
    return redesigned(
        replace(
            made,
            access=AccessReport(access),
            estimate=with_pools(made.estimate, np.array([1, 2, 3, 4.0])[list(order)] * 1e-3, 20.0),
            stopped=f"the budget of {others[0]} was used",
            stopped_code="budget",
            failures=7,
        ),
        draw_sizes=sizes,
        pool_sizes=sizes * 3,
        distinct_records=sizes / 4.0,
        estimand=f"draws of {sizes.min()} to {sizes.max()} records with replacement",
        estimand_code="pools",
        setup={
            **made.setup,
            "sampling": f"Pooled(n_pool={dict(zip(names, sizes.tolist(), strict=True))})",
            "participation": f"Independent({others[0]!r}: 0.{shift + 5})",
            "chosen": f"{others[1]} has {sizes[0]} records",
        },
        one_label=(others[0], OWN),
        odd_labels=(OddLabel(others[1], f"'label {shift}'", "'usual'"),),
        rare_labels=(RareLabel(others[2], "'seldom'", 1000 + shift, 2000, 700, 0.3, 0),),
        shared_records=(Shared(others[0], OWN, 135 + shift, 138, ("id",), 0.0, 0.25),),
    )


def owner_text(valuation, **more):
    """The whole file, without its style and the digest of the valuation, characters unescaped."""
    content = page_of(valuation, provider=OWN, **more)
    content = re.sub(r"<style>.*?</style>", "", content, flags=re.DOTALL)
    return unescape(re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", content))


def words_of_others(content):
    """Cells of rows of the other providers that have many digits, in the report of all."""
    page, found = Page(content), set()
    for rows in page.tables.values():
        for row in rows:
            if row[0].strip() in NAMES and row[0].strip() != OWN:
                found |= {cell.strip() for cell in row}
    tips = re.findall(r"<title>(.*?)</title>", content)
    for tip in tips:
        if not tip.startswith(OWN):
            found |= set(re.findall(r"[\d.,]+\d", tip))
    return {one for one in found if sum(map(str.isdigit, one)) >= FEWEST or one.isalpha()}


def test_no_name_and_no_number_of_another_provider_is_in_the_file():
    valuation = market()
    paid = sb.payouts(valuation, "87654.32")
    everything = page_of(valuation, payouts=paid)
    secret = words_of_others(everything)
    content = owner_text(valuation, payouts=paid)
    own = {cell.strip() for rows in Page(everything).tables.values() for row in rows
           if row[0].strip() == OWN for cell in row}  # fmt: skip
    assert len(secret - own) > 40
    leaked = [
        word for word in secret - own if re.search(rf"(?<![\d.]){re.escape(word)}\b", content)
    ]
    assert leaked == []
    assert not [name for name in NAMES if name != OWN and name in content]
    assert "87,654.32" not in content
    assert [word for word in secret if word in everything] != []  # the control: it finds them


@pytest.mark.parametrize("order", [(2, 1, 0, 3), (3, 1, 2, 0)])
def test_the_file_is_the_same_if_the_others_exchange_their_values(order):
    # Brackwater's rank and the total do not change, so nothing on the page may change.
    one = page_of(market(), provider=OWN)
    other = page_of(market(order=order), provider=OWN)
    assert page_outline(one) == page_outline(other)


def test_the_file_is_the_same_if_the_others_have_other_names_and_records():
    whole, one = page_of(market()), page_of(market(), provider=OWN)
    renamed = market(names=("Eastleigh", OWN, "Fenny", "Gorsebank"), shift=3)
    assert page_outline(one) == page_outline(page_of(renamed, provider=OWN))
    assert page_outline(whole) != page_outline(page_of(renamed))


def test_the_file_changes_with_the_own_numbers():
    valuation = market()
    sizes = valuation.draw_sizes.copy()
    sizes[1] += 1
    changed = redesigned(valuation, draw_sizes=sizes)
    assert page_of(valuation, provider=OWN) != page_of(changed, provider=OWN)


def test_the_others_are_not_named_in_the_page_of_a_run():
    content = re.sub(r"<style>.*?</style>", "", owner_page(), flags=re.DOTALL)
    assert "south" not in content
    assert "west" not in content
    assert "'rare'" in unescape(content)
    assert "'other'" not in unescape(content)


@pytest.mark.parametrize("name", EVIL)
def test_odd_names_of_others_are_left_out_and_own_ones_escaped(name):
    valuation = made_up(len(EVIL), 30, names=EVIL)
    content = page_of(valuation, provider=name)
    page = Page(content)
    assert page.all("script") == page.all("img") == []
    text = unescape(content)
    assert shown(name) in text
    assert not [one for one in EVIL if one != name and shown(one) in text]


def test_the_own_numbers_are_those_of_the_valuation(wine):
    valuation = sb.value(wine.providers, wine.utility, sampling=sb.Fresh(40), n_games=40, seed=0)
    for at in (0, 7):
        name = valuation.names[at]
        page = Page(page_of(valuation, provider=name, payouts=sb.payouts(valuation, 5000)))
        low, high = valuation.interval()[at]
        found = re.search(r"95 % interval(-?[\d.]+) to (-?[\d.]+)", page.text)
        assert found is not None
        assert abs(float(found[1]) - low) < 1e-3
        assert abs(float(found[2]) - high) < 1e-3
        amount = sb.payouts(valuation, 5000).amounts[name]
        assert f"{amount:,}\u00a0EUR" in page.text
        ranks = valuation.ranks()
        told = re.search(r"between (\d+)\w\w and (\d+)\w\w of 10", page.text)
        assert told is not None
        assert (int(told[1]), int(told[2])) == (ranks.low[at], ranks.high[at])
        assert "to 1 / (1 + MSE) on average. 1 / (1 + MSE) goes from 0 with nobody" in page.text


def test_with_two_providers_the_value_of_everybody_is_left_out():
    two = valuation_of(np.random.default_rng(0).normal([2.2, 3.7], 0.1, (40, 2)), names=("a", "b"))
    total = f"{two.expectation.sum():.2f}"
    assert total in page_of(two)
    own = page_of(two, provider="a", payouts=sb.payouts(two, 1000))
    assert total not in own
    assert "everybody, v(N)" not in own
    assert "1,000" not in own
    three = valuation_of(np.random.default_rng(0).normal(2.0, 0.1, (40, 3)), names=("a", "b", "c"))
    assert "everybody, v(N)" in page_of(three, provider="a")


@pytest.mark.parametrize("n_games", [1, 2, 40])
@pytest.mark.parametrize("n", [1, 2, 3, 600])
def test_pages_for_one_provider_of_any_number(n, n_games):
    valuation = made_up(n, n_games)
    page = Page(page_of(valuation, provider=valuation.names[-1]))
    assert not re.search(r"\bnan\b|\bNone\b", page.text)
    assert "provider 0000" not in page.text or n == 1
    told = page_of(unfinished(valuation), provider=valuation.names[-1])
    assert "The run is not finished" in told


@pytest.mark.parametrize("options", [
    {"sampling": sb.Fresh(30), "participation": sb.Independent(0.5)},
    {"sampling": sb.Pooled(120, 40), "solver": sb.Permutation(4)},
    {"sampling": sb.Fresh(30), "index": sb.Banzhaf()},
], ids=["participation", "pools", "Banzhaf"])  # fmt: skip
def test_no_other_name_is_on_pages_of_real_valuations(wine, options):
    valuation = sb.value(wine.providers, wine.utility, n_games=12, seed=0, **options)
    for name in valuation.names[:2]:
        content = unescape(page_of(valuation, provider=name))
        assert not [one for one in valuation.names if one != name and one in content]
        assert ("everybody, v(N)" in content) == (valuation.index == "Shapley()"
                                                  and "participation" not in options)  # fmt: skip


def test_the_gain_of_one_more_draw_is_only_its_own(wine):
    options = {"sampling": sb.Pooled(120, 30, replace=False), "seed": 0}
    valuation = sb.value(wine.providers, wine.utility, n_games=20, **options)
    found = sb.next_batch(wine.providers, wine.utility, n_games=20, **options)
    page = Page(page_of(valuation, provider=valuation.names[3], next_batch=found))
    told = re.search(r"One more draw of 30 of its records would add (-?[\d.]+) ±", page.text)
    assert told is not None
    assert abs(float(told[1]) - found.gain[3]) < 10.0 ** -len(told[1].split(".")[1])


def test_unknown_providers_and_titles_are_refused(tmp_path):
    valuation = made_up(3)
    with pytest.raises(InvalidInput, match=r"report: 'provider 0009' is not a provider: did you"):
        valuation.report(tmp_path / "a.html", provider="provider 0009")
    with pytest.raises(InvalidInput, match=r"provider must be the name of one .*received 3"):
        valuation.report(tmp_path / "a.html", provider=3)
    for title in ("", "  ", 7):
        with pytest.raises(InvalidInput, match="report: title must be a string that is not empty"):
            valuation.report(tmp_path / "a.html", title=title)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_page_for_one_provider(tmp_path, wine):
    run, file = tmp_path / "my-run", tmp_path / "report.html"
    sb.value(wine.providers, wine.utility, sampling=sb.Fresh(20), n_games=8, seed=0, run=run)
    status = sb.load(run).status
    name = status.valuation.names[4]
    call = ["report", str(run), "--out", str(file), "--provider", name, "--title", "Our wine",
            "--amount", "100"]  # fmt: skip
    called = CliRunner().invoke(app, call)
    assert called.exit_code == 0, called.output
    content = file.read_text("utf-8")
    paid = sb.payouts(status.valuation, "100")
    assert content == page_of(
        status.valuation, payouts=paid, status=status, provider=name, title="Our wine"
    )
    assert "<h1>Our wine</h1>" in content
    assert "<title>Our wine</title>" in content
    assert not [one for one in status.valuation.names if one != name and one in unescape(content)]
    marks = status.manifest["arguments"]
    assert marks[f"data of provider {name!r}"] in content
    called = CliRunner().invoke(app, [*call[:-4], "--provider", "nobody"])
    assert called.exit_code != 0
