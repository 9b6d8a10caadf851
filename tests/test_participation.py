"""Valuations of providers that take part at random."""

from itertools import permutations

import numpy as np
import pytest

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.seeds import Seeds
from tests.conftest import gaussian_providers, linear_providers, one_record_providers
from tests.test_invariance import SAMPLINGS, SOLVERS, same_bits

LAWS = [
    sb.Independent(0.6),
    sb.Cohort(3),
    sb.MarkovChain(0.3, 0.8),
    sb.Trace([[1, 1, 0, 0, 1], [0, 1, 1, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]),
]


def run(participation, **arguments):
    providers, validation = linear_providers()
    arguments = {"sampling": sb.Fresh(12), "n_games": 40, "seed": 5} | arguments
    utility = sb.LinearUtility(*validation)
    return sb.value(providers, utility, participation=participation, **arguments)


def who(law, n_games=40, n=5, seed=5):
    return law.present(Seeds(seed), [f"site {i}" for i in range(n)], range(n_games))


class Counting:
    """A source that counts its requests."""

    def __init__(self):
        self.requests = 0

    def draw(self, size, rng):
        self.requests += 1
        x = rng.normal(size=size)
        return x[:, None], x


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_if_all_take_part_always_it_is_the_plain_valuation(sampling, solver):
    plain = run(None, sampling=sampling, solver=solver)
    check_same(run(sb.Independent(1.0), sampling=sampling, solver=solver), plain)


ALWAYS = [sb.Cohort(5), sb.Trace(np.ones((3, 5))), sb.MarkovChain(0.5, 1.0)]


@pytest.mark.parametrize("always", ALWAYS, ids=repr)
def test_however_it_comes_that_all_take_part(always):
    for sampling in (sb.Fresh(12), sb.Pooled(30, 12)):
        check_same(run(always, sampling=sampling), run(None, sampling=sampling))


def check_same(found, plain):
    same_bits(found, plain)
    np.testing.assert_array_equal(found.interval(), plain.interval())
    np.testing.assert_array_equal(found.variance_standard_error, plain.variance_standard_error)
    np.testing.assert_array_equal(found.estimate.moments.products, plain.estimate.moments.products)
    assert found.access == plain.access
    assert found.evaluations == plain.evaluations
    assert (found.participation.variance_participation == 0).all()
    np.testing.assert_array_equal(found.participation.variance_data, plain.variance)


def shapley_by_hand(value, players):
    """The mean over all orders of what a player adds."""
    phi = dict.fromkeys(players, 0.0)
    orders = list(permutations(players))
    for order in orders:
        for place, player in enumerate(order):
            phi[player] += value(order[: place + 1]) - value(order[:place])
    return {player: total / len(orders) for player, total in phi.items()}


@pytest.mark.parametrize("law", [sb.Independent(0.6), sb.Cohort(3), sb.MarkovChain(0.3, 0.8)])
def test_those_present_play_the_game_without_the_others(law):
    values = np.random.default_rng(0).normal(size=16)
    providers = one_record_providers(4)
    valuation = sb.value(
        providers, sb.TableUtility(values), sampling=sb.Fresh(1), solver=sb.Exact(),
        n_games=60, seed=2, participation=law,
    )  # fmt: skip
    present = law.present(Seeds(2), [p.name for p in providers], range(60))
    for game, row in zip(valuation.games, present, strict=True):
        players = np.flatnonzero(row).tolist()
        expected = shapley_by_hand(lambda s: values[sum(1 << i for i in s)], players)
        by_hand = [expected.get(i, 0.0) for i in range(4)]
        np.testing.assert_allclose(game, by_hand, rtol=0, atol=1e-12)
        assert (game[~row] == 0).all()


def test_weights_stay_with_their_providers():
    means, weights = [1.0, 2.0, 3.0], [1.0, 10.0, 100.0]
    valuation = sb.value(
        gaussian_providers(means, [0.0] * 3), sb.AdditiveUtility(weights), sampling=sb.Fresh(2),
        n_games=50, seed=0, participation=sb.Independent(0.5),
    )  # fmt: skip
    present = sb.Independent(0.5).present(Seeds(0), ["g0", "g1", "g2"], range(50))
    np.testing.assert_allclose(valuation.games, present * np.multiply(means, weights), atol=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("sampling", [sb.Fresh(12), sb.Pooled(30, 12)], ids=repr)
@pytest.mark.parametrize("solver", [sb.Permutation(7), sb.BalancedPermutation(10)], ids=repr)
def test_every_chunk_size_and_any_workers_give_the_same_bits(law, sampling, solver):
    whole = run(law, sampling=sampling, solver=solver)
    for arguments in ({"chunk_size": 1}, {"chunk_size": 7}, {"chunk_size": 40, "n_jobs": 2}):
        part = run(law, sampling=sampling, solver=solver, **arguments)
        same_bits(part, whole)
        np.testing.assert_array_equal(part.interval(), whole.interval())
        np.testing.assert_array_equal(part.participation, whole.participation)
        assert part.access.records == whole.access.records


@pytest.mark.parametrize("law", LAWS[:3], ids=repr)
def test_processes_give_the_same_bits(law):
    providers, (X_val, y_val) = linear_providers(n=3)
    from sklearn.linear_model import Ridge

    utility = sb.EstimatorUtility(Ridge(), X_val, y_val)
    arguments = {"sampling": sb.Fresh(12), "n_games": 8, "seed": 0, "participation": law}
    one = sb.value(providers, utility, **arguments)
    same_bits(sb.value(providers, utility, n_jobs=2, **arguments), one)


@pytest.mark.parametrize("law", LAWS[:3], ids=repr)
def test_the_order_of_the_providers_does_not_matter(law):
    providers, validation = linear_providers()
    order = [3, 0, 4, 1, 2]
    arguments = {"sampling": sb.Fresh(12), "n_games": 20, "seed": 5, "participation": law}
    straight = sb.value(providers, sb.LinearUtility(*validation), **arguments)
    turned = [providers[i] for i in order]
    shuffled = sb.value(turned, sb.LinearUtility(*validation), **arguments)
    np.testing.assert_allclose(shuffled.games, straight.games[:, order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_absent_providers_are_not_asked(law, waits):
    sources = [Counting() for _ in range(5)]
    providers = [
        sb.Provider(f"site {i}", sb.FunctionSource(source.draw, waits=waits))
        for i, source in enumerate(sources)
    ]
    valuation = sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(4), n_games=40, seed=5,
        participation=law, chunk_size=9,
    )  # fmt: skip
    present = who(law)
    assert [source.requests for source in sources] == present.sum(axis=0).tolist()
    used = valuation.access.by_provider
    assert [used[p.name].requests for p in providers] == present.sum(axis=0).tolist()
    assert valuation.access.records == 4 * present.sum()
    assert ((valuation.games != 0) == present).all()


def test_pools_are_bought_of_all_and_asked_once():
    sources = [Counting() for _ in range(3)]
    providers = [sb.Provider(f"p{i}", sb.FunctionSource(s.draw)) for i, s in enumerate(sources)]
    valuation = sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Pooled(20, 5), n_games=40, seed=5,
        participation=sb.Independent(0.3),
    )  # fmt: skip
    assert [source.requests for source in sources] == [1, 1, 1]
    assert valuation.access.records == 60


def test_nobody_present_is_a_game_of_zeros_in_which_nothing_is_evaluated():
    law = sb.Trace([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
    valuation = run(law, n_games=10, solver=sb.Exact())
    assert (valuation.games[1::2] == 0).all()
    assert (valuation.games[::2] != 0).all()
    assert valuation.evaluations == 5 * 31


@pytest.mark.parametrize("limit", [{"records": 500}, {"requests": 41}])
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_budget_counts_what_is_really_asked_and_is_never_exceeded(law, limit):
    valuation = run(law, n_games=1000, budget=sb.Budget(**limit))
    (kind, most), present = next(iter(limit.items())), who(law, 1000)
    each = 12 if kind == "records" else 1
    spent = each * present.sum(axis=1).cumsum()
    assert getattr(valuation.access, kind) == spent[valuation.n_games - 1] <= most
    assert spent[valuation.n_games] > most
    assert valuation.stopped_code == "budget"


def test_a_budget_for_fewer_than_two_games_is_refused_before_any_request():
    with pytest.raises(BudgetExceeded, match="if everybody takes part; a variance needs two"):
        run(sb.Cohort(5), budget=sb.Budget(records=60))
    assert run(sb.Cohort(2), budget=sb.Budget(records=60)).n_games == 2


class Refusing:
    """A source that must not be asked."""

    def draw(self, size, rng):
        raise AssertionError("the source was asked")


@pytest.mark.parametrize(
    ("n", "arguments", "message"),
    [
        (
            3,
            {"participation": 0.8},
            r"must be Independent\(...\).*received 0.8: use sb.Independent\(0.8\)",
        ),
        (3, {"participation": sb.Cohort(4)}, "Cohort: k must be at most"),
        (3, {"participation": sb.Independent({"p0": 0.5})}, "none for provider 'p1'"),
        (25, {"solver": sb.Exact()}, "Exact: 21 providers have"),
        (5, {"solver": sb.BalancedPermutation(12)}, "multiple of the 5 providers"),
    ],
)
def test_what_cannot_be_played_is_refused_before_any_request(n, arguments, message):
    providers = [sb.Provider(f"p{i}", sb.FunctionSource(Refusing().draw)) for i in range(n)]
    given = {"sampling": sb.Fresh(4), "participation": sb.Independent(0.5)} | arguments
    with pytest.raises(InvalidInput, match=message):
        sb.value(providers, sb.AdditiveUtility(), n_games=10, seed=0, **given)


def test_solvers_need_to_fit_the_games_that_are_played():
    """Thirty providers are too many for exact values, five of them are not."""
    providers = gaussian_providers(np.arange(30.0), np.ones(30))
    arguments = {"sampling": sb.Fresh(2), "n_games": 10, "seed": 0}
    few = sb.value(providers, sb.AdditiveUtility(), participation=sb.Cohort(5), **arguments)
    assert few.setup["solver"] == "Exact()"
    assert few.evaluations == 10 * 31
    balanced = sb.value(
        providers, sb.AdditiveUtility(), participation=sb.Cohort(5),
        solver=sb.BalancedPermutation(8), **arguments,
    )  # fmt: skip
    np.testing.assert_allclose(balanced.games, few.games, rtol=0, atol=1e-12)


def test_the_frame_splits_the_variance_by_the_own_presence():
    valuation = run(sb.Independent(0.6), n_games=300, fixed_validation=True)
    frame, games, present = valuation.participation, valuation.games, who(sb.Independent(0.6), 300)
    whole = frame.variance_participation + frame.variance_data
    np.testing.assert_allclose(whole, valuation.variance, rtol=1e-12)
    for i, row in enumerate(frame.itertuples()):
        mine = games[present[:, i], i]
        assert row.rate == pytest.approx(len(mine) / 300)
        assert row.expectation_present == pytest.approx(mine.mean())
        assert row.standard_error_present == pytest.approx(mine.std(ddof=1) / np.sqrt(len(mine)))
        assert row.variance_present == pytest.approx(mine.var(ddof=1))
        assert row.variance_data == pytest.approx(row.rate * mine.var(ddof=1))
        formula = row.rate * (1 - row.rate) * mine.mean() ** 2
        assert row.variance_participation == pytest.approx(formula, rel=0.02)


def test_without_a_participation_everybody_is_always_present():
    frame = run(None).participation
    assert (frame.rate == 1).all()
    assert (frame.variance_participation == 0).all()


RARE = {f"site {i}": 1e-6 if i == 2 else 0.9 for i in range(5)}


@pytest.mark.parametrize("law", [sb.Independent(RARE), sb.MarkovChain(RARE, 0.2)], ids=repr)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_who_was_never_present_has_no_value_if_present(law, sampling):
    valuation = run(law, sampling=sampling, solver=sb.Permutation(7))
    row = valuation.participation.iloc[2]
    assert (row.rate, row.variance_participation, row.variance_data) == (0, 0, 0)
    assert np.isnan([row.expectation_present, row.standard_error_present]).all()
    assert valuation.expectation[2] == 0
    assert np.isfinite(valuation.standard_error).all()
    assert np.isinf(valuation.interval()[2]).all()
    assert np.isfinite(np.delete(valuation.interval(), 2, axis=0)).all()
    assert "unbounded: site 2 took part in no game; play more games" in str(valuation)
    assert valuation.ranks().to_frame().notna().all().all()


def test_who_was_present_once_has_an_error():
    once = np.ones((40, 5))
    once[1:, 2] = 0
    valuation = run(sb.Trace(once))
    assert (valuation.standard_error > 0).all()
    assert np.isnan(valuation.participation.standard_error_present.iloc[2])


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("sampling", [sb.Fresh(12), sb.Pooled(30, 12)], ids=repr)
def test_json_and_text_keep_the_participation(law, sampling):
    valuation = run(law, sampling=sampling)
    again = sb.Valuation.from_json(valuation.to_json())
    assert again.to_json() == valuation.to_json()
    assert str(again) == str(valuation)
    np.testing.assert_array_equal(again.participation, valuation.participation)
    np.testing.assert_array_equal(again.interval(), valuation.interval())
    text = str(valuation)
    assert "takes part" in text
    assert "from the provider's own presence" in text
    assert repr(law) in text
    assert valuation.estimand.endswith(law.estimand)
    assert "takes part" in valuation._repr_html_()
    columns = valuation.participation.columns.tolist()
    assert valuation.to_frame().columns[-len(columns) :].tolist() == columns


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_questions_about_several_providers_have_answers(law):
    valuation = run(law, n_games=100)
    assert valuation.difference("site 0", "site 1").standard_error > 0
    assert (valuation.ranks().to_frame().notna()).all().all()
    assert valuation.shares().share.sum() == pytest.approx(1)
    assert np.isfinite(valuation.interval(simultaneous=True)).all()
    assert valuation.top(2).sum() == pytest.approx(2)


def test_compare_warns_of_another_participation():
    plain, part = run(None), run(sb.Independent(0.6))
    found = sb.compare(plain, part)
    assert any("take part in different ways" in note for note in found.notes)
    assert not found.beyond_chance.any()
    assert found.paired_games == 40
    assert sb.compare(part, part).difference.max() == 0
    assert sb.compare(run(LAWS[2]), run(LAWS[2])).paired_games == 0


@pytest.mark.parametrize(
    "law", [sb.Independent(0.5), sb.MarkovChain(0.5, 0.9), sb.Trace([[1], [0]])]
)
def test_a_single_provider_may_come_and_go(law):
    valuation = sb.value(
        gaussian_providers([5.0], [1.0]), sb.AdditiveUtility(), sampling=sb.Fresh(3),
        n_games=60, seed=1, participation=law,
    )  # fmt: skip
    assert 0 < valuation.standard_error[0] < 3
    assert valuation.participation.expectation_present.iloc[0] == pytest.approx(5, abs=1)


def test_a_stopping_rule_sees_the_errors_of_the_participation():
    valuation = run(sb.MarkovChain(0.3, 0.8), n_games=4000, stop=sb.Precision(absolute=0.045))
    assert valuation.stopped_code == "rule"
    assert valuation.n_games < 4000


def test_own_samplings_ask_those_present_only():
    from dataclasses import dataclass

    @dataclass(frozen=True, eq=False, kw_only=True)
    class TwiceGames(sb.Realisation):
        access: object

        shared: object

        def draws(self, games):
            assert [len(drawn.batch) for drawn in self.shared] == [40] * 5
            self.access.fetch("look", games, [1] * 5, "a look")
            return self.access.fetch("draw", games, self.design.draw_sizes.tolist(), "the draws")

    @dataclass(frozen=True)
    class Twice(sb.Sampling):
        def check(self, providers):
            pass

        def prepare(self, access):
            return TwiceGames(
                design=sb.Design.of(access, np.full(5, 3), "two fetches"),
                cost=sb.extend.Cost(requests=10, records=20), access=access,
                shared=access.fetch("shared", range(1), [2] * 5, "what all games share"),
            )  # fmt: skip

    valuation = run(sb.Cohort(2), sampling=Twice(), n_games=100, budget=sb.Budget(records=210))
    assert valuation.n_games == 10  # every game counts in full, so that no budget is exceeded
    assert valuation.access.records == 10 * 2 * 4 + 10


def test_groups_of_any_size_are_refused():
    providers, validation = linear_providers()
    for members in (1, 2):
        players = [sb.Group("group", providers[:members]), *providers[members:]]
        with pytest.raises(InvalidInput, match="with groups everybody must take part"):
            sb.value(
                players, sb.LinearUtility(*validation), sampling=sb.Fresh(12), n_games=5,
                participation=sb.Independent(0.5),
            )  # fmt: skip
