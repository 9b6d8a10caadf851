"""What is measured: families of clients, learning rates, rounds and participation."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import product

from federated_study.clients import FAMILIES

RATES = (0.1, 0.5, 2.0)
ROUNDS = (5, 20)
PARTICIPATION = (1.0, 0.5)
STEPS = 5  # local steps of a client in a round
TRUNCATION = 0.01
CHECK = 20
METHODS = ("OR", "MR", "truncated MR", "one-round")
CHECKED = ("OR", "one-round")  # methods that are also measured with check=20


@dataclass(frozen=True)
class Setting:
    """One kind of federated run.

    Attributes
    ----------
    family : how the clients differ
    rate : learning rate
    rounds : of a run
    participation : probability that a client is present in a round
    pools : populations with validation rows of their own, each with a seed of its own
    games : draws of all clients' data from each population
    """

    family: str
    rate: float
    rounds: int
    participation: float
    pools: int
    games: int

    @property
    def name(self) -> str:
        """The name of the setting, also of its file."""
        family = self.family.replace(" ", "-")
        return f"{family}-{self.rate:g}-{self.rounds}-{self.participation:g}"

    def seed(self, pool: int) -> int:
        """The seed of a population. Rates, rounds and participation share the clients' data."""
        return (zlib.crc32(self.family.encode()) << 20) + pool


def settings(*, quick: bool) -> list[Setting]:
    """All settings; the quick ones show that everything runs, not how large errors are."""
    pools, games = (2, 1) if quick else (6, 8)
    kinds = product(FAMILIES, RATES, ROUNDS, PARTICIPATION)
    return [Setting(*kind, pools, games) for kind in kinds]
