"""Interactions of pairs of providers: known answers, references, invariances and refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput, RunError
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.pair_tables import average_interactions, table_interactions
from tests.conftest import gaussian_providers, linear_providers, one_record_providers
from tests.interactions import averaged, interactions_of, of_table, upper

CLOSE = {"rtol": 0, "atol": 1e-12}


def run(**changes):
    providers, (X, y) = linear_providers()
    given = {
        "providers": providers,
        "utility": sb.LinearUtility(X, y),
        "sampling": sb.Fresh(12),
        "n_games": 7,
        "seed": 5,
        "interactions": True,
    } | changes
    return sb.value(**given)


def same_bits(one, other):
    np.testing.assert_array_equal(one.interactions.matrix, other.interactions.matrix)
    np.testing.assert_array_equal(one.interactions.interval(), other.interactions.interval())
    np.testing.assert_array_equal(one.interactions.error, other.interactions.error)
    np.testing.assert_array_equal(one.interval(), other.interval())


@pytest.mark.parametrize("n", range(2, 9))
def test_tables_have_the_interactions_of_the_definition(n):
    tables = np.random.default_rng(n).normal(size=(3, 2**n))
    expected = [of_table(table) for table in tables]
    np.testing.assert_allclose(table_interactions(tables), expected, **CLOSE)
    found = sb.value(
        one_record_providers(n), sb.TableUtility(tables[0]), sampling=sb.Fresh(1), n_games=1,
        interactions=True,
    )  # fmt: skip
    np.testing.assert_allclose(upper(found.interactions.matrix), expected[0], **CLOSE)


@pytest.mark.parametrize("n", range(2, 8))
def test_averages_over_who_is_present_are_those_of_the_definition(n):
    rng = np.random.default_rng(n)
    table, rates = rng.normal(size=2**n), rng.random(n)
    rates[0] = 1.0
    if n > 3:
        rates[1] = 0.0
    found = average_interactions(table[None], rates)[0]
    np.testing.assert_allclose(found, averaged(table, rates), **CLOSE)


def mean_of(X, y):
    return float(np.tanh(y.mean()) + 0.1 * len(y))


def utilities():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    y, labels = X @ [1.0, -1.0, 0.5] + rng.normal(size=40), (X[:, 0] > 0).astype(int)
    return [
        sb.LinearUtility(X, y),
        sb.NeighborUtility(X, labels, task="classification", k=3),
        sb.FunctionUtility(mean_of),
    ]


@pytest.mark.parametrize("utility", utilities(), ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_games_of_records_have_the_interactions_of_their_coalitions(utility, n):
    rng = np.random.default_rng(n)
    stocks = []
    for _ in range(n):
        X = rng.normal(size=(6, 3))
        labels = (X[:, 0] > 0).astype(float)
        stocks.append((X, labels if isinstance(utility, sb.NeighborUtility) else X[:, 1]))
    providers = [sb.Provider(f"p{i}", sb.ArraySource(*stock)) for i, stock in enumerate(stocks)]
    found = sb.value(
        providers, utility, sampling=sb.Fresh(6), n_games=2, seed=0, interactions=True,
        solver=sb.Exact(), fixed_validation=True,
    )  # fmt: skip
    alone = {}

    def worth(coalition):
        if coalition not in alone:
            table = [providers[k] for k in sorted(coalition)]
            whole = sb.value(
                table, utility, sampling=sb.Fresh(6), n_games=2, seed=0, solver=sb.Exact(),
                fixed_validation=True,
            ) if table else None  # fmt: skip
            alone[coalition] = utility.empty + (whole.expectation.sum() if whole else 0.0)
        return alone[coalition]

    expected = interactions_of(worth, range(n))
    np.testing.assert_allclose(upper(found.interactions.matrix), expected, rtol=0, atol=1e-11)


def test_additive_games_have_no_interactions():
    providers = gaussian_providers([0.0, 1.0, 1e6, -3.0], [1.0, 2.0, 1.0, 0.5])
    for n_games in (5, 60):
        found = sb.value(
            providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=n_games, seed=0,
            interactions=True,
        )  # fmt: skip
        low, high = upper(found.interactions.interval()).T
        assert (low <= 0).all()
        assert (high >= 0).all()
        assert np.nanmax(np.abs(found.interactions.matrix)) < 1e-9


def test_a_copy_takes_half_of_a_value_and_has_its_negative_as_interaction():
    """In the game where each provider adds its own amount, a copy adds nothing to its original."""
    amounts, n = np.array([3.0, 2.0, 1.0]), 4  # provider 3 is a copy of provider 0
    masks = np.arange(2**n)
    there = masks[:, None] >> np.arange(n) & 1
    table = np.maximum(there[:, 0], there[:, 3]) * 3.0 + there[:, 1:3] @ amounts[1:]
    found = sb.value(
        one_record_providers(n), sb.TableUtility(table), sampling=sb.Fresh(1), n_games=1,
        interactions=True,
    )  # fmt: skip
    np.testing.assert_allclose(found.expectation, [1.5, 2.0, 1.0, 1.5], **CLOSE)
    matrix = found.interactions.matrix
    assert matrix[0, 3] == pytest.approx(-3.0, abs=1e-12)
    matrix[[0, 3], [3, 0]] = 0.0
    np.testing.assert_allclose(upper(matrix), 0.0, **CLOSE)
    strongest = found.interactions.to_frame().iloc[0]
    assert (strongest["one"], strongest["other"]) == ("p0", "p3")


SAMPLINGS = [sb.Fresh(12), sb.Pooled(30, 12), sb.Pooled(36, 12, replace=False)]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", [sb.Exact(), sb.Strata(22)], ids=repr)
def test_chunks_workers_and_json_keep_every_bit(sampling, solver):
    whole = run(sampling=sampling, solver=solver)
    for changes in ({"chunk_size": 1}, {"chunk_size": 4}, {"n_jobs": 2}):
        same_bits(run(sampling=sampling, solver=solver, **changes), whole)
    text = whole.to_json()
    again = sb.Valuation.from_json(text)
    assert again.to_json() == text
    same_bits(again, whole)
    assert str(again.interactions) == str(whole.interactions)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", [sb.Exact(), sb.Strata(22)], ids=repr)
def test_asking_for_interactions_changes_no_bit_of_the_values(sampling, solver):
    one = run(sampling=sampling, solver=solver)
    other = run(sampling=sampling, solver=solver, interactions=False)
    assert other.interactions is None
    plain = replace(one, pair_estimate=None, seconds=0.0, access=other.access)
    assert plain.to_json() == replace(other, seconds=0.0).to_json()
    assert "pair_moments" not in json.loads(other.to_json())


@pytest.mark.parametrize("solver", [sb.Exact(), sb.Strata(22)], ids=repr)
def test_reordering_the_providers_reorders_the_interactions(solver):
    providers, _ = linear_providers()
    order = [3, 0, 4, 1, 2]
    for sampling in SAMPLINGS:
        straight = run(solver=solver, sampling=sampling).interactions
        shuffled = run(
            solver=solver, sampling=sampling, providers=[providers[i] for i in order]
        ).interactions
        cells = np.ix_(order, order)
        np.testing.assert_allclose(shuffled.matrix, straight.matrix[cells], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            shuffled.interval(), straight.interval()[cells], rtol=1e-6, atol=1e-9
        )


LEFT = iter(range(0))  # evaluations before the utility fails


def failing(X, y):
    if next(LEFT, None) is None:
        raise RuntimeError("broken")
    return float(np.tanh(y.mean()))


@pytest.mark.parametrize("participation", [None, sb.Independent(0.8)], ids=["all", "some"])
def test_an_interrupted_run_is_resumed_with_the_same_bits(tmp_path, participation):
    global LEFT
    given = {
        "utility": sb.FunctionUtility(failing),
        "sampling": sb.Pooled(30, 8),
        "n_games": 12,
        "participation": participation,
    }
    LEFT = iter(range(10**9))
    plain = run(**given)
    LEFT = iter(range(200))
    with pytest.raises(EvaluationError):
        run(**given, chunk_size=2, run=tmp_path / "run")
    unfinished = sb.load(tmp_path / "run").valuation
    assert unfinished.interactions.matrix.shape == (5, 5)
    LEFT = iter(range(10**9))
    with pytest.raises(RunError, match="the interactions changed since the run"):
        run(**given, interactions=False, run=tmp_path / "run")
    same_bits(run(**given, chunk_size=5, run=tmp_path / "run"), plain)
    same_bits(sb.load(tmp_path / "run").valuation, plain)
    sb.load(tmp_path / "run").verify()


def test_a_resumed_run_has_the_folds_of_validation_rows(tmp_path):
    first = run(run=tmp_path / "run", n_games=20)
    same_bits(sb.load(tmp_path / "run").valuation, first)
    assert (first.interactions.error["validation"] > 0).all()
    assert (run(fixed_validation=True).interactions.error["validation"] == 0).all()


def test_errors_by_cause_add_up():
    for sampling in SAMPLINGS:
        error = run(sampling=sampling, solver=sb.Strata(22), n_games=40).interactions.error
        parts = error.drop(columns="standard_error").to_numpy()
        np.testing.assert_allclose((parts**2).sum(axis=1), error["standard_error"] ** 2)
        assert (error["solver"] > 0).all()
        assert ((error["pools"] > 0) == (sampling != sb.Fresh(12))).all()


def test_drawn_presence_gives_what_averages_over_presence_give():
    rng = np.random.default_rng(0)
    table, rates = rng.normal(size=16), {"p0": 0.9, "p1": 0.5, "p2": 1.0, "p3": 0.7}
    found = sb.value(
        one_record_providers(4), sb.TableUtility(table), sampling=sb.Fresh(1), n_games=1500,
        seed=0, participation=sb.Independent(rates), interactions=True,
    ).interactions  # fmt: skip
    expected = averaged(table, np.array(list(rates.values())))
    apart = (upper(found.matrix) - expected) / upper(found.standard_error)
    assert np.abs(apart).max() < 4  # six pairs: a false alarm in 4 of 10,000 seeds
    wrong = (upper(found.matrix) - of_table(table)) / upper(found.standard_error)
    assert np.abs(wrong).max() > 10  # everybody present is another question


def test_a_pair_that_never_met_has_no_interval():
    presence = sb.Cohort(1)
    found = run(participation=presence, n_games=60).interactions
    assert (upper(found.matrix) == 0).all()
    assert np.isinf(upper(found.interval())).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interactions": "yes"}, "interactions must be True or False"),
        ({"solver": sb.Permutation(5)}, "interactions: Permutation does not give them: use Exact"),
        ({"solver": sb.BalancedPermutation(10)}, "BalancedPermutation does not give them"),
        ({"solver": sb.Arcs(8)}, "interactions: Arcs does not give them"),
        ({"index": sb.Banzhaf()}, r"received the index Banzhaf\(\): leave"),
        ({"participation": sb.MarkovChain(0.3, 0.9)}, "games with MarkovChain depend on each"),
        ({"providers": linear_providers()[0][:1]}, "a single provider has none"),
        ({"providers": [sb.Group("g", linear_providers()[0])]}, "without groups"),
    ],
)
def test_what_has_no_interactions_is_refused_by_name(changes, message):
    with pytest.raises(InvalidInput, match=message):
        run(**changes)


def test_more_than_500_providers_are_refused():
    with pytest.raises(InvalidInput, match="at most 500 providers are allowed, because 501 have"):
        sb.value(
            one_record_providers(501), sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=2,
            interactions=True,
        )  # fmt: skip


def test_the_library_chooses_a_solver_that_gives_interactions():
    assert run().setup["solver"] == "Exact()"
    providers = gaussian_providers(np.arange(20.0), np.ones(20))
    found = sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=3, seed=0, interactions=True
    )
    assert found.setup["solver"] == "Strata(n_evaluations=800)"


def test_a_solver_of_the_user_must_give_what_it_promises():
    class Promising(sb.Solver):
        gives_interactions = True

        def check(self, n_providers):
            pass

        def floats_per_game(self, n_providers):
            return 2**n_providers

        def solve(self, games):
            return replace(sb.Exact().solve(games), pairs=None)

    with pytest.raises(sb.errors.ConformanceError, match="pairs as a PairSolution"):
        run(solver=Promising())


def test_printed_and_shown_pairs():
    found = run().interactions
    assert str(found).startswith("interactions of 10 pairs from 7 games\n")
    assert repr(found) == "<Interactions of 5 providers, 10 pairs>"
    html = run(providers=[
        sb.Provider("<b>", one.source) if i == 0 else one
        for i, one in enumerate(linear_providers()[0])
    ]).interactions._repr_html_()  # fmt: skip
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    frame = found.to_frame()
    assert (np.diff(frame["interaction"].abs()) <= 0).all()
    assert frame.columns.tolist() == [
        "one", "other", "interaction", "standard_error", "low", "high",
    ]  # fmt: skip


def test_altered_documents_are_refused():
    document = json.loads(run().to_json())
    short = json.loads(json.dumps(document))
    short["pair_moments"]["mean"].pop()
    other_games = json.loads(json.dumps(document))
    other_games["pair_moments"]["n_games"] = 6
    for altered in (short, other_games):
        with pytest.raises(InvalidInput, match=r"Valuation\.from_json"):
            sb.Valuation.from_json(json.dumps(altered))


def test_games_ask_for_interactions():
    games = Games(sb.AdditiveUtility(), [[1.0, 2.0]], ("a", "b"), range(1), Seeds(0))
    assert sb.Exact().solve(games).pairs is None
    assert sb.Exact().solve(replace(games, interactions=True)).pairs.values.shape == (1, 1)
