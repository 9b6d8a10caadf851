"""The design of a valuation: one record of how its games are made.

The sampling states what it draws. The engine adds who takes part, the groups, the description of
the method, and what is known about the records. A run and an exported valuation store the design as
one JSON document. Code that folds games or prints a result takes these facts from the design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import BoolArray, FloatArray, IntArray
from shapband.codec import lock_arrays
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY
from shapband.records.draws import Choice, DealtRows, RandomRows, Stream
from shapband.sampling.participation import Participation, who_is_in_rounds, who_is_present
from shapband.sampling.rare import RareLabel
from shapband.sampling.replays import Replays
from shapband.sampling.shared import Held, Shared
from shapband.sampling.targets import OddLabel
from shapband.sampling.validation import Validation
from shapband.seeds import Seeds

if TYPE_CHECKING:
    from shapband.access.access import Access


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """How the games of a valuation are made, and what is known about the records.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    seed : the same seed gives the same games
    draw_sizes : (n,) records of each provider in a game
    estimand : what the moments across the games estimate, as a sentence
    estimand_code : the same for programs: ``sources``, ``pools``, ``population`` or ``other``
    pool_sizes : (n,) records in each provider's pool, or None without pools
    unseen : (n,) fraction of each stock that is not in the pool, 1 for endless sources and for
        sources drawn with replacement; None if it is not known how games choose records from pools
    replace : whether a game may choose a record of a pool twice; shuffles never do
    per_shuffle : consecutive games that share one shuffle of the pools, or None without shuffles
    participation : who takes part in which games, or None if everybody does in all
    averaged : whether the values of a game are averages over who takes part
    replays : what differs when games are played again to split the variance by its causes, or None
    rounds : rounds of training in a game, if participation is drawn for each of them; else 0
    grouping : which providers stand together as one player, or None
    setup : utility, model, score, target column, v(∅), index, sampling, solver and participation as
        strings, as far as they are known, and the reasons for those that the library chose
    distinct_records : (n,) number of different records in each provider's pool, or without pools
        in its stock, counted up to the size of a draw; NaN for providers whose number is not known,
        None if no number is known
    shared_records : pairs of providers with many records in common, and providers that repeat
        their own
    held_rows : providers that hold validation rows
    one_label : providers whose records all have the same target, such as one class, unless all
        records have it
    odd_labels : providers with a label of their own instead of one that all others have
    rare_labels : labels that pools, or without pools draws, may lack by chance
    unseen_labels : the label that draws of a provider lack most often, if models are scored by the
        log loss
    validation : the validation rows, and whether the errors cover their choice; None if the utility
        has no such rows

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> design = sb.Design(names=("north", "south"), seed=0, draw_sizes=np.array([60, 60]),
    ...                    estimand="draws of 60 records from the sources")
    >>> design.present(range(2)).tolist(), design.index
    ([[True, True], [True, True]], 'Shapley()')
    """

    names: tuple[str, ...]
    seed: int
    draw_sizes: IntArray
    estimand: str
    estimand_code: str = "other"
    pool_sizes: IntArray | None = None
    unseen: FloatArray | None = None
    replace: bool = True
    per_shuffle: int | None = None
    participation: Participation | None = None
    averaged: bool = False
    grouping: Grouping | None = None
    setup: Mapping[str, str] = field(default_factory=dict)
    distinct_records: FloatArray | None = None
    shared_records: tuple[Shared, ...] = ()
    held_rows: tuple[Held, ...] = ()
    one_label: tuple[str, ...] = ()
    odd_labels: tuple[OddLabel, ...] = ()
    rare_labels: tuple[RareLabel, ...] = ()
    unseen_labels: tuple[RareLabel, ...] = ()
    validation: Validation | None = None
    rounds: int = 0
    replays: Replays | None = None

    def __post_init__(self) -> None:
        lock_arrays(self)

    @staticmethod
    def of(access: Access, draw_sizes: IntArray, estimand: str) -> Design:
        """Begin the design of games with draws of these sizes; `dataclasses.replace` adds to it."""
        names = tuple(provider.name for provider in access.providers)
        return Design(names=names, seed=access.seeds.seed, draw_sizes=draw_sizes, estimand=estimand)

    @property
    def index(self) -> str:
        """The index of these values as a string: ``Shapley()`` unless another was chosen."""
        return self.setup.get("index", repr(SHAPLEY))

    @property
    def certain(self) -> bool:
        """Whether all games are equal by design, so that equal values are not due to chance."""
        return "certain" in self.setup

    @property
    def least_games(self) -> int:
        """Fewest games from which both moments can be estimated: one if all are equal, else two."""
        return 1 if self.certain else 2

    @property
    def draws_presence(self) -> bool:
        """Whether every game draws who takes part; if not, games use the records of everybody."""
        return self.participation is not None and not self.averaged and self.rounds == 0

    @property
    def rates(self) -> FloatArray | None:
        """(n,) probabilities of being present, if values are averaged over presence; else None."""
        if self.participation is None or not self.averaged:
            return None
        return self.participation.rates(self.names)

    def present(self, games: range) -> BoolArray:
        """Whose records consecutive games use: (n_games, n)."""
        drawn = self.participation if self.draws_presence else None
        return who_is_present(drawn, Seeds(self.seed), self.names, games)

    def present_in_rounds(self, games: range) -> BoolArray | None:
        """Who is present in each round of consecutive games: (n_games, rounds, n).

        The answer is None if everybody who is in a game is present in all of its rounds.
        """
        if self.participation is None or self.rounds == 0:
            return None
        seeds = Seeds(self.seed)
        return who_is_in_rounds(self.participation, seeds, self.names, games, self.rounds)

    @property
    def repeats(self) -> bool:
        """Whether a record of a pool may be in one game twice."""
        return self.replace and self.per_shuffle is None

    @property
    def chances(self) -> FloatArray:
        """(n,) probability that a game uses a record of a pool at all."""
        m, b = np.asarray(self.pool_sizes), self.draw_sizes
        return np.asarray(1 - (1 - 1 / m) ** b if self.repeats else b / m)

    def choices(self, games: range) -> list[Choice]:
        """Return the rows of every pool that these consecutive games use."""
        purpose = "bootstrap" if self.replace else "subset"
        if self.per_shuffle is not None:
            purpose = "shuffle"
        pools: list[int] = np.asarray(self.pool_sizes).tolist()
        chosen: list[Choice] = []
        for name, pool, size in zip(self.names, pools, self.draw_sizes.tolist(), strict=True):
            stream = Stream(Seeds(self.seed), purpose, name, games)
            if self.per_shuffle is None:
                chosen.append(RandomRows(stream, size, pool, self.replace))
            else:
                chosen.append(DealtRows(stream, size, pool, self.per_shuffle))
        return chosen


def plain_design(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what older versions do not know from the document of a design that has none."""
    unsaid: dict[str, object] = {"rounds": 0, "replays": None, "held_rows": []}
    return {key: part for key, part in document.items() if key not in unsaid or part != unsaid[key]}
