"""Payouts: exact sums, free of order, honest errors, and statements that keep others private."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.conftest import redesigned, with_moments, with_pools

import shapband as sb
from shapband.estimate import simulate
from shapband.market.paying import policies
from shapband.market.paying.apportion import apportion
from shapband.market.paying.policies import risk_weights

CURRENCIES = {"JPY": 0, "EUR": 2, "KWD": 3}
values = st.lists(st.floats(-5, 10), min_size=1, max_size=12)


def valuation_of(games: np.ndarray, names: tuple[str, ...]) -> sb.Valuation:
    """A valuation whose games have these values."""
    n = len(names)
    return sb.Valuation(
        design=sb.Design(
            names=names,
            seed=0,
            draw_sizes=np.full(n, 10),
            estimand="draws of 10 records",
            estimand_code="sources",
            setup={"utility": "made up"},
        ),
        estimate=sb.Estimate.of(games),
        games=games,
        access=sb.AccessReport({name: sb.extend.Usage(1, 10, 0.0) for name in names}),
        evaluations=1,
        failures=0,
        stopped="all games were played",
        stopped_code="n_games",
        seconds=0.0,
    )


def some_games(means: list[float], seed: int = 0, n_games: int = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(means) + rng.normal(size=(n_games, len(means)))


@given(
    means=values,
    units=st.integers(0, 10**15),
    currency=st.sampled_from(sorted(CURRENCIES)),
    policy=st.sampled_from(["proportional", "risk", "floor", "lower_bound"]),
)
def test_amounts_sum_exactly_in_every_currency_and_policy(
    means: list[float], units: int, currency: str, policy: str
) -> None:
    names = tuple(f"p{at}" for at in range(len(means)))
    valuation = valuation_of(some_games(means), names)
    amount = Decimal(units).scaleb(-CURRENCIES[currency])
    extra = {"risk": {"risk_aversion": 0.1}, "floor": {"floor": 0}}.get(policy, {})
    try:
        paid = sb.payouts(valuation, amount, currency, policy, **extra)
    except sb.errors.InvalidInput as refused:
        assert "no provider has a positive weight" in str(refused)  # noqa: PT017
        assume(False)
    assert sum(paid.amounts.values()) == amount
    assert all(one >= 0 for one in paid.amounts.values())
    exponents = {one.as_tuple().exponent for one in paid.amounts.values()}
    assert exponents == {-CURRENCIES[currency]}


@given(
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=12),
    units=st.integers(0, 10**12),
    seed=st.integers(0, 1000),
)
def test_the_order_of_the_providers_moves_no_unit(
    weights: list[float], units: int, seed: int
) -> None:
    assume(max(weights) > 0)
    names = [f"p{at}" for at in range(len(weights))]
    once = dict(zip(names, apportion(units, weights, names), strict=True))
    order = np.random.default_rng(seed).permutation(len(names))
    again = apportion(units, [weights[at] for at in order], [names[at] for at in order])
    assert once == dict(zip([names[at] for at in order], again, strict=True))
    assert sum(once.values()) == units


def test_equal_providers_differ_by_one_unit_at_most_and_the_hash_decides() -> None:
    names = [f"p{at}" for at in range(7)]
    given_out = apportion(100, [0.1 + 0.2] * 3 + [0.3] * 4, names)
    assert sorted(given_out) == [14] * 5 + [15] * 2
    # The control: by position, the first two would have got them.
    assert given_out[:2] != [15, 15]


def test_a_quota_is_never_missed_by_a_whole_unit() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        weights = rng.exponential(size=9)
        given_out = apportion(12_345, weights.tolist(), [str(at) for at in range(9)])
        quota = 12_345 * weights / weights.sum()
        assert (np.abs(np.array(given_out) - quota) < 1).all()


def test_risk_weights_sum_to_the_mean_minus_the_risk_of_the_whole() -> None:
    games = some_games([1.0, 2.0, 3.0])
    weights = risk_weights(valuation_of(games, ("a", "b", "c")), 0.5)
    total = games.sum(axis=1)
    assert weights.estimate.sum() == pytest.approx(total.mean() - 0.5 * total.var(ddof=1))


def test_risk_pays_more_to_whoever_moves_against_the_others() -> None:
    rng = np.random.default_rng(2)
    common = rng.normal(size=4_000)
    games = np.stack([5 + common, 5 + common, 5 - common], axis=1)
    valuation = valuation_of(games, ("a", "b", "hedge"))
    paid = sb.payouts(valuation, 300, policy="risk", risk_aversion=0.5).amounts
    assert paid["hedge"] > paid["a"] + 20
    plain = sb.payouts(valuation, 300).amounts
    assert abs(plain["hedge"] - plain["a"]) < 5


@pytest.mark.parametrize("policy", ["proportional", "risk"])
def test_the_standard_error_is_the_spread_of_payouts_over_valuations(policy: str) -> None:
    means, names = [1.0, 3.0, 5.0], ("small", "middle", "large")
    extra = {"risk_aversion": 0.3} if policy == "risk" else {}
    paid = [
        sb.payouts(valuation_of(some_games(means, seed), names), 1000, policy=policy, **extra)
        for seed in range(200)
    ]
    amounts = np.array([[float(one) for one in each.amounts.values()] for each in paid])
    told = np.mean([each.standard_error for each in paid], axis=0)
    # A standard deviation from 200 has a standard error of 5 %.
    assert told == pytest.approx(amounts.std(axis=0), rel=0.2)
    # The control: with a tenth of the error the check fails.
    assert told / 10 != pytest.approx(amounts.std(axis=0), rel=0.2)


def test_the_error_of_pools_is_in_the_error_of_payouts() -> None:
    task = sb.datasets.wine()
    pooled = sb.value(
        task.providers, task.utility, sampling=sb.Pooled(100, 60), n_games=200, seed=0
    )
    conditional = with_moments(pooled, pools=None)
    for policy, extra in (("proportional", {}), ("risk", {"risk_aversion": 1.0})):
        whole = sb.payouts(pooled, 1000, policy=policy, **extra).standard_error
        part = sb.payouts(conditional, 1000, policy=policy, **extra).standard_error
        assert (whole > 1.5 * part).all()


def test_pools_make_the_errors_of_expectations_larger_and_not_those_of_the_risk() -> None:
    """With a huge aversion payments follow the risk alone, which is that of these pools."""
    games = some_games([3.0, 4.0, 5.0])
    valuation = valuation_of(games, ("a", "b", "c"))
    estimate = with_pools(valuation.estimate, 50 * valuation.raw_variance / 40, 9.0)
    pooled = replace(valuation, estimate=estimate)
    errors = {
        (name, aversion): np.concatenate([*risk_weights(one, aversion).errors()]).std(axis=0)
        for name, one in (("pooled", pooled), ("plain", valuation))
        for aversion in (0.0, 1e9)
    }
    np.testing.assert_allclose(errors["pooled", 1e9], errors["plain", 1e9], rtol=1e-6)
    assert (errors["pooled", 0.0] > 5 * errors["plain", 0.0]).all()


@pytest.mark.parametrize("policy", ["proportional", "risk", "lower_bound"])
def test_many_providers_have_the_errors_of_few(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """From kept games instead of covariances; 4,000 draws give a standard deviation to 1.1 %."""
    rng = np.random.default_rng(0)
    games = some_games([3.0, 4.0, 5.0, 4.5]) + 2 * rng.normal(size=(40, 1)) * [1, 1, -1, 0]
    valuation = valuation_of(games, tuple("abcd"))
    extra = {"risk_aversion": 0.2} if policy == "risk" else {}

    def errors(one: sb.Valuation) -> np.ndarray:
        return sb.payouts(one, 1000, policy=policy, **extra).standard_error

    few = errors(valuation)
    monkeypatch.setattr(policies, "MANY", 0)
    many = errors(with_moments(valuation, products=None))
    np.testing.assert_allclose(many, few, rtol=4 * 0.016)
    monkeypatch.setattr(simulate, "_BLOCK", 400)  # 40 blocks instead of one
    np.testing.assert_allclose(errors(with_moments(valuation, products=None)), many, rtol=1e-9)
    if policy != "risk":  # the control: errors that are not correlated
        alone = errors(replace(with_moments(valuation, products=None), games=games[:0]))
        assert (np.abs(alone / few - 1) > 4 * 0.016).any()


def test_negative_values_receive_nothing_and_are_told() -> None:
    paid = sb.payouts(valuation_of(some_games([-9.0, 4.0]), ("harmful", "good")), "10.01")
    assert paid.amounts == {"harmful": Decimal("0.00"), "good": Decimal("10.01")}
    assert "not above zero, which counts as zero, since nobody pays in: harmful" in str(paid)


def test_nobody_to_pay_is_an_error() -> None:
    valuation = valuation_of(some_games([-9.0, -9.0]), ("a", "b"))
    for policy, meaning in {"risk": "minus 0.5 ×", "lower_bound": "lower ends"}.items():
        more = {"risk_aversion": 0.5} if policy == "risk" else {}
        with pytest.raises(sb.errors.InvalidInput) as refused:
            sb.payouts(valuation, 10, policy=policy, **more)
        told = str(refused.value)
        assert told.startswith("payouts: no provider has a positive weight (")
        assert meaning in told
        assert told.endswith("), so the amount cannot be divided")


def test_a_floor_that_leaves_nothing_needs_no_weights() -> None:
    valuation = valuation_of(some_games([-9.0, -9.0]), ("a", "b"))
    paid = sb.payouts(valuation, 10, policy="floor", floor=5)
    assert set(paid.amounts.values()) == {Decimal("5.00")}
    with pytest.raises(sb.errors.InvalidInput, match="no provider has a positive weight"):
        sb.payouts(valuation, "10.01", policy="floor", floor=5)


def test_whole_numbers_of_arrays_are_amounts() -> None:
    valuation = valuation_of(some_games([3.0, 4.0]), ("a", "b"))
    paid = sb.payouts(valuation, np.array([60, 40]).sum())
    assert paid.amounts == sb.payouts(valuation, 100).amounts


def test_a_currency_that_is_not_known_is_told() -> None:
    valuation = valuation_of(some_games([3.0, 4.0]), ("a", "b"))
    assert "YEN is not a currency of ISO 4217" in str(sb.payouts(valuation, 10, currency="YEN"))
    for known in ("EUR", "USD", "JPY", "KWD", "CLF"):
        assert "ISO" not in str(sb.payouts(valuation, 10, currency=known))


def test_a_statement_tells_what_is_not_as_usual() -> None:
    plain = valuation_of(some_games([3.0, 4.0]), ("a", "b"))
    assert "note" not in sb.payouts(plain, 10).statement("a")
    odd = redesigned(
        replace(plain, stopped_code="unfinished"),
        setup={"utility": "made up", "index": "Banzhaf()"},
        distinct_records=np.array([2.0, 10.0]),
    )
    notes = {name: sb.payouts(odd, 10).statement(name).count("note: ") for name in ("a", "b")}
    assert notes == {"a": 3, "b": 2}
    text = sb.payouts(odd, 10).statement("a")
    for words in ("the amount so far", "the index Banzhaf()", "records repeat"):
        assert words in text


def test_a_floor_is_paid_to_everybody() -> None:
    valuation = valuation_of(some_games([0.0, 4.0]), ("a", "b"))
    paid = sb.payouts(valuation, 100, policy="floor", floor="20.50")
    assert min(paid.amounts.values()) >= Decimal("20.50")
    with pytest.raises(sb.errors.InvalidInput, match="more than the amount"):
        sb.payouts(valuation, 100, policy="floor", floor=51)


def test_what_is_not_known_well_is_not_paid_by_the_lower_bound() -> None:
    games = some_games([5.0, 5.0])
    games[:, 1] = 5 + 10 * (games[:, 1] - games[:, 1].mean())
    paid = sb.payouts(valuation_of(games, ("sure", "unsure")), 100, policy="lower_bound").amounts
    assert paid["sure"] > 1.5 * float(paid["unsure"])


def test_a_statement_says_nothing_of_the_others() -> None:
    names = ("mine", "theirs", "somebody")
    valuation = valuation_of(some_games([3.0, 14.0, 21.0]), names)
    paid = sb.payouts(valuation, 1000)
    text = paid.statement("mine")
    assert f"{paid.amounts['mine']:,} EUR" in text
    others = [*names[1:], *(str(paid.amounts[name]) for name in names[1:]), "1,000.00", "%  "]
    assert not [word for word in others if word in text]
    with pytest.raises(sb.errors.InvalidInput, match="did you mean mine"):
        paid.statement("mien")


def test_a_group_of_one_provider_gets_all() -> None:
    paid = sb.payouts(valuation_of(some_games([3.0]), ("alone",)), "0.01")
    assert paid.amounts == {"alone": Decimal("0.01")}
    assert paid.standard_error.tolist() == [0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"amount": "10.001"}, "at most 2 decimals"),
        ({"amount": -1}, "at least 0"),
        ({"amount": float("nan")}, "at least 0"),
        ({"currency": "euro"}, "three capital letters"),
        ({"policy": "proportionl"}, "did you mean proportional"),
        ({"policy": "risk"}, "risk_aversion is needed"),
        ({"risk_aversion": 1.0}, "only for policy='risk'"),
        ({"policy": "risk", "risk_aversion": -1.0}, "at least 0"),
        ({"floor": 1}, "only for policy='floor'"),
        ({"level": 0.5}, "only for policy='lower_bound'"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    valuation = valuation_of(some_games([3.0, 4.0]), ("a", "b"))
    with pytest.raises(sb.errors.InvalidInput, match=message):
        sb.payouts(valuation, **({"amount": 10} | arguments))


def test_names_cannot_change_what_a_terminal_shows() -> None:
    paid = sb.payouts(valuation_of(some_games([3.0, 4.0]), ("a\x1b[2J", "<b>")), 10)
    assert "\x1b" not in str(paid) + paid.statement("a\x1b[2J")
    assert "<b>" not in paid._repr_html_()


def test_amounts_beyond_the_digits_of_a_currency_are_refused_with_the_limits() -> None:
    valuation = valuation_of(some_games([3.0, 4.0]), ("a", "b"))
    cases = {("EUR", "1.001"): (2, 22), ("JPY", "0.5"): (0, 24), ("KWD", "1e22"): (3, 21)}
    for (currency, amount), (decimals, power) in cases.items():
        with pytest.raises(sb.errors.InvalidInput) as refused:
            sb.payouts(valuation, amount, currency)
        assert str(refused.value) == (
            f"payouts: amount must have at most {decimals} decimals in {currency} and be at most "
            f"10^{power}; received {amount!r}"
        )
    assert sum(sb.payouts(valuation, "1e21", "KWD").amounts.values()) == 10**21
