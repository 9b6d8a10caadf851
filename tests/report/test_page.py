"""The report: its numbers are those of the valuation, and nothing in it can do harm."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.errors import InvalidInput
from shapband.report.page import page_of
from shapband.report.rendering import _TEMPLATES
from shapband.report.svg import count_axis, linear_axis, log_axis
from tests.conftest import redesigned, with_moments, with_pools
from tests.report.made_up import EVIL, made_up, unfinished, valuation_of
from tests.report.reading import VALUES, Page, assert_shown, number

RANKS = "Ranks, their intervals, and probabilities"
QUANTILES = "Quantiles of the values in single games"
ERRORS = "Standard errors, and the share of their square by cause"
WIDTHS = "Half widths of the 95 % intervals by games played"
ACCESS = "Records, requests and seconds by provider"


@pytest.fixture(scope="module")
def valuation():
    return made_up(9, 200)


@pytest.fixture(scope="module")
def pooled(wine):
    return sb.value(wine.providers, wine.utility, sampling=sb.Pooled(120, 40), n_games=60, seed=0)


def read(valuation, **more):
    return Page(page_of(valuation, **more))


def test_the_numbers_are_those_of_the_valuation(valuation):
    page, names = read(valuation), valuation.names
    low, high = valuation.interval().T
    columns = {
        "expectation": valuation.expectation,
        "± 95 %": (high - low) / 2,
        "from": low,
        "to": high,
        "sd of value": valuation.standard_deviation,
    }
    for title, values in columns.items():
        assert_shown(page.column(VALUES, title), names, values)
    assert_shown(page.column(ERRORS, "standard error"), names, valuation.standard_error)
    assert_shown(page.column(QUANTILES, "50 %"), names, np.median(valuation.games, axis=0))
    assert_shown(page.column(RANKS, "rank"), names, valuation.ranks().rank)
    assert_shown(page.column(RANKS, "to"), names, valuation.ranks().high)
    records = [valuation.access.by_provider[name].records for name in names]
    assert_shown(page.column(ACCESS, "records bought"), names, records)
    assert number(page.column(ACCESS, "records bought")["all"])[0] == valuation.access.records


def test_numbers_of_another_valuation_are_noticed(valuation):
    page, other = read(valuation), made_up(9, 200, seed=1)
    with pytest.raises(AssertionError):
        assert_shown(page.column(VALUES, "expectation"), valuation.names, other.expectation)


def test_probabilities_are_those_of_the_valuation(valuation):
    page, chances = read(valuation), valuation.top(1)
    for name, text in page.column(RANKS, "largest of all").items():
        chance = 100 * float(chances[name])
        shown = float(re.sub(r"[^\d]", "", text))
        if "over" in text or "under" in text:
            assert chance > 99 if "over" in text else chance < 1
        else:
            assert abs(chance - shown) <= 0.5


def test_the_chart_shows_the_numbers_of_the_table(valuation):
    content = page_of(valuation)
    chart = content[content.index('id="values"') : content.index('id="distribution"')]
    order = np.argsort(-valuation.expectation, kind="stable")
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)%"', chart)]
    scale = np.polyfit(valuation.expectation[order], dots, 1)
    low, high = valuation.interval()[order].T
    deviation = valuation.standard_deviation[order]
    bars = np.array(re.findall(r'class="bar" x1="([\d.]+)%" x2="([\d.]+)%"', chart), dtype=float)
    bands = np.array(
        re.findall(r'class="band" x="([\d.]+)%" width="([\d.]+)%"', chart), dtype=float
    )
    rounding = 0.03  # percent of the width
    np.testing.assert_allclose(dots, np.polyval(scale, valuation.expectation[order]), atol=rounding)
    np.testing.assert_allclose(bars.T, [np.polyval(scale, low), np.polyval(scale, high)],
                               atol=rounding)  # fmt: skip
    np.testing.assert_allclose(bands[:, 1], 2 * deviation * scale[0], atol=rounding)
    names = re.findall(r"<bdi>(.*?)</bdi>", chart)[: len(order)]
    assert names == [valuation.names[at] for at in order]


@pytest.mark.parametrize(("means", "zero"), [((0.4, 1.0), True), ((10.0, 11.0), False)])
def test_charts_of_values_show_zero_or_say_that_they_do_not(means, zero):
    games = np.random.default_rng(0).normal(means, 0.01, (40, 2))
    content = page_of(valuation_of(games, names=("a", "b")))
    for begin, end in (("values", "distribution"), ("distribution", "ranks")):
        section = content[content.index(f'id="{begin}"') : content.index(f'id="{end}"')]
        assert ('class="zero"' in section) == zero
        assert ("The axis does not begin at 0." in section) != zero


def test_the_same_valuation_gives_the_same_page(valuation):
    again = sb.Valuation.from_json(valuation.to_json())
    assert page_of(valuation) == page_of(valuation) == page_of(again)
    assert page_of(valuation) != page_of(made_up(9, 200, seed=1))


def test_the_answer_says_who_and_how_sure():
    sure = made_up(5, 400)
    unsure = with_moments(sure, mean=0.7 + 0.001 * np.arange(5))
    best = sure.names[int(np.argmax(sure.expectation))]
    text = read(sure).text
    assert f"{best} has the largest expected Shapley value" in text
    assert "this is true with a probability of over 99\u00a0%" in text
    assert "but this is not certain" not in text
    assert "but this is not certain" in read(unsure).text
    assert "over draws of 20 records from the sources" in text


@pytest.mark.parametrize(("n", "most"), [(2, 60e3), (50, 400e3), (1_000, 2.5e6)])
def test_pages_stay_small_and_tables_complete(n, most):
    valuation = made_up(n, 40)
    content = page_of(valuation)
    assert len(content.encode()) < most
    page = Page(content)
    tables = [VALUES, QUANTILES, ERRORS, ACCESS, RANKS]
    for caption in tables:
        names = [row[0] for row in page.tables[caption][1:]]
        assert set(valuation.names) <= set(names)
    cut = f"The chart shows the first 25 and the last 10 of {n:,} providers"
    assert (cut in page.text) == (n > 60)
    dots = len(re.findall(r"<circle", content[: content.index('id="distribution"')]))
    assert dots == (n if n <= 60 else 35)


def test_names_do_no_harm():
    valuation = made_up(len(EVIL), 40, names=EVIL)
    evil = dict.fromkeys(valuation.setup, EVIL[0])
    valuation = redesigned(valuation, setup=evil, estimand=EVIL[1] + EVIL[4])
    valuation = replace(valuation, stopped=EVIL[7])
    content = page_of(valuation, payouts=sb.payouts(valuation, 100))
    page = Page(content)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "b"})
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert content.count("</style>") == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", content)
    rows = [row[0] for row in next(iter(page.tables.values()))[1:]]
    assert EVIL[0] in rows
    assert EVIL[2] in rows
    assert "\\u202eforged\\u202c" in rows


def test_nothing_is_fetched_and_no_script_runs(valuation):
    page, content = read(valuation), page_of(valuation)
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<iframe|<object", content)
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    assert all(link["href"].startswith("#") for link in page.all("a"))
    assert not [attributes for _, attributes in page.elements if "style" in attributes]


def test_the_structure_serves_screen_readers(valuation):
    page = read(valuation, payouts=sb.payouts(valuation, 100))
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    named = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(named) == len(set(named))
    assert {link["href"][1:] for link in page.all("a")} <= set(named)
    charts = [one for one in page.all("svg") if one.get("class") == "chart"]
    assert len(charts) == 6
    assert all(one["role"] == "img" and one["aria-label"] for one in charts)
    assert all(one.get("scope") in ("row", "col") for one in page.all("th"))
    assert {tag for tag, _ in page.elements} >= {"header", "nav", "main", "footer", "caption"}
    assert page.all("html") == [{"lang": "en"}]


def palette(media):
    style = (_TEMPLATES / "style.css").read_text()
    block = style[style.index(media) :].split("}", 1)[0]
    return dict(re.findall(r"--([\w-]+): (#\w{6})", block))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("media", [":root", "prefers-color-scheme: dark", "@media print"])
def test_colours_can_be_read(media):
    colours = palette(media)
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    for ink in ("text", "muted", "accent", "warn"):
        for paper in ("page", "card", "warn-card"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    for mark in ("part0", "part1", "part2"):
        assert contrast(colours[mark], colours["page"]) >= 2.5, mark


def test_an_unfinished_run_leaves_out_what_needs_single_games(valuation):
    page = read(unfinished(valuation))
    assert "The run is not finished" in page.text
    assert page.text.count("can be read when the run is finished") == 2
    assert QUANTILES not in page.tables
    assert VALUES in page.tables


def test_one_game_has_no_errors_and_no_ranks():
    page = read(made_up(3, 1))
    assert "This needs the errors of two or more games" in page.text
    assert "how certain this is, is not known" in page.text
    assert page.text.count("This is left out. This needs the values of at least 4 games") == 2
    assert set(page.column(VALUES, "from").values()) <= {"unbounded", "not known"}


def test_more_than_500_providers_have_ranks_unless_no_games_were_kept():
    valuation = made_up(501, 5)
    assert len(read(valuation).column(RANKS, "rank")) == 501
    page = read(replace(valuation, games=valuation.games[:0]))
    assert "This needs the correlations of the providers' errors" in page.text
    assert RANKS not in page.tables


def test_constant_values_have_no_width():
    page = read(valuation_of(np.full((40, 2), 0.3)))
    assert "There is no half width to draw" in page.text
    assert set(page.column(VALUES, "expectation").values()) == {"0.300000"}
    assert set(page.column(VALUES, "± 95 %").values()) == {"0.000000"}


def test_one_provider_and_equal_ones():
    assert "is the only provider" in read(made_up(1)).text
    same = with_moments(made_up(3), mean=np.full(3, 0.5))
    assert "All 3 providers share the largest expected Shapley value" in read(same).text


def test_groups_have_a_section(wine):
    coast = sb.Group("<coast>", wine.providers[:4])
    valuation = sb.value([coast, *wine.providers[4:]], wine.utility, sampling=sb.Fresh(20),
                         n_games=12, seed=0)  # fmt: skip
    page = read(valuation)
    found = page.column("Expected values of the groups", "expectation")
    assert_shown(found, ["<coast>"], valuation.groups.expectation)
    group = page.column("Expected Owen values of the providers", "group")
    assert [group[one.name] for one in wine.providers] == ["<coast>"] * 4 + [""] * 6


def test_participation_has_a_section(wine):
    valuation = sb.value(wine.providers, wine.utility, sampling=sb.Fresh(20), n_games=40, seed=0,
                         participation=sb.Independent(0.6))  # fmt: skip
    page, parts = read(valuation), valuation.participation
    found = page.column("Participation and values of those who take part", "value if present")
    assert_shown(found, valuation.names, parts["expectation_present"])
    assert "from the provider's own presence" in page.text


def test_errors_are_split_by_cause(pooled):
    page = read(pooled)
    error = pooled.error
    for cause in ("games", "pools"):
        column = page.column(ERRORS, cause)
        for name in pooled.names:
            share = 100 * (error[cause][name] / error["standard_error"][name]) ** 2
            assert abs(float(column[name].split()[0]) - share) <= 0.5
    assert "part2" in page_of(pooled)
    assert "records were bought before the first game" in page.text
    assert "left by any number of games" in page.text
    assert "errors of expectations cover their choice, errors of variances do not" in page.text


def test_records_are_an_axis_if_they_are_bought_game_by_game(valuation, pooled):
    assert "records bought</text>" in page_of(valuation)
    assert "records bought</text>" not in page_of(pooled)


def test_the_last_half_width_is_that_of_the_valuation(valuation):
    page = read(valuation)
    half = np.diff(valuation.interval())[:, 0] / 2
    widest = page.column(WIDTHS, "widest")[f"{valuation.n_games:,}"]
    assert_shown({"widest": widest}, ["widest"], [half.max()])


def test_points_to_check_are_told(valuation):
    assert "Nothing was found" in read(valuation).text
    failed = replace(valuation, failures=7)
    assert "7 of 40,000 coalitions could not be evaluated" in read(failed).text
    few = redesigned(valuation, distinct_records=np.array([3.0] + [20.0] * 8))
    page = read(few)
    assert "Records repeat: provider 0000 has about 3 different ones" in page.text
    repeats = page.column("Providers that repeat records", "different records")
    assert repeats == {"provider 0000": "3.00"}
    assert "1 point to check" in page.text
    games = made_up(3, 10).games.copy()
    games[:, 0] = 0.3
    assert "the values of provider 0000 were the same in all 10 games" in (
        read(valuation_of(games)).text
    )
    noisy = with_moments(valuation, noise=np.full(9, 10.0))
    page = read(noisy)
    assert "the estimate of the variance is negative" in page.text
    assert set(page.column(VALUES, "sd of value").values()) == {"not known"}


def test_other_indices_have_their_names(valuation):
    other = redesigned(valuation, setup={**valuation.setup, "index": "Banzhaf()"})
    assert "the largest expected Banzhaf value" in read(other).text


def test_games_that_were_not_kept_are_told(valuation):
    page = read(replace(valuation, games=valuation.games[:50]))
    assert "the values in the first 50 of 200 games" in page.text
    assert "The values of the first 50 games were kept for this." in page.text


def test_a_provider_that_never_took_part_is_told():
    absent = sb.Independent({"a": 1e-9, "b": 0.8, "c": 0.8})
    source = [sb.ArraySource(np.zeros((9, 1)), np.arange(9.0)) for _ in "abc"]
    providers = [sb.Provider(name, one) for name, one in zip("abc", source, strict=True)]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=20, seed=0,
                         participation=absent)  # fmt: skip
    page = read(valuation)
    assert "Unbounded: a took part in no game" in page.text
    assert page.column("Participation and values of those who take part", "takes part")["a"] == (
        "0.0\u00a0%"
    )


def test_payouts_are_shown_to_the_cent(valuation):
    paid = sb.payouts(valuation, "1000.01")
    column = read(valuation, payouts=paid).column("Payouts in EUR", "EUR")
    assert {name: Decimal(column[name]) for name in valuation.names} == paid.amounts
    assert column["all"] == "1,000.01"
    with pytest.raises(InvalidInput, match="payouts must be made from this valuation"):
        page_of(made_up(9, 200, seed=1), payouts=paid)


def test_the_chart_of_payouts_shows_the_shares_of_the_table(valuation):
    paid = sb.payouts(valuation, "1000.01")
    content = page_of(valuation, payouts=paid)
    chart = content[content.index('id="payouts"') : content.index('id="method"')]
    amounts = sorted(paid.amounts.items(), key=lambda one: (-one[1], one[0]))
    bars = np.array(re.findall(r'class="box" x="([\d.]+)%" width="([\d.]+)%"', chart), dtype=float)
    shares = np.array([float(amount / paid.amount) for _, amount in amounts])
    rounding = 0.03  # percent of the width
    width = bars[0, 1] / shares[0]
    np.testing.assert_allclose(bars[:, 1], shares * width, atol=rounding)
    assert len(set(bars[:, 0])) == 1  # all bars begin at zero
    errors = dict(zip(valuation.names, paid.standard_error / 1000.01, strict=True))
    ends = re.findall(r'class="whisker" x1="[\d.]+%" x2="([\d.]+)%"', chart)
    expected = [shares[at] + errors[name] for at, (name, _) in enumerate(amounts) if errors[name]]
    np.testing.assert_allclose(
        np.array(ends, dtype=float), bars[0, 0] + np.array(expected) * width, atol=2 * rounding
    )
    assert re.findall(r"<bdi>(.*?)</bdi>", chart)[:9] == [name for name, _ in amounts]
    page = Page(content)
    label = next(
        one["aria-label"] for one in page.all("svg") if "payouts" in one.get("aria-label", "")
    )
    assert label == "Bar chart of the payouts to 9 providers: shares of 1,000.01\u00a0EUR."
    column = page.column("Payouts in EUR", "share")
    for (name, _), share in zip(amounts, shares, strict=True):
        assert column[name] == f"{100 * share:.2f}\u00a0%"


def test_nothing_to_divide_has_no_shares_and_no_chart(valuation):
    content = page_of(valuation, payouts=sb.payouts(valuation, 0))
    section = content[content.index('id="payouts"') : content.index('id="method"')]
    assert "<svg" not in section
    assert set(Page(content).column("Payouts in EUR", "share").values()) == {"-", ""}


def test_names_keep_their_letters_in_the_notes_of_payouts():
    valuation = valuation_of(np.tile([-1.0, 2.0], (40, 1)), names=("noise", "good"))
    page = read(valuation, payouts=sb.payouts(valuation, 10))
    assert "since nobody pays in: noise." in page.text
    assert "Noise" not in page.text


def test_the_number_of_points_to_check_is_that_of_the_section_it_leads_to(valuation):
    repeated = redesigned(valuation, distinct_records=np.full(9, 2.0))
    content = page_of(repeated, payouts=sb.payouts(repeated, 100))
    section = content[content.index('id="alerts"') : content.index('id="access"')]
    told = re.search(r'<a href="#alerts">(\d+) point', content)
    assert told is not None
    assert int(told[1]) == section.count("<li>") == 1


def test_pools_that_leave_nothing_else_to_gain(valuation):
    pooled = redesigned(valuation, pool_sizes=np.full(9, 30))
    page = read(replace(pooled, estimate=with_pools(valuation.estimate, 1.0, 5.0)))
    assert "% from the pools: more games alone reach ±2.6 at best" in page.text


def test_a_run_tells_its_origin_and_no_path(tmp_path, wine):
    run, file = tmp_path / "my-run", tmp_path / "report.html"
    sb.value(wine.providers, wine.utility, sampling=sb.Fresh(20), n_games=8, seed=0, run=run)
    called = CliRunner().invoke(app, ["report", str(run), "--out", str(file)])
    assert called.exit_code == 0, called.output
    content, status = file.read_text("utf-8"), sb.load(run).status
    assert status.digest in content
    assert status.manifest["created"] in content
    assert str(tmp_path) not in content
    assert f"numpy {np.__version__}" in content
    page = Page(content)
    marks = page.column("Fingerprints of the providers' data", "fingerprint")
    arguments = status.manifest["arguments"]
    assert marks == {
        name: arguments[f"data of provider {name!r}"] for name in status.valuation.names
    }
    assert page_of(status.valuation, status=status) == content


def test_a_configured_run_shows_no_path(tmp_path):
    runner, config, run = CliRunner(), tmp_path / "shapband.toml", tmp_path / "run"
    for call in (["init", str(config)], ["run", str(config), "--out", str(run), "--quiet"]):
        assert runner.invoke(app, call).exit_code == 0
    called = runner.invoke(app, ["report", str(run), "--out", str(tmp_path / "a.html")])
    assert called.exit_code == 0, called.output
    content = (tmp_path / "a.html").read_text("utf-8")
    assert sb.load(run).status.manifest["config_sha256"] in content
    assert str(tmp_path) not in content


def test_secrets_are_hidden(monkeypatch):
    from shapband.secrets import reveal

    monkeypatch.setenv("TOKEN_OF_TEST", "hunter2-hunter2")
    reveal({"env": "TOKEN_OF_TEST"}, "key")
    valuation = made_up(2, names=("hunter2-hunter2", "other"))
    content = page_of(redesigned(valuation, estimand="draws by hunter2-hunter2"))
    assert "hunter2" not in content
    assert "***" in content


def test_a_file_that_cannot_be_written_is_refused(tmp_path, valuation):
    with pytest.raises(InvalidInput, match=r"report: .* cannot be written"):
        valuation.report(tmp_path / "missing" / "report.html")
    with pytest.raises(InvalidInput, match=r"report: .* cannot be written"):
        valuation.report("a\0b")
    with pytest.raises(InvalidInput, match="path must be the name of a file; received 3"):
        valuation.report(3)
    with pytest.raises(
        InvalidInput, match=r"payouts must be what sb.payouts returns; received 100"
    ):
        valuation.report(tmp_path / "report.html", payouts=100)
    assert list(tmp_path.iterdir()) == []
    valuation.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == page_of(valuation)


@pytest.mark.parametrize(
    "numbers",
    [[0.0], [5.0, 5.0], [1e300, -1e300], [1.7e308, -1.7e308], [1e-300, 2e-300], [1e9, 1e9 + 1e-3],
     [np.inf, np.nan, 1.0], [np.nan], [-3e-12, 4e-12], [0.1, 0.4]],
)  # fmt: skip
def test_axes_of_odd_numbers_have_ticks_inside(numbers):
    axis = linear_axis(numbers, "")
    places = [axis.scale.at(tick.value) for tick in axis.ticks]
    assert 1 <= len(places) <= 12
    assert all(0 <= place <= 100 for place in places)
    assert len({tick.text for tick in axis.ticks}) == len(places)
    logs = log_axis(np.abs(numbers).tolist(), "")
    assert all(0 <= logs.scale.at(tick.value) <= 100 for tick in logs.ticks)


def test_ticks_have_room_on_a_telephone():
    rng = np.random.default_rng(0)
    for low, width in zip(10.0 ** rng.uniform(-5, 5, 200), 10.0 ** rng.uniform(-5, 5, 200),
                          strict=True):  # fmt: skip
        ticks = linear_axis([low, low + width], "").ticks
        assert len(ticks) >= 2
        assert sum(len(tick.text) + 1 for tick in ticks) <= 48


@pytest.mark.parametrize("n", [1, 2, 5, 10, 49, 500])
def test_axes_of_ranks_begin_at_1(n):
    ticks = [tick.value for tick in count_axis(n, "").ticks]
    assert ticks[0] == 1
    assert ticks[-1] <= n
    assert len(ticks) <= 12


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e12, 1e70])
def test_values_of_any_size_make_a_page(scale):
    scaled = valuation_of(made_up(4, 30).games * scale)
    assert set(scaled.names) <= set(read(scaled).column(VALUES, "expectation"))


def test_matplotlib_is_not_needed(tmp_path):
    code = (
        "import sys; from tests.report.made_up import made_up; "
        f"made_up(3).report({str(tmp_path / 'a.html')!r}); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(done.stdout.lower()) is False
