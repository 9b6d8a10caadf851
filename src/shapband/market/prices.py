"""What sources charge, in exact decimal numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from numbers import Integral

from shapband.access.budget import Cost
from shapband.checks import check_kind, written
from shapband.errors import InvalidInput

Amount = Decimal | int | float | str  # a float counts as the decimal number that is printed


@dataclass(frozen=True, init=False)
class Prices:
    """What the sources charge for a record and for a request, in any currency.

    Amounts are exact: numbers are taken as they are written, so that 0.1 is a tenth.

    Examples
    --------
    >>> import shapband as sb
    >>> prices = sb.Prices(record=0.02, request="1.50")
    >>> prices.of(sb.extend.Cost(requests=10, records=600))
    Decimal('27.00')
    """

    record: Decimal
    request: Decimal

    def __init__(self, record: Amount = 0, request: Amount = 0) -> None:
        object.__setattr__(self, "record", check_amount("Prices: record", record))
        object.__setattr__(self, "request", check_amount("Prices: request", request))

    def of(self, cost: Cost) -> Decimal:
        """What some requests and records cost."""
        return cost.records * self.record + cost.requests * self.request


def check_amount(name: str, amount: Amount) -> Decimal:
    """Check that an argument is an amount of money: a finite number of at least 0."""
    known = isinstance(amount, Decimal | Integral | float | str)  # NumPy integers are Integral
    usable = known and not isinstance(amount, bool)
    try:
        found = Decimal(str(amount)) if usable else Decimal("NaN")
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or found < 0:
        raise InvalidInput(
            f'{name} must be an amount of at least 0, such as 0.02 or "0.02"; received '
            f"{written(amount)}"
        )
    return found


def check_prices(prices: Prices | None) -> Prices | None:
    """Check that an argument is `Prices` or None."""
    wanted = "Prices(record=..., request=...)"
    return check_kind("prices", prices, Prices | None, wanted, "sb.Prices(record={})")
