"""Least squares and ridge regression at any scale, against fits in hundreds of digits."""

import numpy as np
import pytest
from tests.exact_fits import exact_mse, relative_error

import shapband as sb
from shapband.coalitions import members
from shapband.errors import InvalidInput, SourceError
from shapband.records.batch import Batch, concat
from shapband.utilities.base import CoalitionFailed
from shapband.utilities.neighbors import _common_unit

COLUMNS = {
    "1e12 apart": ([1.0, 1e12, 1.0], [0.0, 0.0, 0.0]),
    "1e150 and 1e-150": ([1e150, 1e-150, 1.0], [0.0, 0.0, 0.0]),
    "offsets of 1e8": ([1.0, 1.0, 1.0], [1e8, -1e8, 0.0]),
}


def game(seed, scales, offsets, sizes, change=None, moved=(0.0, 0.0), validation_scale=1.0):
    """A utility's arguments and the batches of its providers; `moved` shifts whole providers."""
    rng = np.random.default_rng(seed)
    scales = np.array(scales)
    slopes = rng.normal(size=len(scales)) / scales

    def rows(count, shift=0.0):
        X = (rng.normal(size=(count, len(scales))) + offsets + shift) * scales
        if change is not None:
            change(X)
        return X, (X - np.array(offsets) * scales) @ slopes + 0.3 * rng.normal(size=count)

    X_val, y_val = rows(8)
    X_val = X_val * validation_scale
    shifts = (*moved, *[0.0] * (len(sizes) - len(moved)))
    return X_val, y_val, [Batch(*rows(n, shift)) for n, shift in zip(sizes, shifts, strict=True)]


def worst_error(X_val, y_val, batches, alpha=0.0):
    """Largest relative error of a coalition's validation error, by rows and by the table."""
    utility = sb.LinearUtility(X_val, y_val, score="neg_mse", alpha=alpha)
    for batch in batches:
        utility.check_batch(batch)
    summaries = [utility.summarise(batch) for batch in batches]
    coalitions = range(1, 2 ** len(batches))
    table = utility.evaluate_all([summaries])[0][1:]
    worst = 0.0
    for found in (utility.evaluate(summaries, coalitions), table):
        for coalition, value in zip(coalitions, found, strict=True):
            joined = concat([batches[i] for i in members(coalition)])
            exact = exact_mse(joined.X, joined.y, X_val, y_val, alpha)
            worst = max(worst, relative_error(-value, exact))
    return worst


def duplicate(X):
    X[:, 2] = X[:, 0]


def constant(X):
    X[:, 2] = 0.1


def one_hot(X):
    X[:, 1:] = np.eye(3)[np.arange(len(X)) % 3][:, 1:]


@pytest.mark.parametrize("alpha", [0.0, 1.0], ids=["least squares", "ridge"])
@pytest.mark.parametrize("sizes", [(6, 7), (2, 3)], ids=["many", "few"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_columns_of_any_scale_give_the_exact_fit(columns, sizes, alpha):
    assert worst_error(*game(0, *COLUMNS[columns], sizes), alpha) < 1e-9


@pytest.mark.parametrize("alpha", [0.0, 1.0], ids=["least squares", "ridge"])
@pytest.mark.parametrize("factor", [1e6, 1e12, 1e-6, 1e-12])
def test_validation_rows_on_another_scale_give_the_exact_fit(factor, alpha):
    """A prediction at 1e12 times the records is known to 1e-16 * 1e12 of the records' noise."""
    rows = game(1, [1.0, 1.0, 1.0], [0.0] * 3, (6, 7), validation_scale=np.array([factor, 1, 1]))
    assert worst_error(*rows, alpha) < max(1e-9, 1e-15 * factor)


@pytest.mark.parametrize("sizes", [(6, 7), (2, 3)], ids=["many", "few"])
@pytest.mark.parametrize("apart", [1e3, 1e6, 1e8])
def test_providers_far_apart_in_one_column_are_fitted_exactly(apart, sizes):
    # A record at 1e8 has a rounding error of 1e-8 of the others' spread.
    moved = (np.array([apart, 0.0, 0.0]), np.array([-apart, 0.0, 0.0]))
    assert worst_error(*game(2, [1.0] * 3, [0.0] * 3, sizes, moved=moved)) < max(
        1e-8, 1e-14 * apart
    )


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1.0], [1e12, 1.0, 1e12], [1e-150, 1e150, 1e-150]])
@pytest.mark.parametrize("change", [duplicate, constant, one_hot])
def test_dependent_columns_of_any_scale_have_the_least_norm(change, scales):
    if change is one_hot:
        scales = [scales[1], 1.0, 1.0]
    if change is constant:
        scales = [scales[0], scales[1], 1.0]
    assert worst_error(*game(3, scales, [0.0] * 3, (6, 7), change)) < 1e-9


def test_ridge_has_the_penalty_of_the_features_own_units():
    from sklearn.linear_model import Ridge

    X_val, y_val, (batch, _) = game(4, [1.0, 1e6, 1e-3], [5.0, 0.0, 1.0], (20, 9))
    utility = sb.LinearUtility(X_val, y_val, score="neg_mse", alpha=3.0)
    predicted = Ridge(3.0, solver="svd").fit(batch.X, batch.y).predict(X_val)
    found = -utility.evaluate([utility.summarise(batch)], [1])[0]
    np.testing.assert_allclose(found, np.mean((predicted - y_val) ** 2), rtol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_random_scales_give_the_exact_fit(seed):
    rng = np.random.default_rng(1000 + seed)
    d = int(rng.integers(1, 5))
    scales = 10.0 ** rng.choice([-150, -12, -3, 0, 3, 12, 150], size=d)
    offsets = rng.choice([0.0, 1.0, 1e4, 1e8], size=d)
    offsets[scales > 1e149] = 0.0  # numbers beyond 1e151 are refused
    sizes = rng.integers(2, 9, size=3).tolist()
    alpha = float(rng.choice([0.0, 1.0]))
    try:
        assert worst_error(*game(seed, scales, offsets, sizes), alpha) < 1e-7
    except CoalitionFailed:  # units so far apart that even 32 digits do not decide
        assert scales.max() > 1e15 * scales.min()


def one_label(X_val, y_val):
    return sb.LogisticUtility(X_val, (y_val > 0).astype(int))


def bayes(X_val, y_val):
    return sb.GaussianNBUtility(X_val, (y_val > 0).astype(int))


def discriminant(X_val, y_val):
    return sb.LDAUtility(X_val, (y_val > 0).astype(int))


def neighbors(X_val, y_val):
    return sb.NeighborUtility(X_val, y_val, k=1, task="regression")


MAKERS = pytest.mark.parametrize(
    "make", [sb.LinearUtility, neighbors, one_label, bayes, discriminant]
)


@MAKERS
@pytest.mark.parametrize("large", [1e155, 1e200, 1e300])
def test_features_whose_squares_overflow_are_refused(make, large):
    X_val, y_val, (batch, other) = game(5, [1.0, 1.0], [0.0, 0.0], (9, 9))
    labels = y_val if make in (sb.LinearUtility, neighbors) else (y_val > 0).astype(int)
    y = batch.y if labels is y_val else (batch.y > 0).astype(int)
    batch.X[3, 1] = large
    providers = [
        sb.Provider("north", sb.ArraySource(batch.X, y)),
        sb.Provider("south", sb.ArraySource(other.X, y)),
    ]
    with pytest.raises((InvalidInput, SourceError), match=r"'north'.*feature 1 holds"):
        sb.value(providers, make(X_val, y_val), sampling=sb.Fresh(9), n_games=2)
    X_val[2, 0] = 10.0 * large
    if make is not neighbors:
        with pytest.raises(InvalidInput, match=r"X_val: feature 0 holds .* in other units"):
            make(X_val, y_val)


@MAKERS
@pytest.mark.parametrize("unit", [2.0**-490, 2.0**490])
def test_a_common_unit_near_the_limits_changes_no_value(make, unit):
    X_val, y_val, (batch, _) = game(6, [1.0, 1.0], [0.0, 0.0], (15, 9))
    labels = make in (sb.LinearUtility, neighbors)
    y = batch.y if labels else (batch.y > 0).astype(int)
    values = []
    for factor in (1.0, unit):
        utility = make(X_val * factor, y_val)
        if make is one_label:  # without a penalty to speak of, in either unit
            utility = sb.LogisticUtility(X_val * factor, (y_val > 0).astype(int), C=1.0 / factor**2)
        records = Batch(batch.X * factor, y)
        utility.check_batch(records)
        values.append(utility.evaluate([utility.summarise(records)], [1])[0])
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_targets_whose_squares_overflow_are_refused():
    X = np.arange(6.0)[:, None]
    with pytest.raises(InvalidInput, match=r"y_val hold 1e\+160"):
        sb.LinearUtility(X, np.array([0.5, 1, 2, 3, 4, 1e160]))


def test_the_unit_of_distances_brings_the_largest_feature_between_a_half_and_one():
    for largest, unit in {3.0: 0.25, 0.75: 1.0, 1e-3: 2.0**9, 0.0: 1.0}.items():
        assert _common_unit(np.array([[largest, -largest / 2]])) == unit
