"""Whether two valuations differ, and what a reader is told about it."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

import shapband as sb
from shapband._compare import compare
from shapband.errors import InvalidInput
from tests.conftest import gaussian_providers


def valued(seed, n_games=40, means=(0.0, 1.0, 2.0), sampling=None, names=None):
    providers = gaussian_providers(means, [1.0] * len(means))
    if names is not None:
        named = zip(names, providers, strict=True)
        providers = [sb.Provider(name, provider.source) for name, provider in named]
    return sb.value(
        providers,
        sb.AdditiveUtility(),
        sampling=sampling or sb.Fresh(5),
        n_games=n_games,
        seed=seed,
    )


def test_the_test_is_that_of_welch():
    one, other = valued(0, n_games=40), valued(1, n_games=9)
    found = compare(one, other)
    expected = ttest_ind(other.games, one.games, equal_var=False)
    np.testing.assert_allclose(found.difference / found.standard_error, expected.statistic)
    np.testing.assert_array_equal(found.beyond_chance, expected.pvalue < 0.05)


def test_the_false_alarms_are_five_in_a_hundred():
    # 200 pairs of 3 providers: 30 false alarms expected, standard deviation 5.3; 4 of those.
    alarms = sum(
        compare(valued(2 * pair, 20), valued(2 * pair + 1, 20)).beyond_chance.sum()
        for pair in range(200)
    )
    assert abs(alarms - 30) < 4 * 5.34


def test_a_difference_is_found():
    found = compare(valued(0), valued(1, means=(0.0, 1.0, 5.0)))
    assert found.beyond_chance.tolist()[2]
    assert abs(found.difference[2] - 3.0) < 5 * found.standard_error[2]


def test_providers_are_matched_by_name_and_the_others_told():
    one = valued(0, names=("a", "b", "c"))
    other = valued(1, names=("d", "c", "a"))
    found = compare(one, other)
    assert found.names == ("a", "c")
    np.testing.assert_array_equal(found.second, other.expectation[[2, 1]])
    assert any("only in the first run" in note and note.endswith(": b") for note in found.notes)
    assert any("only in the second run" in note and note.endswith(": d") for note in found.notes)


def test_nothing_in_common_is_refused():
    with pytest.raises(InvalidInput, match="no provider in common"):
        compare(valued(0), valued(1, names=("x", "y", "z")))


def test_other_targets_are_warned_of():
    notes = compare(valued(0), valued(1, sampling=sb.Fresh(6))).notes
    assert notes[0].startswith("warning: the runs estimate different things")
    assert not any(note.startswith("warning") for note in compare(valued(0), valued(1)).notes)


def test_pools_and_shared_seeds_are_told():
    pooled = compare(valued(0, sampling=sb.Pooled(20, 5)), valued(1, sampling=sb.Pooled(20, 5)))
    assert any("not of the pools" in note for note in pooled.notes)
    assert any("same seed" in note for note in compare(valued(0), valued(0, n_games=50)).notes)
    assert compare(valued(0), valued(1)).notes == ()


def test_exact_answers_differ_if_they_are_not_equal():
    providers = [sb.Provider(name, sb.ArraySource([[1.0]], [1.0])) for name in "ab"]

    def exact(worth):
        utility = sb.TableUtility([0.0, 1.0, 2.0, worth])
        return sb.value(providers, utility, sampling=sb.Fresh(1), n_games=3, seed=0)

    assert not compare(exact(3.0), exact(3.0)).beyond_chance.any()
    assert compare(exact(3.0), exact(4.0)).beyond_chance.all()
