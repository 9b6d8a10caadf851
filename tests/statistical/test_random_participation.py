"""Are the moments and errors of providers that take part at random right?

In the additive game a value is the mean of the provider's draw if it is present, and 0 if not:
E = p μ and Var = p σ²/m + p (1 - p) μ².
"""

import numpy as np
import pytest
from tests.test_averaged_presence import draw_presence

import shapband as sb
from shapband.engine import arguments as checked

MEANS, DEVIATIONS = np.array([1.0, -2.0, 0.5]), np.array([1.0, 3.0, 0.5])
NAMES = ["g0", "g1", "g2"]
BY_NAME = {"g0": 0.9, "g1": 0.5, "g2": 0.2}
SIZE = 4
LAWS = [sb.Independent(0.8), sb.Independent(BY_NAME), sb.Cohort(2), sb.MarkovChain(0.2, 0.7)]
CHAIN = sb.MarkovChain(0.1, 0.9)


def stocks():
    """Providers in memory, which are fast, with exactly these means and deviations."""
    rng = np.random.default_rng(0)
    for name, mean, deviation in zip(NAMES, MEANS, DEVIATIONS, strict=True):
        x = rng.normal(size=5000)
        x = mean + deviation * (x - x.mean()) / x.std()
        yield sb.Provider(name, sb.ArraySource(x[:, None], x, replace=True))


PROVIDERS = list(stocks())


def played(law, seed=0, n_games=400, sampling=None):
    return sb.value(
        PROVIDERS, sb.AdditiveUtility(), sampling=sampling or sb.Fresh(SIZE), n_games=n_games,
        seed=seed, participation=law,
    )  # fmt: skip


def truth(p):
    data, own = p * DEVIATIONS**2 / SIZE, p * (1 - p) * MEANS**2
    return p * MEANS, data, own


@pytest.fixture(scope="module", params=LAWS, ids=repr)
def long_run(request):
    """A law, and many games with it."""
    return request.param, played(request.param, n_games=2000)


def test_moments_are_those_of_the_closed_form(long_run):
    law, valuation = long_run
    frame = valuation.participation
    expectation, data, own = truth(law.rates(NAMES))
    off = (valuation.expectation - expectation) / valuation.standard_error
    assert (np.abs(off) < 4).all()
    off = (valuation.variance - data - own) / valuation.variance_standard_error
    assert (np.abs(off) < 4).all()
    off = (frame.expectation_present - MEANS) / frame.standard_error_present
    assert (np.abs(off) < 4).all()
    np.testing.assert_allclose(frame.variance_data, data, rtol=0.25)
    np.testing.assert_allclose(frame.variance_participation, own, rtol=0.25)


def test_the_moments_of_the_wrong_rate_are_noticed(long_run):
    law, valuation = long_run
    expectation, *_ = truth(0.7 * law.rates(NAMES))
    assert (np.abs((valuation.expectation - expectation) / valuation.standard_error) > 4).any()


def levels(valuations, target):
    """Part of the intervals that hold the target, and of those that naive errors would give."""
    held = np.zeros(2)
    for valuation in valuations:
        low, high = valuation.interval(0.95).T
        held[0] += np.mean((low <= target) & (target <= high))
        naive = np.sqrt(valuation.raw_variance / valuation.n_games)
        held[1] += np.mean(np.abs(valuation.expectation - target) <= 1.98 * naive)
    return held / len(valuations)


@pytest.fixture(scope="module")
def chains():
    """Valuations with presence that depends on that of the game before."""
    return [played(CHAIN, seed, n_games=250) for seed in range(120)]


def test_intervals_hold_for_games_of_a_chain_and_those_of_independent_games_do_not(chains):
    # 360 intervals: the standard error of a level of 0.95 is 0.0115.
    found, naive = levels(chains, CHAIN.rates(NAMES) * MEANS)
    assert found > 0.95 - 4 * 0.0115
    assert naive < 0.85


def test_intervals_of_a_trace_hold_for_its_rounds():
    """Errors of independent games include the spread over rounds, so they hold far too often."""
    trace = sb.MarkovChain(0.2, 0.9).simulate(NAMES, n_rounds=60, seed=1)
    valuations = [played(sb.Trace(trace), seed, n_games=120) for seed in range(120)]
    found, naive = levels(valuations, trace.to_numpy().mean(axis=0) * MEANS)
    assert abs(found - 0.95) < 4 * 0.0115
    assert naive > 0.975
    elsewhere, _ = levels(valuations, 2 / 3 * MEANS)  # the rate of other traces
    assert elsewhere < 0.7


@pytest.fixture
def drawn(monkeypatch):
    """Presence is drawn in games from pools too, as with other solvers."""
    monkeypatch.setattr(checked, "choose_averaging", draw_presence)


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize(
    "sampling",
    [pytest.param(sb.Pooled(40, 8), marks=pytest.mark.long), sb.Pooled(40, 8, replace=False)],
    ids=repr,
)
def test_intervals_hold_for_the_population_behind_pools(sampling):
    """The spread of the games alone, without the error of the pools, does not hold."""
    law = sb.Independent(0.8)
    valuations = [played(law, seed, n_games=80, sampling=sampling) for seed in range(120)]
    found, naive = levels(valuations, 0.8 * MEANS)
    assert found > 0.95 - 4 * 0.0115
    assert naive < 0.85


@pytest.mark.usefixtures("drawn")
def test_the_variance_behind_pools_includes_that_between_pools():
    law, sampling = sb.Independent(0.8), sb.Pooled(40, SIZE, replace=False)
    found = [played(law, seed, n_games=80, sampling=sampling) for seed in range(100)]
    _, data, own = truth(np.full(3, 0.8))
    variances = np.array([one.variance for one in found])
    error = variances.std(axis=0, ddof=1) / 10
    assert (np.abs(variances.mean(axis=0) - data - own) < 4 * error).all()
    frames = np.array([one.participation.variance_data for one in found])
    error = frames.std(axis=0, ddof=1) / 10
    assert (np.abs(frames.mean(axis=0) - data) < 4 * error).all()


def test_differences_of_two_providers_hold_for_chains(chains):
    target = CHAIN.rates(NAMES)[0] * (MEANS[0] - MEANS[2])
    found = [valuation.difference("g0", "g2") for valuation in chains]
    held = sum(one.low <= target <= one.high for one in found)
    assert held / 120 > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 120)


def test_exact_and_sampled_solvers_agree(wine):
    arguments = {"sampling": sb.Fresh(40), "n_games": 60, "seed": 0}
    law = sb.Independent(0.7)
    exact, sampled = (
        sb.value(wine.providers, wine.utility, solver=solver, participation=law, **arguments)
        for solver in (sb.Exact(), sb.Permutation(20))
    )
    error = np.sqrt(sampled.solver_variance / 60)
    assert (np.abs(sampled.expectation - exact.expectation) < 4 * error).all()


def rows_of_a_line(n_rows, rng):
    features = rng.normal(size=(n_rows, 2))
    return features, features @ [1.0, -1.0] + rng.normal(size=n_rows)


@pytest.mark.parametrize(
    "law",
    [
        sb.Independent(0.8),
        pytest.param(sb.Cohort(2), marks=pytest.mark.long),
        pytest.param(
            sb.Trace(np.random.default_rng(3).random((30, 3)) < 0.7), marks=pytest.mark.long
        ),
    ],
    ids=["Independent", "Cohort", "Trace"],
)
def test_errors_if_present_cover_the_choice_of_the_validation_rows(law):
    rng = np.random.default_rng(17)
    providers = [
        sb.Provider(name, sb.ArraySource(*rows_of_a_line(400, rng), replace=True)) for name in NAMES
    ]
    given = {"sampling": sb.Fresh(20), "participation": law}
    population = sb.LinearUtility(*rows_of_a_line(5000, rng), score="r2")
    target = sb.value(
        providers, population, n_games=4000, seed=1, fixed_validation=True, **given
    ).participation.expectation_present
    off, claimed = [], {False: [], True: []}
    for seed in range(80):
        utility = sb.LinearUtility(*rows_of_a_line(100, rng), score="r2")
        for fixed, errors in claimed.items():
            frame = sb.value(
                providers, utility, n_games=90, seed=seed, fixed_validation=fixed, **given
            ).participation
            errors.append(frame.standard_error_present)
        off.append(frame.expectation_present - target)
    true = np.sqrt(np.mean(np.square(off)))
    covering, fixed = (np.sqrt(np.mean(np.square(claimed[one]))) for one in (False, True))
    assert covering == pytest.approx(true, rel=0.25)
    assert fixed < 0.65 * true  # a control: errors about these very rows
