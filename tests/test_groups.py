"""Valuations of providers in groups, from the arguments to the result."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput, RunError
from shapband.estimate.moments import moments_of_games
from shapband.runs.plausible import check_manifest, check_valuation
from shapband.runs.read import load
from tests.bad_input import refused
from tests.conftest import (
    gaussian_providers,
    linear_providers,
    one_record_providers,
    redesigned,
)
from tests.counted import Counted

SAMPLINGS = [
    sb.Fresh(12),
    sb.Pooled(30, 12),
    sb.Stratified(30, 12, 0.8),
    sb.Pooled(36, 12, replace=False),
]
SOLVERS = [sb.Exact(), sb.Permutation(7), sb.Permutation(1)]


def run(providers, **arguments):
    _, validation = linear_providers()
    arguments = {"sampling": sb.Fresh(12), "n_games": 13, "seed": 5} | arguments
    return sb.value(providers, sb.LinearUtility(*validation), **arguments)


def in_groups():
    """Two groups of two, and a provider alone."""
    a, b, c, d, e = linear_providers()[0]
    return [sb.Group("coast", [a, b]), c, sb.Group("hills", [d, e])]


def same_bits(one, other):
    np.testing.assert_array_equal(one.games, other.games)
    for name in ("mean", "m2", "m3", "m4", "noise", "noise_m2", "cross_21"):
        pair = [getattr(valuation.estimate.moments, name) for valuation in (one, other)]
        np.testing.assert_array_equal(*pair)


def same_groups(one, other):
    same_bits(one, other)
    assert one.groups.members == other.groups.members
    pd.testing.assert_frame_equal(one.groups.to_frame(), other.groups.to_frame(), rtol=0, atol=0)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", [*SOLVERS, sb.BalancedPermutation(10), None], ids=repr)
def test_groups_of_one_give_the_shapley_values_bit_for_bit(sampling, solver):
    providers, _ = linear_providers()
    groups = [sb.Group(f"group of {one.name}", [one]) for one in providers[1:]]
    plain = run(providers, sampling=sampling, solver=solver)
    grouped = run([providers[0], *groups], sampling=sampling, solver=solver)
    same_bits(grouped, plain)
    assert plain.groups is None
    np.testing.assert_array_equal(grouped.groups.expectation, plain.expectation[1:])
    np.testing.assert_allclose(grouped.groups.variance, plain.variance[1:], rtol=1e-12)
    # The common effect of validation rows is a mean over groups, without the provider in none.
    np.testing.assert_allclose(grouped.groups.interval(), plain.interval()[1:], atol=1e-3)
    fixed = {"sampling": sampling, "solver": solver, "fixed_validation": True}
    np.testing.assert_allclose(
        run([providers[0], *groups], **fixed).groups.interval(),
        run(providers, **fixed).interval()[1:],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        grouped.groups.variance_interval(), plain.variance_interval()[1:], rtol=1e-12
    )


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_group_of_one_is_a_provider_alone_among_larger_groups(solver):
    coast, alone, hills = in_groups()
    plain = run([coast, alone, hills], solver=solver)
    grouped = run([coast, sb.Group("one", [alone]), hills], solver=solver)
    same_bits(grouped, plain)
    assert grouped.groups.names == ("coast", "one", "hills")


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_chunk_size_and_number_of_workers_gives_the_same_bits(sampling, solver):
    whole = run(in_groups(), sampling=sampling, solver=solver)
    for options in ({"chunk_size": 1}, {"chunk_size": 4}, {"n_jobs": 2, "chunk_size": 3}):
        same_groups(run(in_groups(), sampling=sampling, solver=solver, **options), whole)


def test_processes_give_the_same_bits():
    from sklearn.linear_model import Ridge

    _, (X_val, y_val) = linear_providers()
    utility = sb.EstimatorUtility(Ridge(), X_val, y_val)
    arguments = {"sampling": sb.Pooled(30, 12), "n_games": 5, "seed": 0}
    for solver in (sb.Exact(), sb.Permutation(3)):
        one = sb.value(in_groups(), utility, solver=solver, **arguments)
        same_groups(sb.value(in_groups(), utility, solver=solver, n_jobs=2, **arguments), one)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_the_order_of_groups_and_members_does_not_matter(solver):
    coast, alone, hills = in_groups()
    turned = [sb.Group("hills", hills.providers[::-1]), coast, alone]
    straight, other = run([coast, alone, hills], solver=solver), run(turned, solver=solver)
    order = [straight.names.index(name) for name in other.names]
    assert order == [4, 3, 0, 1, 2]
    np.testing.assert_allclose(other.games, straight.games[:, order], rtol=0, atol=1e-12)
    assert other.groups.names == ("hills", "coast")
    np.testing.assert_allclose(
        other.groups.expectation, straight.groups.expectation[::-1], atol=1e-12
    )


def test_a_groups_moments_are_those_of_its_value_in_every_game():
    valuation = run(in_groups(), solver=sb.Permutation(6), n_games=70, fixed_validation=True)
    coast, hills = valuation.games[:, :2].sum(axis=1), valuation.games[:, 3:].sum(axis=1)
    sums = np.stack([coast, hills], axis=1)
    groups = valuation.groups
    np.testing.assert_allclose(groups.expectation, sums.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(
        groups.found.estimate.raw_variance, sums.var(axis=0, ddof=1), rtol=1e-12
    )
    np.testing.assert_allclose(groups.standard_error, sums.std(axis=0, ddof=1) / np.sqrt(70))
    assert (groups.variance < groups.found.estimate.raw_variance).all()
    low, high = groups.interval().T
    assert ((low < groups.expectation) & (groups.expectation < high)).all()
    # The control: errors of members that are added up are those of another question.
    added = np.hypot(*valuation.standard_error[:2])
    assert abs(added / groups.standard_error[0] - 1) > 0.02


def test_the_value_of_a_group_is_its_shapley_value_among_the_groups():
    """A provider that holds the records of a whole group stands for it."""

    def total(X, y):
        return float(np.sqrt(len(y)) + y.sum() ** 2)

    a, b, c = gaussian_providers([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    both = sb.Provider("both", sb.ArraySource([[0.0]] * 4, [1.0, 1.0, 2.0, 2.0]))
    arguments = {"n_games": 3, "seed": 0}
    grouped = sb.value(
        [sb.Group("g", [a, b]), c], sb.FunctionUtility(total), sampling=sb.Fresh(2), **arguments
    )

    table = [0.0, total([], np.array([1.0, 1.0, 2.0, 2.0])), total([], np.array([3.0, 3.0]))]
    table.append(total([], np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])))
    plain = sb.value(
        [both, replace(both, name="c")], sb.TableUtility(table), sampling=sb.Fresh(1), **arguments
    )
    np.testing.assert_allclose(grouped.groups.expectation[0], plain.expectation[0], rtol=1e-12)
    np.testing.assert_allclose(grouped.expectation[2], plain.expectation[1], rtol=1e-12)


def test_the_result_round_trips_through_json():
    for arguments in ({}, {"solver": sb.Permutation(1)}, {"sampling": sb.Pooled(30, 12)}):
        valuation = run(in_groups(), **arguments)
        text = valuation.to_json()
        again = sb.Valuation.from_json(text)
        assert again.to_json() == text
        assert str(again) == str(valuation)
        same_groups(again, valuation)
    without = json.loads(run(linear_providers()[0]).to_json())
    del without["design"]["grouping"]
    assert sb.Valuation.from_json(json.dumps(without)).groups is None


def test_the_table_shows_members_below_their_group():
    providers = gaussian_providers([1.0, 5.0, 4.0, 9.0], [0.1] * 4)
    groups = [sb.Group("low", providers[:2]), providers[2], sb.Group("=high", providers[3:])]
    valuation = sb.value(groups, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=40, seed=0)
    text = str(valuation)
    assert text.startswith("4 providers, 3 of them in 2 groups, 40 games")
    rows = text.split("\n\n")[1].splitlines()[1:]
    assert [row[:7].rstrip() for row in rows] == ["=high", "  g3", "low", "  g1", "  g0", "g2"]
    shares = [float(row.split()[-3]) for row in rows]
    np.testing.assert_allclose([shares[0], shares[2]], [shares[1], sum(shares[3:5])], atol=0.11)
    assert "padding-left: 2em" in valuation._repr_html_()
    frame = valuation.to_frame()
    assert frame["group"].fillna("alone").tolist() == ["low", "low", "alone", "=high"]
    assert "group" not in run(linear_providers()[0]).to_frame()


def test_a_game_without_randomness_has_exact_groups():
    a, b, c = one_record_providers(3)
    table = np.array([0.0, 1, 2, 4, 3, 5, 6, 10])
    for players in ([sb.Group("g", [a, b]), c], [sb.Group("all", [a, b, c])]):
        valuation = sb.value(
            players, sb.TableUtility(table), sampling=sb.Fresh(1), n_games=40, seed=0
        )
        assert np.isfinite(valuation.groups.interval()).all()
        assert (valuation.groups.standard_error < 1e-14).all()
        assert "unbounded" not in str(valuation)


def test_a_group_that_never_changed_is_named_below_the_table():
    """The whole is always worth 1, whatever its members are worth."""

    def whole(X, y):
        return 1.0 if len(y) == 6 else float(y.mean())

    players = [sb.Group("all", gaussian_providers([0.5, 0.5], [0.1, 0.1]))]
    options = {"sampling": sb.Fresh(3), "seed": 0}
    few = sb.value(players, sb.FunctionUtility(whole), n_games=5, **options)
    assert str(few).startswith("2 providers in 1 group, 5 games")
    assert "unbounded: the values of all were the same in all 5 games" in str(few)
    assert np.isinf(few.groups.interval()).all()
    many = sb.value(players, sb.FunctionUtility(whole), n_games=40, **options)
    np.testing.assert_allclose(many.groups.interval(), [[1.0, 1.0]], atol=1e-13)


def test_a_coalition_that_fails_is_named():
    a, b, c = one_record_providers(3)

    def fails(X, y):
        if sorted(X[:, 0]) == [0.0, 2.0]:
            raise ValueError("no fit")
        return 1.0

    players, utility = [sb.Group("g", [a, b]), c], sb.FunctionUtility(fails)
    with pytest.raises(EvaluationError, match=r"coalition \{'p0', 'p2'\} could not .* no fit"):
        sb.value(players, utility, sampling=sb.Fresh(1), n_games=2, seed=0)


def test_values_that_are_not_finite_are_refused():
    a, b, c = one_record_providers(3)
    utility = sb.FunctionUtility(lambda X, y: np.inf if len(y) == 2 else 1.0)
    with pytest.raises(EvaluationError, match=r"coalition \{'p0', 'p1'\} .* returned inf"):
        sb.value([sb.Group("g", [a, b]), c], utility, sampling=sb.Fresh(1), n_games=2, seed=0)


def test_members_that_cancel_leave_a_group_that_is_constant_up_to_rounding():
    """Values of 1e9 and -1e9 add up to 1, with the rounding errors of 1e9."""
    a, b, c = gaussian_providers([1e9, -1e9, 0.0], [1e6, 1e6, 1.0])
    utility = sb.AdditiveUtility()
    valuation = sb.value(
        [sb.Group("g", [a, b]), c], utility, sampling=sb.Fresh(3), n_games=50, seed=0
    )
    low, high = valuation.groups.interval()[0]
    assert low < 0 < high


def test_a_run_is_resumed_to_the_same_bits_and_shown_on_its_way(tmp_path):
    class Stopped(Exception):
        pass

    def stop(progress):
        if progress.done >= 6:
            raise Stopped

    whole = run(in_groups(), solver=sb.Permutation(4), sampling=sb.Pooled(30, 12))
    arguments = {"solver": sb.Permutation(4), "sampling": sb.Pooled(30, 12), "chunk_size": 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shapband._value.progress_display", lambda _: Watching(stop))
        with pytest.raises(Stopped):
            run(in_groups(), run=tmp_path / "run", **arguments)
    status = load(tmp_path / "run").status
    assert status.done == 6
    short = run(in_groups(), n_games=6, **arguments)
    so_far = status.valuation.groups.to_frame()
    pd.testing.assert_frame_equal(so_far, short.groups.to_frame(), rtol=0, atol=0)
    resumed = run(in_groups(), run=tmp_path / "run", **arguments)
    same_groups(resumed, whole)
    loaded = load(tmp_path / "run")
    loaded.verify()
    same_groups(loaded.valuation, whole)


class Watching:
    def __init__(self, watch):
        self.watch = watch

    def __enter__(self):
        return self.watch

    def __exit__(self, *raised):
        pass


def test_a_run_refuses_other_groups_by_name(tmp_path):
    coast, alone, hills = in_groups()
    run([coast, alone, hills], run=tmp_path / "run")
    for players in (
        linear_providers()[0],
        [coast, alone, *hills.providers],
        [sb.Group("shore", coast.providers), alone, hills],
        [coast, sb.Group("one", [alone]), hills],
    ):
        with pytest.raises(RunError, match=r"the providers changed .* group 'coast' \['site 0'"):
            run(players, run=tmp_path / "run")
    plain = tmp_path / "plain"
    run(linear_providers()[0], run=plain)
    with pytest.raises(RunError, match=r"the providers changed .*to group 'coast' \['site 0'"):
        run(in_groups(), run=plain)


@pytest.mark.parametrize("groups", [["x"], [""] * 5, [1, 2, 3, 4, 5], "coast", {"a": "b"}])
def test_altered_groups_of_a_manifest_are_refused(groups):
    """Whoever alters a run can compute its hashes anew."""
    names = [one.name for one in linear_providers()[0]]
    check_manifest({"providers": names, "groups": None})
    check_manifest({"providers": names, "groups": ["coast", "coast", "", "hills", "hills"]})
    with pytest.raises(ValueError, match="groups"):
        check_manifest({"providers": names, "groups": groups})


def test_a_result_must_have_the_groups_of_its_run():
    grouped, plain = run(in_groups()), run(linear_providers()[0])
    names, labels = list(grouped.names), ["coast", "coast", "", "hills", "hills"]
    check_valuation(grouped, {"providers": names, "groups": labels})
    check_valuation(plain, {"providers": names})  # of a run that knows of no groups
    for valuation, groups in ((grouped, None), (plain, labels), (grouped, labels[::-1])):
        with pytest.raises(ValueError, match="the valuation has other groups than the run"):
            check_valuation(valuation, {"providers": names, "groups": groups})
    without = redesigned(grouped, grouping=None)
    with pytest.raises(ValueError, match="the valuation has other groups than the run"):
        check_valuation(without, {"providers": names, "groups": labels})


def test_moments_of_groups_are_those_of_the_groups():
    grouped, plain = run(in_groups()), run(linear_providers()[0])
    wrong = grouped.group_estimate._replace(estimate=plain.estimate)
    for valuation, said in (
        (replace(grouped, group_estimate=wrong), "one number for each"),
        (replace(grouped, group_estimate=None), "if and only if it has groups"),
        (redesigned(grouped, grouping=None), "if and only if it has groups"),
    ):
        with pytest.raises(InvalidInput, match=said):
            sb.Valuation.from_json(valuation.to_json())


def test_comparing_values_of_different_groups_warns():
    plain, grouped = run(linear_providers()[0]), run(in_groups())
    assert any("different groups" in note for note in sb.compare(plain, grouped).notes)
    a, *others = linear_providers()[0]
    for one, other in ((grouped, grouped), (plain, run([sb.Group("g", [a]), *others]))):
        assert not any("groups" in note for note in sb.compare(one, other).notes)


def test_the_groups_of_more_than_500_providers_have_an_upper_bound_of_the_error():
    providers = gaussian_providers([1.0] * 501, [1.0] * 501)
    players = [sb.Group("g", providers[:4]), *providers[4:]]
    arguments = {"sampling": sb.Pooled(20, 5), "n_games": 20, "seed": 0}
    valuation = sb.value(players, sb.AdditiveUtility(), solver=sb.Permutation(2), **arguments)
    assert valuation.estimate.moments.products is None
    pools = valuation.estimate.moments.pools.variance[:4]
    np.testing.assert_allclose(
        valuation.group_estimate.estimate.moments.pools.variance[0], np.sqrt(pools).sum() ** 2
    )


def test_moments_of_groups_fold_like_those_of_sums():
    valuation = run(
        in_groups(), solver=sb.Exact(), sampling=sb.Pooled(36, 12, replace=False), n_games=12
    )
    sums = np.stack([valuation.games[:, :2].sum(axis=1), valuation.games[:, 3:].sum(axis=1)], 1)
    expected = moments_of_games(sums, np.zeros_like(sums), valuation.design.per_shuffle)
    folded = valuation.group_estimate.estimate.moments.shuffles.square
    np.testing.assert_allclose(folded, expected.shuffles.square, rtol=1e-9, atol=1e-18)
    for name in ("mean", "m2", "m3", "m4"):
        found = getattr(valuation.group_estimate.estimate.moments, name)
        np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-9, atol=1e-18)


FRAME = {
    "site": ["b", "a", "b", "c", "d", "a"],
    "region": ["north", "south", "north", "north", None, "south"],
    "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "y": [0.0, 1.0, 0.0, 1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_a_frame_names_the_groups(kind):
    players = sb.providers_from_frame(kind(FRAME), by="site", target="y", group="region")
    shown = [
        (one.name, [p.name for p in one.providers]) if isinstance(one, sb.Group) else one.name
        for one in players
    ]
    assert shown == ["d", ("north", ["b", "c"]), ("south", ["a"])]
    assert players[0].source.schema.columns == ("x",)
    numbers = kind({**FRAME, "region": [1.0, 2.0, 1.0, 1.0, np.nan, 2.0]})
    named = sb.providers_from_frame(numbers, by="site", target="y", group="region")
    assert [one.name for one in named] == ["1.0", "2.0", "d"]
    texts = kind({**FRAME, "region": ["n", "s", "n", "n", "", "s"]})
    named = sb.providers_from_frame(texts, by="site", target="y", group="region")
    assert [one.name for one in named] == ["d", "n", "s"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_provider_of_two_groups_is_refused(kind):
    for region, said in (("west", "'north', 'west'"), (None, "no value, 'north'")):
        frame = kind({**FRAME, "region": ["north", "south", region, "north", None, "south"]})
        message = refused(
            sb.providers_from_frame, "'b'", frame=frame, by="site", target="y", group="region"
        )
        assert said in message


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"group": "regoin"}, "group='regoin' is not a column"),
        ({"group": "site"}, "by and group are both 'site'"),
        ({"group": "y"}, "group and target are both 'y'"),
    ],
)
def test_columns_of_groups_are_checked(columns, said):
    arguments = {"frame": pd.DataFrame(FRAME), "by": "site", "target": "y"} | columns
    refused(sb.providers_from_frame, said, **arguments)


def unasked(players, said):
    """Value providers whose sources count requests; none may be made."""
    sources = [one.source for one in flat(players)]
    with pytest.raises(InvalidInput, match=said):
        sb.value(players, sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=2, seed=0)
    assert sum(source.asked for source in sources) == 0


def flat(players):
    return [p for one in players for p in (one.providers if isinstance(one, sb.Group) else [one])]


def counted(*names):
    source = sb.ArraySource(np.ones((4, 1)), np.ones(4))
    return [sb.Provider(name, Counted(source)) for name in names]


def test_names_of_groups_and_providers_must_differ():
    a, b, c = counted("a", "b", "c")
    other = counted("a")[0]
    unasked([sb.Group("c", [a, b]), c], "a provider and a group are named 'c'")
    unasked([sb.Group("a", [a, b]), c], "a provider and a group are named 'a'")
    unasked([sb.Group("g", [a]), sb.Group("g", [b]), c], "two groups are named 'g'")
    unasked([sb.Group("g", [a, b]), other], "two providers are named 'a'")
    unasked([sb.Group("g", [a, other]), c], "two providers are named 'a'")


def test_a_group_refuses_what_is_no_provider():
    a, b = counted("a", "b")
    refused(sb.Group, "name", name="", providers=[a])
    refused(sb.Group, "name", name=None, providers=[a])
    refused(sb.Group, "group 'g': providers", name="g", providers=[])
    refused(sb.Group, "group 'g': providers", name="g", providers=a)
    refused(sb.Group, "group 'g': providers[1]", name="g", providers=[a, "b"])
    inner = sb.Group("inner", [b])
    message = refused(sb.Group, "group 'g': providers[1]", name="g", providers=[a, inner])
    assert "'inner'" in message
    assert "cannot be nested" in message


def test_solvers_without_groups_are_refused_before_a_source_is_asked():
    a, b, c = counted("a", "b", "c")
    with pytest.raises(InvalidInput, match="use Permutation or Exact"):
        sb.value(
            [sb.Group("g", [a, b]), c],
            sb.AdditiveUtility(),
            sampling=sb.Fresh(1),
            solver=sb.BalancedPermutation(6),
            n_games=2,
        )
    assert sum(one.source.asked for one in (a, b, c)) == 0


def test_a_group_keeps_its_members_if_the_list_changes():
    members = one_record_providers(3)
    group = sb.Group("g", members[:2])
    listed = list(group.providers)
    listed.append(members[2])
    assert [one.name for one in group.providers] == ["p0", "p1"]
