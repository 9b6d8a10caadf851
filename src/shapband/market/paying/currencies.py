"""How many decimals the amounts of a currency have."""

from __future__ import annotations

import re

from shapband.checks import written
from shapband.errors import InvalidInput

_USUAL = 2
# The currencies of ISO 4217 by their number of decimals.
_CODES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD "
    "BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD "
    "EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR "
    "IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP "
    "MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN "
    "QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB "
    "TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW "
    "ZWG",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_DECIMALS = {code: places for places, codes in _CODES.items() for code in codes.split()}


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


def is_known(currency: str) -> bool:
    """Whether a code is one of ISO 4217; others are assumed to have two decimals.

    Examples
    --------
    >>> is_known("JPY"), is_known("YEN")
    (True, False)
    """
    return currency in _DECIMALS
