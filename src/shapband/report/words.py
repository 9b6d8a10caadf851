"""Words on the method that the report of all providers and that of one provider share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from markupsafe import Markup

from shapband.indices import SHAPLEY
from shapband.report.names import shown

if TYPE_CHECKING:
    from shapband.valuation.valuation import Valuation

DATA = "data of provider "  # with its name, the key of a provider's fingerprint in a manifest
SAMPLINGS = {
    "Fresh": "every game draws new records from the sources",
    "Pooled": "a pool of records is bought from every provider once, and every game draws from the "
    "pools; the games share them, which adds an error that more games do not lower, unless a pool "
    "is a whole stock",
    "Stratified": "a pool of records is bought from every provider once; providers whose values "
    "vary more give more records to a game, so the values refer to draws of these sizes",
}
SOLVERS = {
    "Exact": "all coalitions of a game are evaluated, so the solver adds no error",
    "Known": "the values follow from the form of the utility, so the solver adds no error",
    "Arcs": "providers stand on random circles, and coalitions are neighbours on them; what these "
    "leave open is measured and counted as solver noise",
    "Strata": "coalitions are sampled by size around a fitted learning curve; what the sample "
    "leaves open is measured and counted as solver noise",
    "Permutation": "providers join in random orders; the noise of the orders is measured and "
    "counted as solver noise",
    "BalancedPermutation": "providers join in random orders in which everybody has each place "
    "equally often; the noise of the orders is measured and counted as solver noise",
}


def index_words(valuation: Valuation) -> str:
    """Say what the values of the index are."""
    if valuation.groups is not None:
        return (
            f"{valuation.index}, shared within groups as Owen values; all values of a game add up "
            "to the value of everybody minus the value of nobody."
        )
    if valuation.index == repr(SHAPLEY):
        return (
            "Shapley values: what a provider adds to a coalition, averaged over all orders of "
            "joining; in each game they add up to the value of everybody minus the value of nobody."
        )
    return f"{valuation.index}: these values need not add up to the value of everybody."


def explained(written: str, words: Mapping[str, str]) -> str:
    """Add to a setting what it means, if its class is known."""
    known = words.get(written.split("(", 1)[0])
    return f"{written}: {known}." if known else f"{written}."


def digest(mark: str) -> Markup:
    """Write a digest or another mark of data."""
    return Markup("<code>{}</code>").format(shown(mark))


def digest_of(valuation: Valuation) -> Markup:
    """The SHA-256 of what the `to_json` of a valuation returns."""
    return digest(hashlib.sha256(valuation.to_json().encode()).hexdigest())
