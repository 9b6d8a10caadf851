"""How the errors of a valuation treat the validation rows."""

from __future__ import annotations

from typing import NamedTuple


class Validation(NamedTuple):
    """The validation rows, and whether the errors cover their choice.

    Attributes
    ----------
    rows : number of validation rows; 0 if it is not known
    folds : folds of the rows that are left out in turn; 0 if the errors do not cover their choice
    games : number of games, from the first on, that are solved again without each fold
    reason : why the errors do not cover the choice of the rows; empty if they do
    """

    rows: int
    folds: int = 0
    games: int = 0
    reason: str = ""
