"""Intervals of groups: they hold the value of the group in the population."""

import numpy as np
import pytest

import shapband as sb

REPEATS = 60
SLOPE = np.array([1.0, -1.0])
rng = np.random.default_rng(0)
X_VAL = rng.normal(size=(100, 2))
UTILITY = sb.LinearUtility(X_VAL, X_VAL @ SLOPE + rng.normal(size=100))


def provider(name, shift, noise):
    def draw(size, rng):
        X = rng.normal(size=(size, 2)) + shift
        return X, X @ SLOPE + noise * rng.normal(size=size)

    return sb.Provider(name, sb.FunctionSource(draw))


def value(**arguments):
    players = [
        sb.Group("g", [provider("a", 0.5, 0.5), provider("b", -0.5, 1.0), provider("c", 0, 2.0)]),
        provider("d", 0.2, 1.0),
    ]
    return sb.value(players, UTILITY, **arguments)


# Their standard errors are below a fifth of those of the valuations that are checked.
TRUTH = {"sampling": sb.Fresh(8), "n_games": 5000, "seed": 1000}


@pytest.fixture(scope="module")
def truth():
    return value(**TRUTH)


@pytest.mark.parametrize(
    ("sampling", "solver"),
    [
        (sb.Fresh(8), sb.Permutation(6)),
        (sb.Pooled(50, 8, replace=False), sb.Exact()),
        (sb.Pooled(48, 8, replace=False), sb.Exact()),
    ],
    ids=repr,
)
def test_intervals_of_a_group_hold_its_value(sampling, solver, truth):
    held, games_only = np.zeros(2), 0
    estimates, variances = [], []
    for seed in range(REPEATS):
        groups = value(sampling=sampling, solver=solver, n_games=64, seed=seed).groups
        for which, (interval, known) in enumerate(
            [
                (groups.interval(), truth.groups.expectation),
                (groups.variance_interval(), truth.groups.variance),
            ]
        ):
            held[which] += interval[0, 0] <= known[0] <= interval[0, 1]
        estimates.append(groups.expectation[0])
        variances.append(groups.variance[0])
        half = 2 * np.sqrt(groups.found.estimate.raw_variance[0] / 64)
        games_only += abs(groups.expectation[0] - truth.groups.expectation[0]) <= half
    # 60 repetitions: the standard error of a coverage of 0.95 is 0.028; 4 of them are allowed.
    assert (held / REPEATS > 0.95 - 0.112).all(), held
    error = np.std(variances, ddof=1) / np.sqrt(REPEATS)
    assert abs(np.mean(variances) - truth.groups.variance[0]) < 4.5 * error
    if not isinstance(sampling, sb.Fresh):
        # The control: without the part of the pools the intervals are too short.
        assert games_only / REPEATS < 0.95 - 0.112, games_only


def test_the_variance_of_a_group_is_not_the_sum_of_its_members_variances(truth):
    """The control of the above: covariances and the noise of the sum matter."""
    added = truth.variance[:3].sum()
    assert abs(added / truth.groups.variance[0] - 1) > 0.2
