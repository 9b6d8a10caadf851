"""Numbers with the digits that their errors allow, and valuations that show themselves."""

import re
from dataclasses import replace

import numpy as np
import pytest

import shapband as sb
from shapband.estimate.estimator import Estimator
from shapband.solvers.base import Solution
from shapband.valuation.text import decimals, table_lines, valuation_table, with_digits
from tests.conftest import linear_providers, redesigned, with_moments


@pytest.fixture(scope="module")
def valuation():
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    return sb.value(providers, utility, sampling=sb.Fresh(12), n_games=40, seed=0)


@pytest.mark.parametrize(
    ("error", "value", "places"),
    [
        (0.0176, 0.084, 3),
        (0.0999, 1.0, 3),
        (0.1, 1.0, 2),
        (12.0, 345.6, 0),
        (0.0, 0.25, 6),
        (0.0, 0.0, 6),
        (np.nan, 2.5, 5),
        (np.inf, 2.5, 5),
        (1e-30, 1.0, 12),
    ],
)
def test_decimals_follow_the_error(error, value, places):
    assert decimals(error, value) == places


def test_decimal_points_are_aligned():
    texts = with_digits([123.4, 0.5, 7.25], [20.0, 0.1, 0.011])
    assert texts == ["123    ", "  0.50 "[2:], "7.250"]
    lines = table_lines(("name", "x"), [(str(at), text) for at, text in enumerate(texts)])
    assert len({line.find(".") for line in lines if "." in line}) == 1


def test_what_is_not_known_is_said():
    assert with_digits([np.nan, np.inf], [0.1, 0.1]) == ["not known", "unbounded"]


def test_the_largest_value_comes_first_and_shares_add_up(valuation):
    _, rows = valuation_table(valuation)
    order = np.argsort(-valuation.expectation)
    assert [row[0] for row in rows] == [valuation.names[at] for at in order]
    shares = [float(row[3].removesuffix(" %")) for row in rows]
    assert abs(sum(shares) - 100) < 0.3
    assert shares == sorted(shares, reverse=True)


def test_no_share_is_shown_of_a_total_that_is_not_positive(valuation):
    _, rows = valuation_table(with_moments(valuation, mean=-valuation.expectation))
    assert {row[3] for row in rows} == {"–"}


# The total is 0 but for rounding, and below its error.
@pytest.mark.parametrize("mean", [[0.1, 0.2, -0.3, 0.0, 0.0], [0.5, -0.4999, 0.0, 0.0, 0.0]])
def test_no_share_is_shown_of_a_total_that_may_be_zero(valuation, mean):
    assert sum(mean) > 0
    changed = with_moments(valuation, mean=np.array(mean))
    _, rows = valuation_table(changed)
    assert {row[3] for row in rows} == {"–"}
    many = with_moments(changed, products=None)  # as for many providers: no covariances are kept
    assert {row[3] for row in valuation_table(many)[1]} == {"–"}


def test_shares_of_mixed_signs_are_shown_if_the_total_is_known(valuation):
    changed = with_moments(valuation, mean=np.array([9.0, -4.0, 0.0, 0.0, 0.0]))
    _, rows = valuation_table(changed)
    assert [row[3] for row in rows] == ["180.0 %", "0.0 %", "0.0 %", "0.0 %", "-80.0 %"]


def error_line(valuation):
    lines = str(valuation).splitlines()
    (at,) = [at for at, line in enumerate(lines) if line.startswith("error:")]
    line = f"{lines[at]} {lines[at + 1].strip()}"
    found = re.fullmatch(
        r"error:   (\d+) % from the number of games, (\d+) % from the pools \(shares of the "
        r"squared error\); more games alone reach ±([\d.]+) at best", line,
    )  # fmt: skip
    assert found, line
    return tuple(map(float, found.groups()))


def test_it_is_said_how_far_more_games_alone_lower_the_error():
    """The games have a third of the squared error of 20 games, and none of that of 5,000."""
    providers, validation = linear_providers(n=2, records=300)
    utility = sb.LinearUtility(*validation)

    def play(n_games):
        given = {"sampling": sb.Pooled(200, 60), "seed": 0, "fixed_validation": True}
        found = sb.value(providers, utility, n_games=n_games, **given)
        half = np.diff(found.interval(0.95), axis=1).max() / 2
        return half, *error_line(found)

    few, games, pools, best = play(20)
    many, *_, at_last = play(5000)
    assert 30 <= games <= 60
    assert games + pools == 100
    assert best < 0.9 * few
    assert many < 0.9 * few
    assert many == pytest.approx(at_last, rel=0.03)  # the limit is reached
    assert many == pytest.approx(best, rel=0.5)  # what the pools cause is estimated from 20 games


def test_printed_numbers_are_those_of_the_valuation(valuation):
    half = np.diff(valuation.interval(0.95), axis=1)[:, 0] / 2
    for name, value, error, _, spread in valuation_table(valuation)[1]:
        at = valuation.names.index(name)
        assert abs(float(value) - valuation.expectation[at]) <= 0.051 * half[at]
        assert abs(float(error) - half[at]) <= 0.051 * half[at]
        assert abs(float(spread) - valuation.standard_deviation[at]) <= 0.1 * float(spread)


def test_the_repr_is_one_short_line(valuation):
    assert repr(valuation) == "<Valuation of 5 providers from 40 games, stopped by n_games>"


def test_html_escapes_names(valuation):
    names = ("<script>alert(1)</script>", *valuation.names[1:])
    used = dict(zip(names, valuation.access.by_provider.values(), strict=True))
    renamed = redesigned(valuation, names=names)
    html = replace(renamed, access=sb.AccessReport(used))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.count("<tr>") == 6


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "n_games"),
        ({"budget": sb.Budget(records=12 * 5 * 10)}, "budget"),
        ({"stop": sb.Precision(absolute=100.0)}, "rule"),
    ],
)
def test_the_end_has_a_code(options, code):
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    found = sb.value(providers, utility, sampling=sb.Fresh(12), n_games=40, seed=0, **options)
    assert found.stopped_code == code
    assert sb.Valuation.from_json(found.to_json()).stopped_code == code


@pytest.mark.parametrize(
    ("sampling", "code"),
    [
        (sb.Fresh(12), "sources"),
        (sb.Pooled(30, 12), "pools"),
        (sb.Stratified(30, 12, 0.8), "pools"),
        (sb.Pooled(30, 12, replace=False), "sources"),
    ],
)
def test_the_target_has_a_code(sampling, code):
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    found = sb.value(providers, utility, sampling=sampling, n_games=4, seed=0)
    assert found.estimand_code == code
    assert sb.Valuation.from_json(found.to_json()).estimand_code == code


def test_causes_that_are_not_known_one_by_one_are_named_together():
    """One permutation shows no noise of the solver; the rows are a small part of the error."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=1500)
    parts = [slice(400 * i, 400 * i + 400) for i in range(3)]
    providers = [sb.Provider(f"p{i}", sb.ArraySource(X[at], y[at])) for i, at in enumerate(parts)]
    found = sb.value(
        providers, sb.LinearUtility(X[1200:], y[1200:]), sampling=sb.Fresh(10),
        solver=sb.Permutation(1), n_games=100, seed=0,
    )  # fmt: skip
    rows = found.error["validation"].to_numpy() ** 2
    share = round(100 * rows.sum() / (found.standard_error**2).sum())
    assert share < 50
    line = f"{100 - share} % from the number of games and the solver, {share} % from the validation"
    assert line in str(found)


def test_one_game_has_no_shares_of_its_error(tmp_path):
    """Folds show the part of the validation rows, but nothing shows the whole error."""
    task = sb.datasets.wine()
    found = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=2, seed=0)
    moments = Estimator(found.design)
    folds = np.random.default_rng(0).normal(size=(1, 10, 10))
    moments.add(Solution(found.games[:1], np.zeros((1, 10)), 0, folds=folds))
    young = replace(found, estimate=moments.estimate())
    assert (young.error["validation"] > 0).all()
    assert "% from the" not in str(young)
    assert "% from the" in str(found)  # a control
    path = tmp_path / "report.html"
    young.report(path)
    assert "Of the squared errors" not in path.read_text("utf-8")
