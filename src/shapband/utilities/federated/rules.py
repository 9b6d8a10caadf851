"""The settings of federated training, which compiled models and models of the user share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_number, check_whole, written
from shapband.errors import InvalidInput

Aggregation = Literal["records", "evenly"]
RecordsPer = Literal["game", "round"]


@dataclass(frozen=True)
class Rules:
    """How a coalition trains.

    Attributes
    ----------
    rounds : rounds of training in a game
    aggregation : "records" to weight members by their numbers of records, or "evenly"
    momentum : part of the last change of the parameters that is added to the next one
    records_per : "game" if all rounds use the whole draw, or "round" if each uses its own part
    """

    rounds: int
    aggregation: str
    momentum: float
    records_per: str

    @staticmethod
    def checked(
        owner: str, rounds: object, aggregation: str, momentum: object, records_per: str
    ) -> Rules:
        """Check the arguments of a utility."""
        check_word(f"{owner}: aggregation", aggregation, get_args(Aggregation))
        check_word(f"{owner}: records_per", records_per, get_args(RecordsPer))
        kept = check_number(f"{owner}: momentum", momentum, least=0.0)
        if kept >= 1.0:
            raise InvalidInput(f"{owner}: momentum must be below 1; received {written(momentum)}")
        return Rules(check_whole(f"{owner}: rounds", rounds, 1), aggregation, kept, records_per)

    def begin(self, round_: int, counts: IntArray) -> IntArray:
        """Return the first record of each client in a round (from 0): (n,)."""
        return round_ * self.counts(counts) if self.records_per == "round" else 0 * counts

    def counts(self, counts: IntArray) -> IntArray:
        """Return the number of records of each client in a round: (n,).

        Parameters
        ----------
        counts : (n,) records of each client in a game
        """
        return counts // self.rounds if self.records_per == "round" else counts

    def shares(self, counts: IntArray) -> FloatArray:
        """Return the weight of each client in an average, not normalised: (n,)."""
        records = self.counts(counts).astype(np.float64)
        return records if self.aggregation == "records" else (records > 0).astype(np.float64)

    def check_size(self, size: int) -> None:
        """Refuse a draw that cannot be cut into equal parts for the rounds."""
        if self.records_per == "round" and size % self.rounds:
            # The next larger multiple may be more records than the provider has.
            below = size - size % self.rounds
            remedy = f"use {below}" if below else f"use at least {self.rounds}, or fewer rounds"
            raise InvalidInput(
                'with records_per="round" the size of a draw must be a multiple of the '
                f"{self.rounds} rounds; received a draw of {size} records: {remedy}"
            )


def check_word(name: str, word: object, known: tuple[str, ...]) -> str:
    """Check that an argument is one of some words."""
    if not isinstance(word, str) or word not in known:
        listed = ", ".join(f'"{one}"' for one in known)
        raise InvalidInput(f"{name} must be one of {listed}; received {written(word)}")
    return word
