"""What one more draw adds: definition, invariances, cost, refusals, table and page."""

import json
from decimal import Decimal

import numpy as np
import pytest
from tests.app.cli.test_cli import called, refused
from tests.conftest import linear_providers
from tests.report.reading import Page

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.records.draws import OtherRows, RandomRows, Stream
from shapband.report.page import page_of
from shapband.sampling.further import TwoDraws
from shapband.seeds import Seeds

SAMPLINGS = [
    sb.Fresh(7), sb.Pooled(30, 7), sb.Pooled(30, 7, replace=False),
    sb.Stratified(30, 7, 0.5),
]  # fmt: skip


class Silent(sb.FiniteSource):
    """A source that must not be asked."""

    size = 50

    def take(self, indices):
        raise AssertionError("a source was asked")


def a_task(n=4, records=50):
    providers, (X, y) = linear_providers(n=n, records=records)
    return providers, sb.LinearUtility(X, y)


def fitted(X, y, X_val, y_val):
    """R² of least squares with intercept, in plain NumPy."""
    wide = np.column_stack([np.ones(len(X)), X])
    weights = np.linalg.lstsq(wide, y, rcond=None)[0]
    left = y_val - np.column_stack([np.ones(len(X_val)), X_val]) @ weights
    return 1 - (left**2).mean() / y_val.var()


@pytest.mark.parametrize("size", [1, 6, 7])
def test_other_rows_are_never_rows_that_were_taken(size):
    games = range(5, 3005)
    taken = RandomRows(Stream(Seeds(1), "draw", "a", games), 5, 12, replace=False)
    other = OtherRows(Stream(Seeds(1), "further", "a", games), size, 12, taken)
    rows = other.rows()
    for one, two in zip(rows, taken.rows(), strict=True):
        assert len({*one, *two}) == size + 5
    counts = np.bincount(rows.ravel(), minlength=12)
    expected = len(games) * size / 12
    assert len(counts) == 12
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    assert (other.part(slice(3, 9)).rows() == rows[3:9]).all()


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_gains_are_differences_of_fits_to_the_rows_of_both_draws(sampling):
    providers, (X_val, y_val) = linear_providers(n=3, records=50)
    utility = sb.LinearUtility(X_val, y_val, score="r2")
    arguments = {"sampling": sampling, "n_games": 5, "seed": 2}
    found = sb.next_batch(providers, utility, **arguments)
    realisation = sampling.prepare(sb.Access(providers, Seeds(2), sb.Budget()))
    draws, further = realisation.draws(range(5)), realisation.further(range(5))
    gains, now = np.empty((5, 3)), np.empty(5)
    for g in range(5):
        main = [drawn.batches()[g] for drawn in draws]
        X, y = np.concatenate([b.X for b in main]), np.concatenate([b.y for b in main])
        now[g] = fitted(X, y, X_val, y_val)
        for i, drawn in enumerate(further):
            more = drawn.batches()[g]
            assert len(more) == found.draw_sizes[i]
            both = np.concatenate([X, more.X]), np.concatenate([y, more.y])
            gains[g, i] = fitted(*both, X_val, y_val) - now[g]
            if sampling not in (SAMPLINGS[1], SAMPLINGS[3]):  # these draw with replacement
                assert not {*map(tuple, more.X)} & {*map(tuple, main[i].X)}
    assert found.gain == pytest.approx(gains.mean(axis=0), abs=1e-12)
    assert found.now == pytest.approx(now.mean(), abs=1e-12)
    assert found.evaluations == 5 * 4
    valuation = sb.value(providers, utility, solver=sb.Exact(), **arguments)
    assert found.now == pytest.approx(valuation.expectation.sum() + utility.empty, abs=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_chunks_order_and_workers_do_not_matter(sampling):
    providers, utility = a_task()
    arguments = {"sampling": sampling, "n_games": 40, "seed": 4}
    one = sb.next_batch(providers, utility, **arguments)
    for chunk_size, n_jobs in ((1, 1), (7, 2)):
        two = sb.next_batch(providers, utility, **arguments, chunk_size=chunk_size, n_jobs=n_jobs)
        assert (one.gain == two.gain).all()
        assert (one.interval() == two.interval()).all()
        assert one.now == two.now
    back = sb.next_batch(providers[::-1], utility, **arguments)
    assert back.gain[::-1] == pytest.approx(one.gain, abs=1e-12)
    assert back.standard_error[::-1] == pytest.approx(one.standard_error, rel=1e-6)


def test_models_that_are_fitted_anew_give_the_same_gains():
    from sklearn.linear_model import LinearRegression

    providers, (X, y) = linear_providers(n=3, records=50)
    arguments = {"sampling": sb.Pooled(30, 7, replace=False), "n_games": 20, "seed": 0}
    plain = sb.next_batch(providers, sb.LinearUtility(X, y, score="r2"), **arguments)
    fits = sb.next_batch(providers, sb.EstimatorUtility(LinearRegression(), X, y), **arguments)
    assert fits.gain == pytest.approx(plain.gain, abs=1e-10)
    assert fits.standard_error == pytest.approx(plain.standard_error, rel=1e-6)


def test_an_additive_utility_gains_the_mean_of_the_further_draw():
    providers, _ = a_task()
    found = sb.next_batch(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(10), n_games=400, seed=0
    )
    truth = np.array([provider.source.records.y.mean() for provider in providers])
    assert (np.abs(found.gain - truth) < 4 * found.standard_error).all()


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_the_bill_counts_the_further_draws(sampling):
    providers, utility = a_task()
    arguments = {"sampling": sampling, "n_games": 6, "seed": 0}
    bill = sb.bill(providers, utility, **arguments, next_batch=True)
    found = sb.next_batch(providers, utility, **arguments)
    used = [found.access.by_provider[name] for name in found.names]
    assert bill.records.tolist() == [one.records for one in used]
    assert bill.requests.tolist() == [one.requests for one in used]
    assert bill.evaluations == found.evaluations == 6 * 5
    if isinstance(sampling, sb.Fresh):
        plain = sb.bill(providers, utility, **arguments)
        assert (bill.records == 2 * plain.records).all()
        assert (bill.requests == 2 * plain.requests).all()


def test_the_budget_covers_the_further_draws():
    providers, utility = a_task(n=2)
    arguments = {"sampling": sb.Fresh(10), "n_games": 50, "seed": 0}
    found = sb.next_batch(providers, utility, **arguments, budget=sb.Budget(records=299))
    assert found.n_games == 7
    assert found.access.records == 280
    assert "7 games, as many as the budget pays for" in str(found)
    with pytest.raises(BudgetExceeded, match="pays for 1 of the games, which take 40 records"):
        sb.next_batch(providers, utility, **arguments, budget=sb.Budget(records=79))


def test_prices_give_the_gain_per_unit_of_money():
    providers, utility = a_task(n=2)
    sizes = {provider.name: size for provider, size in zip(providers, (5, 20), strict=True)}
    found = sb.next_batch(
        providers, utility, sampling=sb.Fresh(sizes), n_games=20, seed=0,
        prices=sb.Prices(record="0.10", request=1),
    )  # fmt: skip
    assert found.price == (Decimal("1.50"), Decimal("3.00"))
    assert found.gain_per_price == pytest.approx(found.gain / [1.5, 3.0])
    frame = found.to_frame()
    assert frame["gain_per_price"].tolist() == found.gain_per_price.tolist()
    assert (frame["low"] < frame["gain"]).all()
    header, rows = found.table()
    assert header[-3:] == ("price", "gain per price", "± 95 %")
    best = found.names[int(np.argmax(found.gain_per_price))]
    assert rows[0][0] == best
    free = sb.next_batch(
        providers, utility, sampling=sb.Fresh(5), n_games=20, seed=0, prices=sb.Prices()
    )
    assert np.isnan(free.gain_per_price).all()
    assert "not known" in str(free)
    plain = sb.next_batch(providers, utility, sampling=sb.Fresh(5), n_games=20, seed=0)
    assert plain.price is None
    assert plain.gain_per_price is None
    assert "price" not in str(plain)
    assert "<table>" in plain._repr_html_()


def test_distant_sources_give_the_same_gains_as_memory():
    providers, utility = a_task()
    distant = [
        sb.Provider(one.name, sb.with_delay(one.source, seconds=0.0005)) for one in providers
    ]
    for sampling in (sb.Fresh(7), sb.Pooled(30, 7, replace=False)):
        arguments = {"sampling": sampling, "n_games": 12, "seed": 1}
        near = sb.next_batch(providers, utility, **arguments)
        far = sb.next_batch(distant, utility, **arguments)
        assert (far.gain == near.gain).all()
        assert (far.standard_error == near.standard_error).all()
        assert far.access.records == near.access.records


def test_sources_that_generate_records_are_asked_twice():
    def draw(n, rng):
        X = rng.normal(size=(n, 2))
        return X, X @ [1.0, 2.0] + rng.normal(size=n)

    providers = [sb.Provider(name, sb.FunctionSource(draw)) for name in "ab"]
    rng = np.random.default_rng(0)
    utility = sb.LinearUtility(*draw(200, rng))
    found = sb.next_batch(providers, utility, sampling=sb.Fresh(5), n_games=200, seed=0)
    assert found.access.requests == 800
    assert (found.interval()[:, 0] > 0).all()


def test_a_gain_that_never_changes_is_not_called_certain_too_soon():
    providers, _ = a_task(n=2)
    constant = sb.FunctionUtility(lambda X, y: 1.0)
    found = sb.next_batch(providers, constant, sampling=sb.Fresh(5), n_games=5, seed=0)
    assert (found.gain == 0).all()
    assert "unbounded: a gain was the same in all games" in str(found)


def test_one_provider_and_two_games():
    providers, utility = a_task(n=1)
    found = sb.next_batch(providers, utility, sampling=sb.Fresh(7), n_games=2, seed=0)
    assert found.gain.shape == (1,)
    assert repr(found) == "<NextBatch: 1 provider, 2 games>"


def test_errors_say_whether_they_cover_the_validation_rows():
    providers, utility = a_task()
    arguments = {"sampling": sb.Fresh(7), "n_games": 30, "seed": 0}
    rows = sb.next_batch(providers, utility, **arguments)
    fixed = sb.next_batch(providers, utility, **arguments, fixed_validation=True)
    assert (rows.standard_error > fixed.standard_error).all()
    assert "from the validation rows" in str(rows)
    assert "do not cover the choice of rows (fixed_validation=True)" in str(fixed)


def test_a_pool_of_a_whole_stock_adds_no_error():
    providers, utility = a_task(records=30)
    found = sb.next_batch(
        providers, utility, sampling=sb.Pooled(40, 10, replace=False), n_games=60, seed=0
    )
    assert (found.estimate.errors.by_cause["pools"] == 0).all()
    tight = sb.next_batch(
        providers, utility, sampling=sb.Pooled(40, 15, replace=False), n_games=60, seed=0
    )
    assert np.isfinite(tight.interval()).all()


def test_errors_of_pools_use_the_rows_of_both_draws():
    providers, _ = a_task()
    for sampling in (SAMPLINGS[1], SAMPLINGS[2]):
        first = sampling.prepare(sb.Access(providers, Seeds(3), sb.Budget()))
        both = TwoDraws.after(first.design)
        draws, further = first.draws(range(4)), first.further(range(4))
        for one, two, joined in zip(draws, further, both.choices(range(4)), strict=True):
            assert (joined.rows() == np.concatenate([one.rows, two.rows], axis=1)).all()
        assert (both.draw_sizes == 14).all()
        assert both.repeats == first.design.repeats


class Strange(sb.Sampling):
    """A sampling of a user that has no further draws."""

    def check(self, providers):
        """Accept all."""

    def prepare(self, access):
        return sb.Fresh(5).prepare(access)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"utility": sb.TableUtility(np.arange(4.0))}, "TableUtility does not depend on the rec"),
        ({"utility": sb.AdditiveUtility([1.0, 2.0])}, "AdditiveUtility treats providers by their"),
        ({"sampling": Strange()}, "Strange has no further draws: use Fresh"),
        ({"sampling": sb.Fresh(26)}, "has 50 records, fewer than 2 draws of n_sample=26"),
        ({"sampling": sb.Pooled(40, 11, replace=False)}, "raise n_pool to 44, or lower n_boot"),
        ({"sampling": sb.Pooled(49, 20, replace=False)}, "raise n_pool to 50, or lower n_boot"),
        ({"prices": 3}, "prices must be Prices"),
        ({"n_games": 1}, "a variance needs two games"),
        ({"workers": 3}, "received 3: use n_jobs=3 for workers on this machine"),
        ({"fixed_validation": 1}, "fixed_validation must be True or False"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
    ids=lambda part: part if isinstance(part, str) else next(iter(part)),
)
def test_bad_arguments_are_refused_before_a_source_is_asked(changed, message):
    providers = [sb.Provider("a", Silent()), sb.Provider("b", Silent())]
    arguments = {"utility": sb.AdditiveUtility(), "sampling": sb.Fresh(5), "n_games": 10}
    with pytest.raises(InvalidInput, match=message):
        sb.next_batch(providers, **(arguments | changed))


def test_groups_and_solvers_are_refused():
    providers, utility = a_task(n=2)
    with pytest.raises(InvalidInput, match="pass their providers alone"):
        sb.next_batch([sb.Group("both", providers)], utility, sampling=sb.Fresh(5))
    with pytest.raises(InvalidInput, match="solver: next_batch has none"):
        sb.bill(providers, utility, sampling=sb.Fresh(5), solver=sb.Exact(), next_batch=True)


def test_the_report_shows_the_gains():
    providers, utility = a_task()
    arguments = {"sampling": sb.Fresh(7), "n_games": 30, "seed": 0}
    valuation = sb.value(providers, utility, **arguments)
    prices = sb.Prices(record="0.10")
    found = sb.next_batch(providers, utility, **arguments, prices=prices)
    page = Page(page_of(valuation, next_batch=found))
    assert page.column("Gains from one more draw", "price") == dict.fromkeys(found.names, "0.70")
    assert page.column("Gains from one more draw", "gain per price").keys() == {*found.names}
    other = sb.value(providers, utility, sampling=sb.Fresh(8), n_games=5, seed=0)
    with pytest.raises(InvalidInput, match="the providers and the sampling of this valuation"):
        page_of(other, next_batch=found)
    with pytest.raises(InvalidInput, match=r"what sb\.next_batch returns"):
        page_of(valuation, next_batch=3)


def test_a_plan_shows_the_gains_without_further_records():
    task = sb.datasets.wine()
    prices = sb.Prices(record="0.02")
    plan = sb.plan(
        task.providers, task.utility, n_sample=15, minutes=0.1, seed=0, prices=prices,
        budget=sb.Budget(records=700),
    )  # fmt: skip
    found = plan.next_batch(n_games=50)
    assert found.access.records == plan.pilot.cost.records == 600
    pools = plan.pilot.arguments.sampling
    again = sb.next_batch(task.providers, task.utility, sampling=pools, n_games=50, seed=0)
    assert (found.gain == again.gain).all()
    assert found.price == (Decimal("0.30"),) * 10
    large = sb.plan(
        task.providers, task.utility, n_sample=60, minutes=0.1, seed=0,
        budget=sb.Budget(records=1300),
    )  # fmt: skip
    with pytest.raises(InvalidInput, match=r"pilot do not serve .* call sb\.next_batch"):
        large.next_batch()
    with pytest.raises(InvalidInput, match="n_games"):
        plan.next_batch(n_games=1)


CONFIG = """
seed = 3
n_games = 30
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "pooled", n_pool = 200, n_boot = 40, replace = false }
prices = { record = "0.02", request = 1 }
"""


def test_the_command_prints_the_table(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(CONFIG)
    result = called("next-batch", file)
    assert result.exit_code == 0, result.output
    assert "gain per price" in result.stdout
    document = json.loads(called("next-batch", file, "--json").stdout)
    task = sb.datasets.wine()
    found = sb.next_batch(
        task.providers, task.utility, sampling=sb.Pooled(200, 40, replace=False), n_games=30,
        seed=3,
    )  # fmt: skip
    assert [row["gain"] for row in document["providers"]] == found.gain.tolist()
    assert document["records"] == found.access.records
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.toml"]
    file.write_text(CONFIG + 'participation = { kind = "cohort", k = 4 }\n')
    assert "take part in every game: use a file without it" in refused("next-batch", file)
