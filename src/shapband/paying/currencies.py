"""How many decimals the amounts of a currency have."""

from __future__ import annotations

import re

from shapband.checks import written
from shapband.errors import InvalidInput

_USUAL = 2
# The currencies of ISO 4217 that have another number of decimals.
_OTHERS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_DECIMALS = {code: places for places, codes in _OTHERS.items() for code in codes.split()}


def decimals_of(currency: str) -> int:
    """Check the code of a currency, and return the decimals of its amounts.

    Examples
    --------
    >>> decimals_of("EUR"), decimals_of("JPY"), decimals_of("KWD")
    (2, 0, 3)
    """
    if not isinstance(currency, str) or not re.fullmatch("[A-Z]{3}", currency):
        raise InvalidInput(
            "payouts: currency must be a code of three capital letters, such as EUR; received "
            f"{written(currency)}"
        )
    return _DECIMALS.get(currency, _USUAL)
