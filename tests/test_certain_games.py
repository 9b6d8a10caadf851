"""Games that are equal by design: one is enough, and their values have no error."""

from dataclasses import dataclass

import numpy as np
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.errors import InvalidInput
from tests.conftest import linear_providers, one_record_providers

TABLE = sb.TableUtility([0.0, 1.0, 2.0, 5.0])


def whole_stocks(n_games, utility=None, **arguments):
    providers, validation = linear_providers(n=3, records=20)
    made = sb.LinearUtility(*validation) if utility is None else utility(*validation)
    given = {"sampling": sb.Fresh(20), "seed": 0, "fixed_validation": True}
    arguments = {**given, **arguments}
    return sb.value(providers, made, n_games=n_games, **arguments)


def table(n_games=1, utility=TABLE, **arguments):
    providers = one_record_providers(utility.n)
    arguments = {"sampling": sb.Fresh(1), "seed": 0, **arguments}
    return sb.value(providers, utility, n_games=n_games, **arguments)


def widths(valuation):
    return np.diff(valuation.interval(0.95), axis=1)[:, 0]


@pytest.mark.parametrize("n_games", [1, 2, 5])
@pytest.mark.parametrize("play", [whole_stocks, table])
def test_games_that_cannot_differ_are_exact(play, n_games):
    valuation = play(n_games)
    assert (widths(valuation) <= 1e-12).all()
    assert (valuation.standard_error <= 1e-12).all()
    assert (valuation.variance <= 1e-24).all()
    assert (valuation.variance_interval(0.95) <= 1e-24).all()
    assert "unbounded" not in str(valuation)
    assert "skewed" not in str(valuation)
    assert "games:   all are equal, because " in str(valuation)
    assert valuation.expectation == pytest.approx(play(40).expectation, rel=1e-13)


def test_one_game_of_whole_stocks_has_the_values_of_all_records():
    providers, validation = linear_providers(n=3, records=20)
    utility = sb.LinearUtility(*validation)
    whole = [utility.summarise(provider.source.records) for provider in providers]
    values = np.concatenate([[0.0], utility.evaluate(whole, range(1, 8))])
    expected = table(utility=sb.TableUtility(values)).expectation
    assert whole_stocks(1).expectation == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        {"sampling": sb.Fresh(19)},
        {"sampling": sb.Fresh({"site 0": 20, "site 1": 20, "site 2": 19})},
        {"sampling": sb.Pooled(20, 20)},
        {"solver": sb.Permutation(2)},
        {"participation": sb.Independent(0.5)},
        {"utility": lambda X, y: sb.FunctionUtility(lambda X, y: float(y[0]))},  # by order
    ],
)
def test_one_game_is_too_few_if_anything_is_random(arguments):
    with pytest.raises(InvalidInput, match="n_games must be a whole number of at least 2"):
        whole_stocks(1, **arguments)


def test_one_game_is_too_few_for_sources_that_repeat_records_or_make_them():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    again = sb.ArraySource(X, y, replace=True)
    made = sb.FunctionSource(lambda size, rng: (rng.normal(size=(size, 1)), rng.normal(size=size)))
    for source in (again, made):
        with pytest.raises(InvalidInput, match="at least 2"):
            sb.value(
                [sb.Provider("p", source)], sb.AdditiveUtility(), sampling=sb.Fresh(6), n_games=1
            )


def test_equal_values_of_random_games_are_still_not_trusted():
    """The same values as those of a table, in two games of a utility that could have varied."""
    utility = sb.FunctionUtility(lambda X, y: 1.0)
    providers, _ = linear_providers(n=2, records=20)
    valuation = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=2, seed=0)
    assert valuation.estimate.shape.maybe_constant(0.95).all()
    assert np.isinf(widths(valuation)).all()


def test_the_noise_of_a_solver_counts_where_games_cannot_differ():
    valuation = table(20, solver=sb.Permutation(2))
    assert (widths(valuation) > 0.01).all()
    assert not valuation.estimate.is_certain


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0, 0.0], [0, -1, -2, -1.5], [0, 1, -1, 0]])
def test_one_certain_game_of_any_values_prints_and_pays(values, tmp_path):
    valuation = table(utility=sb.TableUtility(values))
    assert sb.Valuation.from_json(valuation.to_json()).estimate.is_certain
    shares = [line.split()[3] for line in str(valuation).splitlines()[4:6]]
    assert shares == ["–", "–"]
    assert valuation.ranks().rank.tolist() == [
        1 + sum(other > own for other in valuation.expectation) for own in valuation.expectation
    ]
    assert np.isfinite(valuation.to_frame()[["low", "high", "standard_error"]]).all(axis=None)
    valuation.report(tmp_path / "report.html")


def test_amounts_of_one_certain_game_have_no_error():
    paid = sb.payouts(table(), 100)
    assert [float(amount) for amount in paid.to_frame()["amount"]] == [40.0, 60.0]
    assert paid.to_frame()["standard_error"].max() < 1e-9


def test_groups_of_providers_are_certain_in_one_game():
    first, second = one_record_providers(2)
    valuation = sb.value(
        [sb.Group("both", [first, second])], TABLE, sampling=sb.Fresh(1), n_games=1, seed=0
    )
    assert valuation.groups.interval(0.95) == pytest.approx(np.full((1, 2), 5.0), rel=1e-13)
    assert valuation.groups.standard_error.tolist() == [0.0]


def test_a_run_of_one_certain_game_can_be_read(tmp_path):
    one = table(run=tmp_path / "run")
    again = sb.load(tmp_path / "run").valuation
    assert str(again) == str(one)
    assert again.estimate.is_certain


def test_certain_games_with_other_values_differ_beyond_chance():
    other = sb.TableUtility([0.0, 1.0, 2.0, 4.0])
    assert sb.compare(table(), table(utility=other)).beyond_chance.all()
    assert not sb.compare(table(), table()).beyond_chance.any()


@dataclass(frozen=True)
class _Own(sb.Solver):
    """A solver that may draw what it likes."""

    def check(self, n_providers):
        pass

    def floats_per_game(self, n_providers):
        return 4

    def solve(self, games):
        drawn = np.ones((len(games.indices), games.n_providers))
        return sb.Solution(drawn, np.zeros_like(drawn), len(drawn))


def test_a_solver_of_ones_own_is_not_taken_to_be_exact():
    with pytest.raises(InvalidInput, match="at least 2"):
        table(solver=_Own())


@pytest.mark.parametrize(("n_sample", "status"), [(3, 0), (2, 1)])
def test_a_configuration_file_may_ask_for_one_game_of_whole_stocks_only(tmp_path, n_sample, status):
    (tmp_path / "stocks.csv").write_text("x,y,site\n0,1,a\n1,2,a\n3,3,a\n0,2,b\n1,4,b\n5,5,b\n")
    (tmp_path / "rows.csv").write_text("x,y\n0,1\n2,3\n4,4\n")
    (tmp_path / "run.toml").write_text(
        f"""
        n_games = 1
        sampling = {{ kind = "fresh", n_sample = {n_sample} }}
        [[providers]]
        source = {{ kind = "csv", path = "stocks.csv", by = "site", target = "y" }}
        [utility]
        kind = "linear"
        validation = {{ kind = "csv", path = "rows.csv", target = "y" }}
        """,
        encoding="utf-8",
    )
    run = str(tmp_path / "run")
    result = CliRunner().invoke(app, ["run", str(tmp_path / "run.toml"), "--out", run])
    assert result.exit_code == status, result.output
    if status:
        assert "n_games must be a whole number of at least 2" in result.stderr
        return
    statement = ["payouts", run, "--amount", "10", "--statement", "a"]
    assert "method:         1 game, seed" in CliRunner().invoke(app, statement).stdout
