"""Payments to providers: the amounts, their standard errors, and a statement for each provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import nearest, printable
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.sampling.shared import compared
from shapband.valuation.text import Table, html_table, table_lines, with_digits
from shapband.valuation.valuation import Valuation

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Payouts:
    """An amount of money divided among the providers of a valuation.

    Attributes
    ----------
    amounts : name → amount that the provider receives; the amounts sum to `amount` exactly
    standard_error : (n,) of the amounts, in the currency; NaN if it is not known. It comes from
        the errors of the values, not from their spread over data draws
    amount : the amount that was divided
    currency : its code
    policy : name of the rule by which it was divided
    rule : the rule in words
    notes : points to check before paying
    valuation : the valuation that the amounts follow from

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
                f"spread:         {spread} (standard deviation from one draw to the next)",
                f"records:        {used.records:,} in {used.requests:,} "
                f"request{'s' * (used.requests != 1)}, {valuation.draw_sizes[at]:,} in a game",
                f"method:         {valuation.n_games:,} game{'s' * (valuation.n_games != 1)}, "
                f"seed {valuation.seed}",
                *(f"note:           {note}" for note in self._own_notes(at)),
            ]
        )

    def _own_notes(self, at: int) -> Iterator[str]:
        """Notes for one provider about its own value and about the whole valuation."""
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
