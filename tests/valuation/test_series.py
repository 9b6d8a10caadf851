"""Changes over a series of valuations, and the level of their simultaneous band."""

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from tests.conftest import gaussian_providers, redesigned


def month(seed, means=(0.0, 1.0, 2.0), n_games=12, sampling=None):
    return sb.value(
        gaussian_providers(means, [1.0] * len(means)),
        sb.AdditiveUtility(),
        sampling=sampling or sb.Fresh(4),
        n_games=n_games,
        seed=seed,
    )


@pytest.mark.parametrize("since", ["first", "previous"])
def test_two_valuations_are_those_of_compare(since):
    months = [month(0), month(1)]
    found, pair = sb.compare_series(months, since=since), sb.compare(*months)
    np.testing.assert_array_equal(found.change[0], pair.difference)
    np.testing.assert_array_equal(found.standard_error[0], pair.standard_error)
    excluded = (found.interval[0] > 0).all(axis=1) | (found.interval[0] < 0).all(axis=1)
    np.testing.assert_array_equal(excluded, pair.p_value < 0.05 / 3)  # Bonferroni


def test_changes_are_from_the_first_or_from_the_one_before():
    months = {name: month(seed) for seed, name in enumerate(["May", "June", "July"])}
    values = np.stack([one.expectation for one in months.values()])
    np.testing.assert_allclose(sb.compare_series(months).change, values[1:] - values[0])
    steps = sb.compare_series(months, since="previous")
    np.testing.assert_allclose(steps.change, np.diff(values, axis=0))
    np.testing.assert_array_equal(steps.expectation, values)
    assert steps.labels == ("May", "June", "July")
    assert steps.to_frame().loc[("July", "g1"), "since"] == "June"
    assert sb.compare_series(months).to_frame().loc[("July", "g1"), "since"] == "May"


REPEATS = 300
# 12 changes of 3 providers over 5 valuations. A share of 0.05 of 300 series has a standard error
# of 0.013.
ERROR = np.sqrt(0.05 * 0.95 / REPEATS)


@pytest.fixture(scope="module")
def bands():
    """Whether the band of a series without changes fails, and whether single intervals do."""
    together, alone = [], []
    for repeat in range(REPEATS):
        months = [month(5 * repeat + at) for at in range(5)]
        found = sb.compare_series(months)
        together.append(found.beyond_chance.any())
        alone.append(any((sb.compare(months[0], one).p_value < 0.05).any() for one in months[1:]))
    return np.mean(together), np.mean(alone)


@pytest.mark.long
def test_a_series_without_changes_is_flagged_in_at_most_five_percent(bands):
    together, alone = bands
    assert 0.0 < together < 0.05 + 3 * ERROR
    assert alone > 0.05 + 10 * ERROR  # without the correction


def test_a_change_is_found_and_marked():
    months = {"May": month(0), "June": month(1), "July": month(2, means=(0.0, 1.0, 6.0))}
    found = sb.compare_series(months)
    assert found.beyond_chance.tolist() == [[False] * 3, [False, False, True]]
    assert found.interval[1, 2, 0] < 4.0
    assert found.interval[1, 2, 1] > 4.0
    assert [line[:2] for line in str(found).splitlines() if line.endswith(" *")] == ["g2"]
    assert "1 of 6 changes are beyond chance" in str(found)
    assert "July" in found._repr_html_()


def test_a_lower_level_has_narrower_intervals():
    months = [month(seed) for seed in range(3)]
    wide, narrow = (sb.compare_series(months, level=level) for level in (0.95, 0.8))
    assert (np.diff(narrow.interval) < np.diff(wide.interval)).all()


def test_other_estimands_are_not_flagged_and_named():
    months = [month(0), month(1, means=(9.0, 1.0, 2.0), sampling=sb.Fresh(5)), month(2)]
    found = sb.compare_series(months)
    assert not found.beyond_chance.any()
    assert found.notes[0].startswith("warning: no provider of 2 is flagged, because")
    assert len(found.notes) == 1


def test_providers_that_not_all_valuations_have_are_left_out():
    other = month(1)
    found = sb.compare_series([month(0), redesigned(other, names=("g2", "new", "g0")), month(2)])
    assert found.names == ("g0", "g2")
    np.testing.assert_array_equal(found.expectation[1], other.expectation[[2, 0]])
    assert found.notes[-1].endswith("not all valuations have them: g1, new")


def test_exact_answers_have_no_error():
    providers = [sb.Provider(name, sb.ArraySource([[1.0]], [1.0])) for name in "ab"]

    def exact(worth):
        table = sb.TableUtility([0.0, 1.0, 2.0, worth])
        return sb.value(providers, table, sampling=sb.Fresh(1), n_games=3, seed=0)

    found = sb.compare_series([exact(3.0), exact(3.0), exact(4.0)])
    assert found.beyond_chance.tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ([], {}, "two valuations or more; received 0"),
        ([month(0)], {}, "two valuations or more; received 1"),
        (month(0), {}, "received one valuation"),
        (
            [month(0), "June"],
            {},
            "valuation 2 must be a Valuation; received .June.: pass what sb.value",
        ),
        ([month(0), month(1)], {"since": "May"}, 'since must be "first" or "previous"'),
        ([month(0), month(1)], {"level": 2}, "level"),
    ],
)
def test_bad_series_are_refused(series, options, message):
    with pytest.raises(InvalidInput, match=message):
        sb.compare_series(series, **options)
