"""payouts(): an amount of money divided by the values of a valuation."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.market.paying.apportion import apportion
from shapband.market.paying.currencies import decimals_of, is_known
from shapband.market.paying.payouts import Payouts
from shapband.market.paying.policies import (
    Weights,
    check_policy,
    lower_bound_weights,
    proportional_weights,
    risk_weights,
)
from shapband.market.planning.prices import Amount, check_amount
from shapband.sampling.distinct import format_repeats
from shapband.sampling.shared import format_shared
from shapband.valuation.text import some_names
from shapband.valuation.valuation import Valuation

# Policy → the argument that only this policy uses.
_ARGUMENTS = {"risk": "risk_aversion", "floor": "floor", "lower_bound": "level"}


def payouts(
    valuation: Valuation,
    amount: Amount,
    currency: str = "EUR",
    policy: str = "proportional",
    *,
    risk_aversion: float | None = None,
    floor: Amount | None = None,
    level: float | None = None,
) -> Payouts:
    """Divide an amount of money among the providers according to the value of their data.

    The amounts are exact decimals and sum to `amount`: every provider gets its part, rounded down
    to the smallest unit of the currency, and the units that are left go to the largest remainders.
    Equal remainders are ordered by a hash of the name, so the amounts do not depend on the order of
    the providers. No provider has to pay: a weight below zero counts as zero, and the others share
    the amount.

    Parameters
    ----------
    valuation : the values
    amount : the amount to divide: a Decimal, a string, an integer, or a float, which counts as the
        decimal number that is printed
    currency : its code in ISO 4217, which sets the number of decimals: 2 for EUR, 0 for JPY, 3 for
        KWD; any other three letters have 2 decimals, and a note says so
    policy : the weights that payments are proportional to

        - "proportional": the expected values
        - "risk": the expected values minus `risk_aversion` × the covariance of the value with the
          sum of all values; the covariances add up to the variance of the sum, so the providers
          bear exactly the risk of the whole
        - "floor": everybody gets `floor`, and the rest is proportional to the expected values
        - "lower_bound": the lower ends of the intervals of the expectations at `level`, so that
          uncertain values are paid less
    risk_aversion : 0 or more, in units of 1 / value; needed for "risk"
    floor : the least amount for every provider; needed for "floor"
    level : confidence level of the intervals for "lower_bound", 0.95 by default

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> paid = sb.payouts(valuation, "10000", policy="floor", floor=100)
    >>> min(paid.amounts.values()) >= 100, sum(paid.amounts.values())
    (True, Decimal('10000.00'))
    """
    _check(valuation, policy, {"risk": risk_aversion, "floor": floor, "lower_bound": level})
    decimals = decimals_of(currency)
    units = _units("amount", amount, decimals, currency)
    weights = _weights(valuation, policy, risk_aversion, level)
    n = len(valuation.names)
    least = 0 if floor is None else _units("floor", floor, decimals, currency)
    if n * least > units:
        raise InvalidInput(
            f"payouts: a floor of {floor} {currency} for {n} providers is more than the amount"
        )
    rest = units - n * least
    if rest and not weights.paid.max() > 0:
        raise InvalidInput(
            f"payouts: no provider has a positive weight ({weights.meaning}), so the amount cannot "
            "be divided"
        )
    given = apportion(rest, weights.paid.tolist(), valuation.names) if rest else [0] * n
    money = [Decimal(least + one).scaleb(-decimals) for one in given]
    base = f"{Decimal(least).scaleb(-decimals):,} {currency} to everybody, and the rest "
    return Payouts(
        amounts=dict(zip(valuation.names, money, strict=True)),
        standard_error=weights.share_errors() * (rest / 10**decimals),
        amount=Decimal(units).scaleb(-decimals),
        currency=currency,
        policy=policy,
        rule=(base if least else "") + weights.meaning,
        notes=tuple(_notes(valuation, weights, currency)),
        valuation=valuation,
    )


def _check(valuation: object, policy: str, given: dict[str, object]) -> None:
    if not isinstance(valuation, Valuation):
        raise InvalidInput(f"payouts: pass a valuation; received {type(valuation).__name__}")
    check_policy(policy)
    for wanted, argument in _ARGUMENTS.items():
        if given[wanted] is not None and policy != wanted:
            raise InvalidInput(f"payouts: {argument} is only for policy={wanted!r}")
    if policy in ("risk", "floor") and given[policy] is None:
        raise InvalidInput(f"payouts: {_ARGUMENTS[policy]} is needed for policy={policy!r}")


def _weights(
    valuation: Valuation, policy: str, risk_aversion: float | None, level: float | None
) -> Weights:
    if policy == "risk" and risk_aversion is not None:
        return risk_weights(valuation, risk_aversion)
    if policy == "lower_bound":
        return lower_bound_weights(valuation, 0.95 if level is None else level)
    return proportional_weights(valuation)


def _units(name: str, amount: Amount, decimals: int, currency: str) -> int:
    """Return an amount in the smallest units of its currency."""
    checked = check_amount(f"payouts: {name}", amount)
    units = checked.scaleb(decimals)
    if units != units.to_integral_value() or units > 10**24:
        raise InvalidInput(
            f"payouts: {name} must have at most {decimals} decimals in {currency} and be at most "
            f"10^{24 - decimals}; received {written(amount)}"
        )
    return int(units)


def _notes(valuation: Valuation, weights: Weights, currency: str) -> Iterator[str]:
    """Points to check before paying."""
    if not is_known(currency):
        yield f"{currency} is not a currency of ISO 4217; it is assumed to have 2 decimals"
    below = some_names(valuation.names, weights.estimate <= 0)
    if below:
        yield f"not above zero, which counts as zero, since nobody pays in: {below}"
    repeats = format_repeats(
        valuation.names, valuation.distinct_records, valuation.draw_sizes, valuation.pool_sizes
    )
    if repeats:
        yield f"{repeats}: copies are paid as if they were different"
    shared = format_shared(valuation.shared_records)
    if shared:
        yield f"{shared}: a copy is paid for what it was copied from"
    if valuation.failures:
        yield f"{valuation.failures:,} coalitions could not be evaluated; failed= gave their value"
    if valuation.stopped_code == "unfinished":
        yield "the run is not finished: these are the amounts so far"
    if valuation.index != repr(SHAPLEY):
        yield f"the values are values of the index {valuation.index}, not Shapley values"
