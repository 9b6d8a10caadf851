"""Whether two valuations differ, and what a reader is told about it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

import shapband as sb
from shapband.errors import InvalidInput
from shapband.valuation.compare import compare, holm
from tests.conftest import gaussian_providers, redesigned, with_moments, with_pools


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
    # The p-values are a little larger, because the differences are skewed.
    np.testing.assert_allclose(found.p_value, expected.pvalue, rtol=0.02)
    assert (found.p_value >= expected.pvalue * (1 - 1e-9)).all()
    assert found.paired_games == 0


def test_p_values_are_adjusted_by_holm():
    # By hand: 5 × 0.001, 4 × 0.012, then 3 × 0.0125 raised to 0.048, 2 × 0.04, and 0.9.
    found = holm(np.array([0.04, 0.001, 0.0125, 0.9, 0.012]))
    np.testing.assert_allclose(found, [0.08, 0.005, 0.048, 0.9, 0.048])
    np.testing.assert_array_equal(holm(np.array([0.04, np.nan, 0.7])), [0.12, np.nan, 1.0])


def synthetic(games, seed=0, pools=None, template=None):
    """A valuation with these games; `pools` is the variance that the pools add."""
    games = np.asarray(games)
    estimate = sb.Estimate.of(games)
    if pools is not None:
        estimate = with_pools(estimate, pools, len(games) - 1)
    names = tuple(f"p{at}" for at in range(games.shape[1]))
    sizes = np.full(len(names), 5)
    design = replace(template.design, names=names, draw_sizes=sizes, seed=seed)
    return replace(template, design=design, estimate=estimate, games=games)


@pytest.fixture(scope="module")
def template():
    return valued(0, n_games=2)


def false_alarms(template, n_games, pools, told, repeats=500):
    """How often one of ten equal providers is flagged: one by one, and any after Holm."""
    rng = np.random.default_rng(0)
    alone = together = 0.0
    for _ in range(repeats):
        games = rng.normal(size=(2, n_games, 10)) + rng.normal(0, np.sqrt(pools), size=(2, 1, 10))
        first, second = (
            synthetic(values, seed, told, template) for seed, values in enumerate(games)
        )
        found = compare(first, second)
        alone += np.mean(found.p_value < 0.05)
        together += found.beyond_chance.any()
    return alone / repeats, together / repeats


@pytest.mark.parametrize(("n_games", "pools"), [(10, 0.0), (50, 0.0), (200, 0.02)])
def test_false_alarms_keep_their_level(template, n_games, pools):
    # 500 comparisons of ten providers: standard errors 0.0031 and 0.0097 of 0.05.
    alone, together = false_alarms(template, n_games, pools, told=pools or None)
    assert alone < 0.05 + 3 * 0.0031
    assert together < 0.05 + 3 * 0.0097
    assert alone > 0.05 - 4 * 0.0031


def test_pools_that_are_not_told_raise_false_alarms(template):
    alone, together = false_alarms(template, 200, 0.02, told=None, repeats=100)
    assert alone > 0.2
    assert together > 0.5


def test_the_same_seed_is_compared_game_by_game():
    one, other = valued(0, n_games=40), valued(0, n_games=30, means=(0.0, 1.1, 2.0))
    found = compare(one, other)
    expected = ttest_rel(other.games[:, 1], one.games[:30, 1])
    assert found.paired_games == 30
    assert found.p_value[1] == pytest.approx(expected.pvalue, abs=1e-6)
    assert found.first[1] == pytest.approx(one.games[:30, 1].mean())
    np.testing.assert_array_equal(found.beyond_chance, [False, True, False])
    independent = compare(one, valued(1, n_games=30, means=(0.0, 1.1, 2.0)))
    assert not independent.beyond_chance.any()
    assert any("game by game over 30 games" in note for note in found.notes)


def test_games_that_do_not_belong_together_are_not_paired():
    one = valued(0)
    for other in (redesigned(one, seed=7), replace(one, games=np.zeros((5, 3)))):
        assert compare(one, other).paired_games == 0
    assert compare(one, valued(0, sampling=sb.Fresh(6))).paired_games == 0


def paired_pools(template, told, repeats=300):
    """How often equal providers are flagged if a game and a pool move both runs together."""
    rng = np.random.default_rng(1)
    alone = 0.0
    for _ in range(repeats):
        common = rng.normal(size=(60, 10)) + rng.normal(0, 0.3, size=10)
        own = 0.2 * (rng.normal(size=(2, 60, 10)) + rng.normal(0, 0.3, size=(2, 1, 10)))
        first, second = (synthetic(common + part, 0, told, template) for part in own)
        alone += np.mean(compare(first, second).p_value < 0.05)
    return alone / repeats


def test_the_pools_of_paired_runs_are_in_the_error(template):
    # The pools' variance is 0.09 of that of a game, in the values and in the differences.
    assert abs(paired_pools(template, told=0.09 * 1.04) - 0.05) < 4 * 0.004
    assert paired_pools(template, told=None, repeats=50) > 0.2


def test_the_pools_of_a_paired_difference_by_hand(template):
    rng = np.random.default_rng(0)
    games = rng.normal(size=(2, 20, 3))
    first, second = (
        synthetic(x, 0, pools, template) for x, pools in zip(games, (0.1, 0.3), strict=True)
    )
    found = compare(first, second)
    apart = (games[1] - games[0]).var(axis=0, ddof=1)
    ratio = np.maximum(0.1 / games[0].var(axis=0, ddof=1), 0.3 / games[1].var(axis=0, ddof=1))
    np.testing.assert_allclose(found.standard_error**2, apart / 20 + apart * ratio)
    steady = synthetic(np.ones((20, 3)), 0, 0.0, template)
    assert compare(steady, steady).p_value.tolist() == [1, 1, 1]


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


def test_labels_name_the_columns_and_the_notes():
    one, other = valued(0, names=("a", "b", "c")), valued(1, names=("a", "b", "d"))
    found = compare(one, other, labels=["May", "June"])  # a list or a tuple
    assert found.labels == ("May", "June")
    header = next(line for line in str(found).splitlines() if line.startswith("provider"))
    assert header.split()[:4] == ["provider", "May", "June", "difference"]
    assert "first" not in str(found)
    assert "second" not in str(found)
    assert any("only in June, and left out: d" in note for note in found.notes)


@pytest.mark.parametrize("labels", [("runs/of the north/May 2026", "June"), ("same", "same")])
def test_labels_that_cannot_name_columns_are_explained_above_the_table(labels):
    found = str(compare(valued(0), valued(1), labels=labels))
    assert f"first:  {labels[0]}\nsecond: {labels[1]}" in found
    header = next(line for line in found.splitlines() if line.startswith("provider"))
    assert header.split()[1:3] == ["first", "second"]


def test_nothing_in_common_is_refused():
    with pytest.raises(InvalidInput, match="no provider in common"):
        compare(valued(0), valued(1, names=("x", "y", "z")))


def test_other_estimands_are_never_flagged():
    other = valued(1, means=(0.0, 1.0, 9.0), sampling=sb.Fresh(6))
    found = compare(valued(0), other)
    assert found.adjusted_p_value[2] < 1e-6
    assert not found.beyond_chance.any()
    assert found.notes[0].startswith("warning: no provider is flagged, because the valuations draw")
    assert "(5 and 6)" in found.notes[0]
    assert "first.sizes_by_name" in found.notes[0]
    same = compare(valued(0), valued(1, means=(0.0, 1.0, 9.0)))
    assert same.beyond_chance.tolist() == [False, False, True]
    assert not any(note.startswith("warning") for note in same.notes)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (sb.Fresh(5), sb.Pooled(20, 5, replace=False), None),  # draws from the sources, both
        (sb.Fresh(5), sb.Pooled(20, 5), "estimate different things"),
        (sb.Pooled(20, 5), sb.Pooled(40, 5), "pools of different sizes"),
        (sb.Pooled(60, 5), sb.Pooled(62, 5), None),  # 0.1 % fewer different records
        (sb.Pooled(20, 5, replace=False), sb.Pooled(40, 5, replace=False), None),
    ],
)
def test_which_samplings_estimate_the_same(one, other, reason):
    found = compare(valued(0, sampling=one), valued(1, sampling=other, means=(0.0, 1.0, 9.0)))
    warned = [note for note in found.notes if note.startswith("warning")]
    assert [reason in note for note in warned] == ([] if reason is None else [True])
    assert found.beyond_chance[2] == (reason is None)


def test_other_indices_groups_and_participations_are_never_flagged():
    one = valued(0)
    shifted = replace(synthetic(one.games + 5, 1, None, one), design=one.design)
    assert compare(one, shifted).beyond_chance.all()
    for changed in ({"index": "Banzhaf()"}, {"participation": "Independent(0.5)"}):
        other = redesigned(shifted, setup={**one.setup, **changed})
        found = compare(one, other)
        assert not found.beyond_chance.any()
        assert found.notes[0].startswith("warning: no provider is flagged")


def test_the_sizes_of_a_stratified_valuation_are_played_again():
    options = {"means": (0.0, 1.0, 2.0), "sampling": sb.Stratified(20, 5, 0.8)}
    first = redesigned(valued(0, **options), draw_sizes=np.array([3, 5, 7]))
    assert first.sizes_by_name == dict(zip(first.names, (3, 5, 7), strict=True))
    sampling = sb.Pooled(20, first.sizes_by_name)
    assert compare(first, valued(1, sampling=sampling)).notes[0].startswith("note: the sampling")
    assert compare(first, valued(0, sampling=sampling)).paired_games == 40
    assert compare(first, valued(0, sampling=sb.Pooled(24, first.sizes_by_name))).paired_games == 0


def test_shared_seeds_and_unknown_errors_of_pools_are_told():
    one = valued(0, sampling=sb.Pooled(20, 5))
    old = with_moments(one, pools=None)
    assert any("not the choice of pools" in note for note in compare(old, valued(1)).notes)
    assert not any("not the choice of pools" in note for note in compare(one, valued(1)).notes)
    other = compare(valued(0), valued(0, sampling=sb.Fresh(6)))
    assert any("may share draws" in note for note in other.notes)
    assert compare(valued(0), valued(1)).notes == ()


@pytest.mark.parametrize(
    "sampling", [sb.Pooled(20, 5), sb.Pooled(20, 5, replace=False), sb.Stratified(20, 5, 0.8)]
)
def test_every_sampling_is_compared_game_by_game(sampling):
    one = valued(0, sampling=sampling)
    found = compare(one, valued(0, sampling=sampling, means=(0.0, 1.0, 2.5)))
    assert found.paired_games == 40
    assert found.beyond_chance.tolist() == [False, False, True]
    np.testing.assert_allclose(found.second, [*one.expectation[:2], one.expectation[2] + 0.5])


def test_exact_answers_differ_if_they_are_not_equal():
    providers = [sb.Provider(name, sb.ArraySource([[1.0]], [1.0])) for name in "ab"]

    def exact(worth):
        utility = sb.TableUtility([0.0, 1.0, 2.0, worth])
        return sb.value(providers, utility, sampling=sb.Fresh(1), n_games=3, seed=0)

    assert not compare(exact(3.0), exact(3.0)).beyond_chance.any()
    assert compare(exact(3.0), exact(4.0)).beyond_chance.all()


def scored_on(n_rows, seed=0, **options):
    """A valuation of a line on some validation rows."""
    rng = np.random.default_rng(n_rows)
    x = rng.normal(size=(n_rows, 1))
    utility = sb.LinearUtility(x, x[:, 0] + rng.normal(size=n_rows))
    providers = gaussian_providers((0.0, 1.0), [1.0, 1.0])
    return sb.value(
        providers, utility, sampling=sb.Fresh(5), n_games=20, seed=seed, **options
    )  # fmt: skip


def on_rows(*valuations):
    return [note for note in compare(*valuations).notes if "validation rows" in note]


def test_rows_that_the_errors_do_not_cover_are_named():
    fixed = {"fixed_validation": True}
    (note,) = on_rows(scored_on(50, **fixed), scored_on(60, 1, **fixed))
    assert note.startswith("note: the errors do not cover the choice of the validation rows, which")
    assert "differ (50 and 60 rows): differences may be due to the rows alone" in note
    (note,) = on_rows(scored_on(50, **fixed), scored_on(50, 1, **fixed))
    assert "if the valuations have different rows, differences may be due to" in note
    (note,) = on_rows(scored_on(50), scored_on(60, 1, **fixed))
    assert "the errors of the second run do not cover" in note
    (note,) = on_rows(scored_on(1), scored_on(60, 1))
    assert "the errors of the first run do not cover" in note
    # Controls: errors that cover their rows, and utilities without rows.
    assert on_rows(scored_on(50), scored_on(60, 1)) == []
    assert on_rows(valued(0), valued(1)) == []
    series = [scored_on(50), scored_on(60, 1), scored_on(60, 2, **fixed)]
    (note,) = sb.compare_series(dict(zip(("May", "June", "July"), series, strict=True))).notes
    assert "the errors of July do not cover" in note
    assert sb.compare_series(series[:2]).notes == ()
