"""Extended runs: the bits of a run that asked for everything from the start, and nothing twice."""

import json
import sqlite3
from collections import Counter

import numpy as np
import pytest

import shapband as sb
from shapband.errors import BudgetExceeded, RunDamaged, RunError, SourceError, VersionsChanged
from shapband.records.batch import Batch
from shapband.runs.store import RunStore
from shapband.sources.base import FiniteSource
from tests.conftest import linear_providers
from tests.runs.test_old_runs import arguments, old_run  # noqa: F401  a fixture


class Distant(FiniteSource):
    """Records behind a network that counts requests, and fails once when told to."""

    waits = True
    version = "1"

    def __init__(self, seed=0, fail_at=None, replace=False):
        rng = np.random.default_rng(seed)
        self._X = rng.normal(size=(40, 3)) + 1
        self._replace = replace
        self.fail_at = fail_at
        self.requests = 0

    @property
    def size(self):
        return len(self._X)

    @property
    def replace(self):
        return self._replace

    @property
    def schema(self):
        return None

    def take(self, rows):
        self.requests += 1
        if self.requests == self.fail_at:
            raise OSError("the line is dead")  # a ConnectionError would be repeated
        return Batch(self._X[rows], self._X[rows].sum(axis=1))


def given(**changes):
    providers, (X, y) = linear_providers()
    settings = {
        "providers": [*providers, sb.Provider("far", Distant())],
        "utility": sb.LinearUtility(X, y),
        "sampling": sb.Fresh(8),
        "n_games": 20,
        "seed": 4,
    }
    return {**settings, **changes}


def bits(valuation):
    """Everything in a valuation but the time it took and the number of requests."""
    document = json.loads(valuation.to_json())
    for used in document["access"]["by_provider"].values():
        del used["seconds"], used["requests"]
    del document["seconds"]
    return document


def bought_twice(run):
    """The requests that were answered more than once."""
    with RunStore.open(run) as store:
        answered = Counter(
            (name, entry.purpose, game)
            for entry in store.ledger.entries()
            if entry.outcome in ("received", "taken")
            for name in entry.providers
            for game in range(entry.first_game, entry.first_game + entry.requests)
        )
    return [address for address, count in answered.items() if count > 1]


def check_extended(run, settings, before, after):
    """Play with some arguments, extend to others, and compare with a direct run."""
    sb.value(**{**settings, **before}, run=run)
    found = sb.value(**{**settings, **after}, run=run)
    assert bits(found) == bits(sb.value(**{**settings, **after}))
    assert bits(sb.load(run).valuation) == bits(found)
    sb.load(run).verify()
    assert bought_twice(run) == []
    return found


def many():
    """So many providers that the first 8 games decide on a solver."""
    providers, (X, y) = linear_providers(n=14)
    return {"providers": providers, "utility": sb.LinearUtility(X, y)}


def in_groups():
    providers, _ = linear_providers()
    return {"providers": [sb.Group("two", providers[:2]), *providers[2:]]}


def ridge():
    from sklearn.linear_model import Ridge

    providers, (X, y) = linear_providers(n=2)
    return {"providers": providers, "utility": sb.EstimatorUtility(Ridge(), X, y)}


CASES = {
    "fresh": {},
    "pooled": {"sampling": sb.Pooled(20, 6)},
    "dealt": {"sampling": sb.Pooled(20, 6, replace=False)},
    "stratified": {"sampling": sb.Stratified(20, 6, 0.5)},
    "interactions": {"interactions": True},
    "interactions from pools": {"interactions": True, "sampling": sb.Pooled(20, 6)},
    "interactions of many": {**many(), "interactions": True},
    "participation": {"participation": sb.Independent(0.7)},
    "chain": {"participation": sb.MarkovChain(0.7, 0.3)},
    "averaged": {"participation": sb.Independent(0.7), "sampling": sb.Pooled(20, 6)},
    "groups": in_groups(),
    "permutations": {"solver": sb.Permutation(5)},
    "trial": many(),
    "trial from pools": {**many(), "sampling": sb.Pooled(20, 6, replace=False)},
    "kept": {"keep_games": 7},
    "model": ridge(),
    "chunks": {"chunk_size": 3},
    "fixed rows": {"fixed_validation": True},
}


@pytest.mark.parametrize("case", CASES)
def test_more_games_give_the_bits_of_a_direct_run(tmp_path, case):
    # The first 8 games choose a solver, and the first 12 are solved again without folds of rows.
    check_extended(tmp_path / "run", given(**CASES[case]), {"n_games": 5}, {"n_games": 20})


def test_a_trial_without_further_games_decides_nothing_when_it_is_resumed(tmp_path):
    run, settings = tmp_path / "run", given(**many())

    def interrupt(so_far):
        if so_far.done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sb.value(**{**settings, "n_games": 8}, run=run, callback=interrupt)
    for n_games in (8, 9):
        found = sb.value(**{**settings, "n_games": n_games}, run=run)
        assert bits(found) == bits(sb.value(**{**settings, "n_games": n_games}))


def test_a_run_is_extended_again_and_again(tmp_path):
    for n_games in (2, 9, 12, 13, 40, 75):
        found = sb.value(**given(n_games=n_games), run=tmp_path / "run")
        assert bits(found) == bits(sb.value(**given(n_games=n_games)))
    status = sb.load(tmp_path / "run").status
    assert [one.done for one in status.extensions] == [2, 9, 12, 13, 40]
    assert str(status.extensions[-1]) == "n_games from 40 to 75, after 40 games"
    assert (status.done, status.n_games, status.state) == (75, 75, "finished")
    earlier = sb.load(tmp_path / "run").earlier_results
    assert [one.n_games for one in earlier] == [2, 9, 12, 13, 40]
    assert bought_twice(tmp_path / "run") == []


POOLS = {
    "pooled": {"sampling": (sb.Pooled(16, 6), sb.Pooled(30, 6))},
    "dealt": {"sampling": (sb.Pooled(16, 6, replace=False), sb.Pooled(30, 6, replace=False))},
    "beyond the stock": {"sampling": (sb.Pooled(30, 6), sb.Pooled(90, 6))},
    "fractions": {"sampling": (sb.Pooled(0.4, 0.1), sb.Pooled(0.8, 0.1))},
    "trial": {**many(), "sampling": (sb.Pooled(16, 6), sb.Pooled(30, 6))},
    "interactions": {"interactions": True, "sampling": (sb.Pooled(16, 6), sb.Pooled(30, 6))},
    "with replacement": {
        "providers": [
            sb.Provider("far", Distant(replace=True)),
            sb.Provider("near", sb.ArraySource(*linear_providers()[1], replace=True)),
        ],
        "sampling": (sb.Pooled(16, 6), sb.Pooled(60, 6)),
    },
}


@pytest.mark.filterwarnings("ignore::shapband.errors.RepeatedRecords")
@pytest.mark.filterwarnings("ignore::shapband.errors.HeldRows")
@pytest.mark.parametrize("case", POOLS)
def test_larger_pools_give_the_bits_of_a_direct_run(tmp_path, case):
    before, after = POOLS[case]["sampling"]
    settings = given(**{**POOLS[case], "sampling": None})
    run = tmp_path / "run"
    check_extended(run, settings, {"sampling": before}, {"sampling": after})
    (extension,) = sb.load(run).status.extensions
    assert extension.replays
    assert str(extension) == (
        f"sampling from {before!r} to {after!r}, after 20 games, which are played again"
    )


def test_pools_and_games_grow_together_and_again(tmp_path):
    run = tmp_path / "run"
    for n_pool, n_games in ((12, 10), (20, 14), (20, 30), (33, 30)):
        settings = given(sampling=sb.Pooled(n_pool, 6, replace=False), n_games=n_games)
        found = sb.value(**settings, run=run)
        assert bits(found) == bits(sb.value(**settings))
        sb.load(run).verify()
    assert bought_twice(run) == []
    assert [one.replays for one in sb.load(run).status.extensions] == [True, False, True]
    requests = sb.load(run).ledger.query("outcome == 'received'")
    assert requests.records.tolist() == [12, 8, 13]


def test_a_larger_pool_of_a_source_that_draws_for_itself_says_so(tmp_path):
    providers = [
        sb.Provider("near", linear_providers()[0][0].source),
        sb.Provider("endless", sb.FunctionSource(lambda size, rng: _drawn(size, rng))),
    ]
    settings = given(providers=providers, sampling=sb.Pooled(16, 6))
    assert "pools_bought" not in sb.value(**settings, run=tmp_path / "run").setup
    settings["sampling"] = sb.Pooled(30, 6)
    found = sb.value(**settings, run=tmp_path / "run")
    assert found.setup["pools_bought"].startswith("the pool of 'endless' was bought in several")
    assert "pools:   the pool of 'endless'" in str(found)
    assert found.access.by_provider["endless"].records == 30
    direct = sb.value(**settings)
    assert found.games.tobytes() != direct.games.tobytes()
    found.report(tmp_path / "page.html")
    assert "bought in several requests" in (tmp_path / "page.html").read_text()


def _drawn(size, rng):
    X = rng.normal(size=(size, 3))
    return X, X.sum(axis=1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sb.Precision(absolute=0.2), sb.Precision(absolute=0.02)),
        (sb.Precision(absolute=0.2), None),
    ],
)
def test_another_stopping_rule_gives_the_bits_of_a_direct_run(tmp_path, before, after):
    settings = given(n_games=150)
    found = check_extended(tmp_path / "run", settings, {"stop": before}, {"stop": after})
    first = sb.load(tmp_path / "run").earlier_results[0]
    assert first.n_games != found.n_games  # otherwise nothing was tested


def test_a_rule_that_is_met_earlier_gives_the_bits_of_its_games(tmp_path):
    run, rule = tmp_path / "run", {"stop": sb.Precision(absolute=0.2)}
    sb.value(**given(n_games=100), run=run)
    found = sb.value(**given(n_games=100), **rule, run=run)
    direct = sb.value(**given(n_games=100), **rule)
    assert found.n_games == direct.n_games < 100
    # What was bought and evaluated before the extension is counted.
    assert found.access.records > direct.access.records
    assert found.evaluations >= direct.evaluations
    for part in ("design", "moments", "games", "stopped"):
        assert bits(found)[part] == bits(direct)[part]
    assert sb.load(run).status.done == 100
    sb.load(run).verify()


def test_a_larger_budget_plays_the_games_that_the_smaller_one_did_not_pay_for(tmp_path):
    run, settings = tmp_path / "run", given()
    found = check_extended(
        run, settings, {"budget": sb.Budget(records=400)}, {"budget": sb.Budget(records=700)}
    )
    (first,) = sb.load(run).earlier_results
    assert (first.n_games, first.stopped_code) == (8, "budget")
    assert (found.n_games, found.stopped_code) == (14, "budget")


@pytest.mark.parametrize(
    ("sampling", "fail_at"),
    [(sb.Fresh(8), 1), (sb.Fresh(8), 8), (sb.Pooled(20, 6, replace=False), 1)],
)
def test_an_unfinished_run_is_extended(tmp_path, sampling, fail_at):
    source = Distant(fail_at=fail_at)
    providers = [*linear_providers()[0], sb.Provider("far", source)]
    settings = given(providers=providers, sampling=sampling, chunk_size=2)
    with pytest.raises(SourceError, match="the line is dead"):
        sb.value(**settings, run=tmp_path / "run")
    found = sb.value(**{**settings, "n_games": 33}, run=tmp_path / "run")
    assert bits(found) == bits(sb.value(**given(sampling=sampling, n_games=33)))
    sb.load(tmp_path / "run").verify()
    assert bought_twice(tmp_path / "run") == []
    assert sb.load(tmp_path / "run").earlier_results == []


@pytest.mark.parametrize(
    "after",
    [
        {"n_games": 31},
        {"n_games": 20, "sampling": sb.Pooled(30, 6)},
        {"n_games": 31, "sampling": sb.Pooled(30, 6)},
    ],
)
def test_an_interrupted_extension_is_resumed(tmp_path, after):
    run = tmp_path / "run"
    settings = given(sampling=sb.Pooled(16, 6), chunk_size=2)
    first = sb.value(**settings, run=run)

    def interrupt(so_far):
        if so_far.done >= after["n_games"] - 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sb.value(**{**settings, **after}, run=run, callback=interrupt)
    status = sb.load(run).status
    assert status.state == "interrupted"
    assert status.valuation is not None
    assert bits(sb.load(run).earlier_results[0])["moments"] == bits(first)["moments"]
    sb.load(run).verify()
    found = sb.value(**{**settings, **after}, run=run)
    assert bits(found) == bits(sb.value(**{**settings, **after}))
    assert bought_twice(run) == []
    assert len(sb.load(run).status.extensions) == 1


REFUSED = {
    "fewer games": ({"n_games": 19}, RunError, "has played 20 games, more than the 19 asked for"),
    "smaller pools": ({"sampling": sb.Pooled(15, 6)}, RunError, "n_pool: .* a pool of 16 records"),
    "other draws": ({"sampling": sb.Pooled(16, 7)}, RunError, "the sampling changed"),
    "another way": (
        {"sampling": sb.Pooled(30, 6, replace=False)},
        RunError,
        "the sampling changed",
    ),
    "another sampling": ({"sampling": sb.Fresh(6)}, RunError, "the sampling changed"),
    "budget": (
        {"budget": sb.Budget(records=95)},
        BudgetExceeded,
        "has used 96 records in 6 requests, but the budget is 95 records",
    ),
    "pools above the budget": (
        {"sampling": sb.Pooled(30, 6), "budget": sb.Budget(records=150)},
        BudgetExceeded,
        "has used 96 records in 6 requests, and the larger pools take 84 more",
    ),
    "kept games": ({"keep_games": 3, "n_games": 40}, RunError, "the keep_games changed"),
    "seed": ({"seed": 5, "n_games": 40}, RunError, "the seed of the run"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_extend_a_run_is_refused_and_leaves_it_untouched(tmp_path, case):
    change, error, said = REFUSED[case]
    settings = given(sampling=sb.Pooled(16, 6))
    run = tmp_path / "run"
    first = sb.value(**settings, run=run)
    digest = sb.load(run).status.digest
    with pytest.raises(error, match=said):
        sb.value(**{**settings, **change}, run=run)
    assert sb.load(run).status.digest == digest
    assert bits(sb.value(**settings, run=run)) == bits(first)


def test_stratified_pools_cannot_grow(tmp_path):
    sb.value(**given(sampling=sb.Stratified(16, 6, 0.5)), run=tmp_path / "run")
    with pytest.raises(RunError, match="Stratified takes the sizes of its draws from the pools"):
        sb.value(**given(sampling=sb.Stratified(30, 6, 0.5)), run=tmp_path / "run")
    assert sb.load(tmp_path / "run").status.extensions == ()


def test_changed_data_cannot_extend_a_run(tmp_path):
    sb.value(**given(), run=tmp_path / "run")
    source = Distant()
    source.version = "2"
    providers = [*linear_providers()[0], sb.Provider("far", source)]
    with pytest.raises(RunError, match="the data of provider 'far' changed"):
        sb.value(**given(providers=providers, n_games=40), run=tmp_path / "run")


def test_an_altered_extension_is_damage(tmp_path):
    run = tmp_path / "run"
    for n_games in (5, 9):
        sb.value(**given(n_games=n_games), run=run)
    with sqlite3.connect(run / "run.db") as database:
        (text,) = database.execute("SELECT json FROM notes WHERE key = 'extensions'").fetchone()
        forged = text.replace('"done":5', '"done":6')
        assert forged != text
        database.execute("UPDATE notes SET json = ? WHERE key = 'extensions'", (forged,))
    database.close()
    with pytest.raises(RunDamaged, match=r"the notes of the run .* were altered"):
        sb.load(run).verify()
    with sqlite3.connect(run / "run.db") as database:
        database.execute("UPDATE notes SET json = '[{}, 3]' WHERE key = 'extensions'")
    database.close()
    with pytest.raises(RunDamaged, match="the note of the extensions"):
        sb.load(run)


def test_replayed_games_are_still_verified(tmp_path):
    run = tmp_path / "run"
    for n_pool in (16, 30):
        sb.value(**given(sampling=sb.Pooled(n_pool, 6)), run=run)
    with sqlite3.connect(run / "run.db") as database:
        database.execute("UPDATE games SET failures = failures + 1")
    database.close()
    with pytest.raises(RunDamaged, match=r"the values of games 0 to .* were altered"):
        sb.load(run).verify()


def test_a_finished_run_of_an_older_version_is_extended(arguments, tmp_path):  # noqa: F811
    run = old_run(tmp_path, "ridge-finished")
    settings = {**arguments["ridge"], "n_games": 11}
    with pytest.warns(VersionsChanged, match="shapband from 0.1.0 to"):
        found = sb.value(**settings, run=run)
    direct = sb.value(**settings)
    assert found.n_games == 11
    np.testing.assert_allclose(found.games, direct.games, rtol=1e-12, atol=0)
    assert found.games[8:].tobytes() == direct.games[8:].tobytes()
    sb.load(run).verify()


def test_a_finished_run_of_an_older_version_whose_bits_changed_is_not(arguments, tmp_path):  # noqa: F811
    run = old_run(tmp_path, "linear-finished")
    with pytest.raises(RunError, match="old and new games must not be mixed"):
        sb.value(**{**arguments["linear"], "n_games": 11}, run=run)
    assert sb.load(run).valuation.n_games == 8
