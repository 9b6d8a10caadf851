"""Games from pools whose values are averaged over who takes part."""

from itertools import product

import numpy as np
import pytest

import shapband as sb
from shapband.engine import arguments as checked
from shapband.engine.shortcuts import Averaging
from shapband.errors import InvalidInput
from shapband.market.bill import foresee
from shapband.seeds import Seeds
from tests.conftest import gaussian_providers, linear_providers, one_record_providers
from tests.test_invariance import same_bits
from tests.test_participation import shapley_by_hand

POOLED = [sb.Pooled(30, 12), sb.Pooled(30, 12, replace=False), sb.Stratified(30, 12, 0.5)]
LAW = sb.Independent({f"site {i}": p for i, p in enumerate((0.9, 0.5, 0.2, 0.7, 1.0))})


def run(participation=LAW, **arguments):
    providers, validation = linear_providers()
    given = {"sampling": sb.Pooled(30, 12), "n_games": 40, "seed": 5, **arguments}
    return sb.value(providers, sb.LinearUtility(*validation), participation=participation, **given)


def draw_presence(*_):
    """Draw presence in every game, as with Fresh."""
    return Averaging(averages=False, reason="this is a test")


def moments_by_hand(values, rates):
    """Mean and variance of the Shapley values over all 2**n sets of those present."""
    n = len(rates)
    first, second = np.zeros((2, n))
    for present in product([0, 1], repeat=n):
        chance = np.prod([p if here else 1 - p for p, here in zip(rates, present, strict=True)])
        players = [i for i in range(n) if present[i]]
        found = shapley_by_hand(lambda s: values[sum(1 << i for i in s)], players)
        phi = np.array([found.get(i, 0.0) for i in range(n)])
        first, second = first + chance * phi, second + chance * phi**2
    return first, second - first**2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rates", [[0.8] * 4, [0.3, 1.0, 0.6, 0.9], [1.0, 1.0, 1.0, 0.01]])
def test_one_game_is_the_mean_over_all_sets_of_those_present(seed, rates):
    values = np.random.default_rng(seed).normal(size=16)
    providers = one_record_providers(4)
    law = sb.Independent({one.name: p for one, p in zip(providers, rates, strict=True)})
    valuation = sb.value(
        providers, sb.TableUtility(values), sampling=sb.Pooled(2, 1), n_games=40, seed=0,
        participation=law,
    )  # fmt: skip
    mean, variance = moments_by_hand(values, rates)
    np.testing.assert_allclose(valuation.games, np.tile(mean, (40, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(valuation.variance, variance, rtol=0, atol=1e-12)
    exact = sb.theory.random_participation(values, rates)
    np.testing.assert_allclose(valuation.expectation, exact.expectation, rtol=0, atol=1e-12)
    np.testing.assert_allclose(valuation.variance, exact.variance, rtol=0, atol=1e-12)
    weighed = sb.theory.participation_matrix(rates) @ values
    np.testing.assert_allclose(valuation.expectation, weighed, rtol=0, atol=1e-12)
    inside = valuation.variance_interval()
    assert (inside[:, 0] <= variance + 1e-12).all()
    assert (variance <= inside[:, 1] + 1e-12).all()


@pytest.mark.parametrize("sampling", POOLED, ids=repr)
def test_the_moments_are_those_of_the_games_of_everybody(sampling):
    """The additive game: x = p y and u = p (1 - p) y², with y the values if all take part."""
    means, rates = np.array([5.0, -2.0, 1.0]), np.array([0.9, 0.5, 0.2])
    law = sb.Independent(dict(zip(("g0", "g1", "g2"), rates.tolist(), strict=True)))
    providers = gaussian_providers(means, [1.0, 3.0, 0.5])
    given = {"sampling": sampling, "n_games": 50, "seed": 3, "solver": sb.Exact()}
    y = sb.value(providers, sb.AdditiveUtility(), **given).games
    found = sb.value(providers, sb.AdditiveUtility(), participation=law, **given)
    np.testing.assert_allclose(found.games, rates * y, rtol=0, atol=1e-12)
    frame = found.participation
    within = (rates * (1 - rates) * y**2).mean(axis=0)
    np.testing.assert_allclose(frame.variance_within_draws, within, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.raw_variance, (rates * y).var(axis=0, ddof=1), atol=1e-12)
    hidden = found.estimate.moments.pools.hidden
    np.testing.assert_allclose(
        frame.variance_between_draws, found.raw_variance + hidden, rtol=0, atol=1e-12
    )
    for parts in (("within_draws", "between_draws"), ("participation", "data")):
        whole = sum(frame[f"variance_{part}"] for part in parts)
        np.testing.assert_allclose(whole, found.variance, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(frame.rate, rates)
    np.testing.assert_allclose(frame.expectation_present, y.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        frame.standard_error_present, found.standard_error / rates, rtol=1e-12
    )
    # Var(φ | present) is Var(y) in the additive game.
    if sampling == sb.Pooled(30, 12):
        np.testing.assert_allclose(frame.variance_present, y.var(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("sampling", POOLED, ids=repr)
def test_chunks_workers_and_json_keep_the_bits(sampling):
    whole = run(sampling=sampling)
    for arguments in ({"chunk_size": 1}, {"chunk_size": 7, "n_jobs": 2}):
        part = run(sampling=sampling, **arguments)
        same_bits(part, whole)
        np.testing.assert_array_equal(part.participation, whole.participation)
        np.testing.assert_array_equal(part.variance_interval(), whole.variance_interval())
    again = sb.Valuation.from_json(whole.to_json())
    assert again.to_json() == whole.to_json()
    assert str(again) == str(whole)
    np.testing.assert_array_equal(again.participation, whole.participation)
    np.testing.assert_array_equal(again.variance_interval(), whole.variance_interval())


def test_the_order_of_the_providers_does_not_matter():
    providers, validation = linear_providers()
    order = [3, 0, 4, 1, 2]
    given = {"sampling": sb.Pooled(30, 12), "n_games": 20, "seed": 5, "participation": LAW}
    straight = sb.value(providers, sb.LinearUtility(*validation), **given)
    turned = [providers[i] for i in order]
    shuffled = sb.value(turned, sb.LinearUtility(*validation), **given)
    np.testing.assert_allclose(shuffled.games, straight.games[:, order], rtol=0, atol=1e-12)
    np.testing.assert_allclose(shuffled.variance, straight.variance[order], rtol=0, atol=1e-12)


def test_processes_give_the_same_bits():
    from sklearn.linear_model import Ridge

    providers, (X_val, y_val) = linear_providers(n=3)
    utility = sb.EstimatorUtility(Ridge(), X_val, y_val)
    given = {"sampling": sb.Pooled(30, 12), "n_games": 6, "participation": sb.Independent(0.7)}
    one = sb.value(providers, utility, seed=0, **given)
    assert one.estimate.moments.averaged is not None
    same_bits(sb.value(providers, utility, seed=0, n_jobs=2, **given), one)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"sampling": sb.Fresh(12)}, "Fresh asks only those who take part"),
        ({"participation": sb.Cohort(3)}, "Cohort is not Independent"),
        ({"participation": sb.MarkovChain(0.3, 0.8)}, "MarkovChain is not Independent"),
        ({"solver": sb.Permutation(5)}, "Permutation does not evaluate all coalitions"),
        (
            {"index": sb.Banzhaf(), "solver": sb.Exact()},
            "only Shapley values can be averaged over presence, not values of Banzhaf()",
        ),
    ],
)
def test_otherwise_presence_is_drawn_and_the_result_says_why(arguments, reason):
    law = arguments.pop("participation", LAW)
    valuation = run(law, **arguments)
    assert valuation.setup["presence"] == f"drawn in every game, because {reason}"
    assert f"presence: drawn in every game, because {reason}" in " ".join(str(valuation).split())
    present = law.present(Seeds(5), valuation.names, range(40))
    assert (valuation.games[~present] == 0).all()
    assert valuation.estimate.moments.averaged is None
    assert "variance_within_draws" not in valuation.participation


def test_it_is_drawn_if_hardly_anybody_takes_part():
    """All 2**10 coalitions are (2 / 1.3)**10 times as many as the coalitions of those present."""
    providers = gaussian_providers(np.ones(10), np.ones(10))
    given = {"sampling": sb.Pooled(20, 5), "solver": sb.Exact(), "n_games": 4, "seed": 0}
    for p, way in ((0.5, "averaged over"), (0.3, "drawn")):
        law = sb.Independent(p)
        found = sb.value(providers, sb.AdditiveUtility(), participation=law, **given)
        assert found.setup["presence"].startswith(way)
    assert "all coalitions are 74 times as many as the coalitions of the providers" in " ".join(
        str(found).split()
    )
    assert "present, more than 32 times" in " ".join(str(found).split())


def test_the_result_says_that_presence_was_averaged_over():
    valuation = run()
    assert valuation.setup["presence"].startswith("averaged over, because pools have records")
    text = str(valuation)
    assert "presence: averaged over, because pools have records of everybody" in text
    assert "% from the provider's own presence, " in text
    assert "% from the presence of the others, " in text
    assert text.count("averaged over") == 1
    assert "takes part" in valuation._repr_html_()
    columns = valuation.participation.columns.tolist()
    assert valuation.to_frame().columns[-8:].tolist() == columns
    assert valuation.evaluations == 40 * 31


@pytest.mark.parametrize("what", ["distribution", "correlation"])
def test_what_only_single_games_show_is_refused(what):
    with pytest.raises(InvalidInput, match=f"^{what}: presence was averaged over.*use Fresh"):
        getattr(run(), what)()
    assert getattr(run(LAW, sampling=sb.Fresh(12)), what)() is not None


def test_questions_about_several_providers_have_answers():
    valuation = run(n_games=100)
    assert valuation.difference("site 0", "site 1").standard_error > 0
    assert valuation.ranks().to_frame().notna().all().all()
    assert valuation.shares().share.sum() == pytest.approx(1)
    assert np.isfinite(valuation.interval(simultaneous=True)).all()
    assert sb.compare(valuation, valuation).difference.max() == 0


def test_a_bill_counts_the_coalitions_of_everybody():
    providers, validation = linear_providers()
    given = {"sampling": sb.Pooled(30, 12), "n_games": 40, "seed": 5, "participation": LAW}
    bill = foresee(checked.check_arguments(providers, sb.LinearUtility(*validation), **given))
    assert bill.evaluations == 40 * 31
    assert int(bill.records.sum()) == run().access.records


def test_a_rule_stops_the_games_sooner_than_with_drawn_presence(monkeypatch):
    given = {"sampling": sb.Pooled(1000, 12), "stop": sb.Precision(absolute=0.05), "n_games": 2000}
    averaged = run(sb.Independent(0.8), **given)
    monkeypatch.setattr(checked, "choose_averaging", draw_presence)
    drawn = run(sb.Independent(0.8), **given)
    assert averaged.stopped_code == drawn.stopped_code == "rule"
    assert averaged.n_games < drawn.n_games


def test_a_single_provider_may_come_and_go():
    valuation = sb.value(
        gaussian_providers([5.0], [1.0]), sb.AdditiveUtility(), sampling=sb.Pooled(20, 3),
        n_games=40, seed=1, participation=sb.Independent(0.5),
    )  # fmt: skip
    assert valuation.expectation[0] == pytest.approx(2.5, abs=1)
    assert valuation.variance[0] == pytest.approx(0.25 * 25 + 0.5 / 3, abs=2)


def test_who_hardly_ever_takes_part_has_a_value_all_the_same():
    rare = sb.Independent({f"site {i}": 1e-6 if i == 2 else 0.9 for i in range(5)})
    row = run(rare).participation.iloc[2]
    assert row.rate == 1e-6
    assert 0 < row.expectation_present < 1
    assert 0 < row.standard_error_present < 1
    assert row.variance_present > 0
