"""payouts(): an amount of money divided by the values of a valuation, with statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import nearest, printable, written
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.market.paying.apportion import apportion
from shapband.market.paying.currencies import decimals_of, is_known
from shapband.market.paying.grouped import group_note
from shapband.market.paying.policies import (
    POLICIES,
    Weights,
    lower_bound_weights,
    proportional_weights,
    risk_weights,
)
from shapband.market.prices import Amount, check_amount
from shapband.sampling.distinct import format_repeats
from shapband.sampling.shared import HELD_REMEDY, compared, format_held, format_shared
from shapband.valuation.text import (
    Table,
    from_one_to_the_next,
    html_table,
    some_names,
    table_lines,
    with_digits,
)
from shapband.valuation.valuation import Valuation

if TYPE_CHECKING:
    import pandas as pd

# policy → the argument that belongs to it
_ARGUMENTS = {"risk": "risk_aversion", "floor": "floor", "lower_bound": "level"}


@dataclass(frozen=True, eq=False, repr=False)
class Payouts:
    """An amount of money divided among the providers of a valuation.

    Attributes
    ----------
    amounts : name → what the provider receives; they sum to `amount` exactly
    standard_error : (n,) of the amounts, in the currency; NaN if it is not known. It comes from
        the errors of the values, not from their spread over data draws
    amount : what was divided
    currency : its code
    policy : how it was divided
    rule : the same in words
    notes : what to look at before paying
    valuation : what the amounts follow from

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> paid = sb.payouts(valuation, 10_000, currency="EUR")
    >>> sum(paid.amounts.values())
    Decimal('10000.00')
    """

    amounts: Mapping[str, Decimal]
    standard_error: FloatArray
    amount: Decimal
    currency: str
    policy: str
    rule: str
    notes: tuple[str, ...]
    valuation: Valuation

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a data frame with one row per provider; amounts are exact decimals."""
        import pandas as pd

        valuation = self.valuation
        low, high = valuation.interval(level).T
        columns = {
            "amount": list(self.amounts.values()),
            "standard_error": self.standard_error,
            "currency": self.currency,
            "expectation": valuation.expectation,
            "low": low,
            "high": high,
        }
        return pd.DataFrame(columns, index=pd.Index(valuation.names, name="provider"))

    def statement(self, name: str) -> str:
        """Return the statement for one provider, which shows nothing about other providers."""
        valuation = self.valuation
        if name not in self.amounts:
            raise InvalidInput(
                f"statement: {printable(str(name))!r} is not a provider: "
                f"{nearest(str(name), valuation.names)}"
            )
        at = valuation.names.index(name)
        low, high = valuation.interval()[at]
        numbers = valuation.expectation[at], low, high, valuation.standard_deviation[at]
        texts = with_digits(numbers, [(high - low) / 2] * 4)
        value, low_text, high_text, spread = (text.strip() for text in texts)
        used = valuation.access.by_provider[name]
        sure = f" ± {self._error_text(at)} (standard error)" if self._known(at) else ""
        return "\n".join(
            [
                f"Statement for {printable(name)}",
                "",
                f"payout:         {self._money(self.amounts[name])}{sure}",
                f"rule:           {self.rule}",
                f"expected value: {value}, 95 % interval {low_text} to {high_text}",
                f"spread:         {spread} (standard deviation {from_one_to_the_next(valuation)})",
                f"records:        {used.records:,} in {used.requests:,} "
                f"request{'s' * (used.requests != 1)}, {valuation.draw_sizes[at]:,} in a game",
                f"method:         {valuation.n_games:,} game{'s' * (valuation.n_games != 1)}, "
                f"seed {valuation.seed}",
                *(f"note:           {note}" for note in self._own_notes(at)),
            ]
        )

    def _own_notes(self, at: int) -> Iterator[str]:
        """What one provider should know about its own value and about the whole valuation."""
        valuation = self.valuation
        if valuation.stopped_code == "unfinished":
            yield "the run is not finished: this is the amount so far"
        if valuation.index != repr(SHAPLEY):
            yield f"the value is a value of the index {valuation.index}, not the Shapley value"
        if valuation.repeated_records[at]:
            yield "records repeat; copies are paid as if they were different"
        name = valuation.names[at]
        for shared in valuation.shared_records:
            if name in (shared.one, shared.other):
                whose = (
                    "other records of the same provider"
                    if shared.one == shared.other
                    else "records of another provider"
                )
                yield f"{shared.records:,} records equal {whose}{compared(shared)}"
        for held in valuation.held_rows:
            if held.name == name:
                yield (
                    f"{held.records:,} of {held.rows:,} validation rows equal its records"
                    f"{compared(held)}: models are trained on rows that score them"
                )

    def __str__(self) -> str:
        lines = [*self._headline(), "", *table_lines(*self._table())]
        return "\n".join([*lines, "", *self.notes] if self.notes else lines)

    def __repr__(self) -> str:
        n = len(self.amounts)
        return f"<Payouts of {self._money(self.amount)} to {n} provider{'s' * (n > 1)}>"

    def _repr_html_(self) -> str:
        return html_table(self._headline(), self._table(), self.notes)

    def _headline(self) -> list[str]:
        n = len(self.amounts)
        return [f"{self._money(self.amount)} to {n} provider{'s' * (n > 1)}, {self.rule}"]

    def _table(self) -> Table:
        names, amounts = list(self.amounts), list(self.amounts.values())
        order = sorted(range(len(names)), key=lambda at: (-amounts[at], names[at]))
        rows: list[tuple[str, ...]] = [
            (printable(names[at]), f"{amounts[at]:,}", self._error_text(at), self._share(at))
            for at in order
        ]
        return ("provider", self.currency, "std. error", "share"), rows

    def _share(self, at: int) -> str:
        if not self.amount:
            return "-"
        return f"{100 * self.amounts[self.valuation.names[at]] / self.amount:.2f} %"

    def _known(self, at: int) -> bool:
        return bool(np.isfinite(self.standard_error[at]))

    def _error_text(self, at: int) -> str:
        if not self._known(at):
            return "not known"
        exponent = self.amounts[self.valuation.names[at]].as_tuple().exponent
        return f"{self.standard_error[at]:,.{-int(exponent)}f}"

    def _money(self, amount: Decimal) -> str:
        return f"{amount:,} {self.currency}"


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
    the amount. Members of groups are paid by their own values; a note says what the members of each
    group get together, and what the group is worth as one player.

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
    total = Decimal(units).scaleb(-decimals)
    grouped = group_note(valuation, money, total)
    return Payouts(
        amounts=dict(zip(valuation.names, money, strict=True)),
        standard_error=weights.share_errors() * (rest / 10**decimals),
        amount=total,
        currency=currency,
        policy=policy,
        rule=(base if least else "") + weights.meaning,
        notes=(*([grouped] if grouped else []), *_notes(valuation, weights, currency)),
        valuation=valuation,
    )


def _check(valuation: object, policy: str, given: dict[str, object]) -> None:
    if not isinstance(valuation, Valuation):
        raise InvalidInput(f"payouts: pass a valuation; received {type(valuation).__name__}")
    if policy not in POLICIES:
        raise InvalidInput(
            f"payouts: policy must be one of {', '.join(POLICIES)}; received {policy!r}: "
            f"{nearest(str(policy), POLICIES)}"
        )
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
    held = format_held(valuation.held_rows)
    if held:
        yield f"{held}: {HELD_REMEDY}"
    if valuation.failures:
        yield f"{valuation.failures:,} coalitions could not be evaluated; failed= gave their value"
    if valuation.stopped_code == "unfinished":
        yield "the run is not finished: these are the amounts so far"
    if valuation.index != repr(SHAPLEY):
        yield f"the values are values of the index {valuation.index}, not Shapley values"
