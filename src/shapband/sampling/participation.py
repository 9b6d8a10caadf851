"""Who takes part in a game: the interface of a participation, and helpers that several share.

A participation says which providers are present in each game. An absent provider is worth 0 in that
game, its source is not asked, and the others play the game without it.

With ``per="round"`` it says which providers are present in each round of training within a game.
All providers draw records in every game, and a provider that is absent in all rounds is worth 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.checks import check_number, check_whole, printable, written
from shapband.errors import InvalidInput
from shapband.kernels.rows import uniforms
from shapband.seeds import Seeds

if TYPE_CHECKING:
    import pandas as pd

Per: TypeAlias = Literal["game", "round"]  # what presence is drawn for
ByName: TypeAlias = float | Mapping[str, float]  # one number for all providers, or one for each
PURPOSE = "participation"  # purpose that addresses the random streams
# Words for both ways to treat presence, used in messages and in stored runs.
AVERAGED, DRAWN = "averaged over", "drawn in every game"
_SHOWN = 3  # a `repr` shows at most this many numbers by name


class Participation(ABC):
    """Which providers are present in each game.

    Attributes
    ----------
    recorded : whether the presence was recorded once, so that only the data vary
    per : "game", or "round" if providers come and go within a game, from one round of training to
        the next. Then `counts`, `rates` and `persistence` refer to rounds, `present_in_rounds` says
        who is present, and `present` is not called

    Examples
    --------
    Providers that take part in every second game, in turn:

    >>> import numpy as np, shapband as sb
    >>> class Turns(sb.Participation):
    ...     recorded = True
    ...     def check(self, names):
    ...         pass
    ...     def present(self, seeds, names, games):
    ...         turns = [sum(map(ord, name)) % 2 for name in names]
    ...         return np.add.outer(games, turns) % 2 == 0
    ...     def counts(self, names):
    ...         return range(1, len(names) + 1)
    ...     def rates(self, names):
    ...         return np.full(len(names), 0.5)
    ...     estimand = "by providers that take turns"
    >>> Turns().simulate(["a", "b"], n_rounds=2, seed=0).to_numpy().tolist()
    [[False, True], [True, False]]
    """

    recorded: bool = False
    per: Per = "game"

    @property
    def _counters(self) -> tuple[str, ...]:
        """Attributes that fingerprints leave out: runs of older versions do not know `per`."""
        return ("per",) if self.per == "game" else ()

    @abstractmethod
    def check(self, names: Sequence[str]) -> None:
        """Raise InvalidInput unless this describes the participation of these providers."""

    @abstractmethod
    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:
        """Who is present in these consecutive games: (n_games, n), True or False.

        Presence must depend on nothing but the seed, the name and the game: draw random numbers
        with ``seeds.generator("participation", name, game)``.
        """

    def present_in_rounds(
        self,
        seeds: Seeds,
        names: Sequence[str],
        games: range,
        n_rounds: int,
    ) -> BoolArray:
        """Who is present in each round of these games: (n_games, n_rounds, n), True or False.

        It is called if ``per`` is "round". As in `present`, presence must depend on nothing but the
        seed, the name, the game and the round.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say who is present in rounds")

    def check_rounds(self, n_rounds: int) -> None:  # noqa: B027  most need no check
        """Raise InvalidInput unless this describes games of so many rounds."""

    @abstractmethod
    def counts(self, names: Sequence[str]) -> Sequence[int]:
        """Return the numbers of providers, from 1 on, that may be present in one game."""

    @abstractmethod
    def rates(self, names: Sequence[str]) -> FloatArray:
        """Probability that each provider is present in a game: (n,)."""

    def persistence(self, names: Sequence[str]) -> FloatArray:
        """Correlation of each provider's presence in two consecutive games: (n,)."""
        return np.zeros(len(names))

    @property
    @abstractmethod
    def estimand(self) -> str:
        """How the providers take part: a phrase that completes the description of the draws."""

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments, with which a stored participation is made again.

        Only the library's classes need them: classes of the user are not imported to read a run.
        """
        return {}

    def to_document(self) -> dict[str, Any]:
        """Write the kind and the settings for the JSON of a design."""
        # Imported here to avoid a circular import.
        from shapband.sampling.participations import to_plain

        return to_plain(self)

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Participation:
        """Read what `to_document` wrote."""
        from shapband.sampling.participations import from_plain

        return from_plain(document)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def simulate(
        self, names: Sequence[str], n_rounds: int, seed: int, n_games: int | None = None
    ) -> pd.DataFrame:
        """Return who is present in some rounds: a frame with one column for each provider.

        Parameters
        ----------
        names : the providers
        n_rounds : number of rounds; with ``per="round"`` the rounds of one game
        seed : a valuation with this seed has the same presence in its games
        n_games : with ``per="round"``, the number of games, by default one; rows are then indexed
            by game and round
        """
        import pandas as pd

        check_whole("simulate: n_rounds", n_rounds, 1)
        check_whole("simulate: seed", seed, 0, most=None)
        listed = list(names)
        self.check(listed)
        if self.per == "game":
            if n_games is not None:
                raise InvalidInput(
                    'simulate: n_games is for per="round"; with per="game" every round is a game: '
                    "leave n_games out"
                )
            return pd.DataFrame(self.present(Seeds(seed), listed, range(n_rounds)), columns=listed)
        games = range(1 if n_games is None else check_whole("simulate: n_games", n_games, 1))
        self.check_rounds(n_rounds)
        table = who_is_in_rounds(self, Seeds(seed), listed, games, n_rounds)
        numbers = [range(len(games)), range(n_rounds)]
        rows = pd.MultiIndex.from_product(numbers, names=["game", "round"])
        return pd.DataFrame(table.reshape(-1, len(listed)), index=rows, columns=listed)


def who_is_present(
    participation: Participation | None, seeds: Seeds, names: Sequence[str], games: range
) -> BoolArray:
    """Who is present in these consecutive games: (n_games, n); with None everybody in all games."""
    shape = (len(games), len(names))
    if participation is None:
        return np.ones(shape, dtype=bool)
    table = participation.present(seeds, names, games)
    return _check_table(participation, "present", table, shape, "one row per game")


def who_is_in_rounds(
    participation: Participation, seeds: Seeds, names: Sequence[str], games: range, n_rounds: int
) -> BoolArray:
    """Who is present in each round of these consecutive games: (n_games, n_rounds, n)."""
    shape = (len(games), n_rounds, len(names))
    table = participation.present_in_rounds(seeds, names, games, n_rounds)
    rows = "one entry per game and round"
    return _check_table(participation, "present_in_rounds", table, shape, rows)


def _check_table(
    participation: Participation, method: str, table: object, shape: tuple[int, ...], rows: str
) -> BoolArray:
    if not (isinstance(table, np.ndarray) and table.dtype == bool and table.shape == shape):
        kind = f"{table.dtype} {table.shape}" if isinstance(table, np.ndarray) else type(table)
        raise InvalidInput(
            f"{type(participation).__name__}.{method} must give a bool array of shape {shape}, "
            f"{rows} and one column per provider; received {kind}"
        )
    return table


def uniform_numbers(seeds: Seeds, name: str, games: range) -> FloatArray:
    """One number in [0, 1) for each game, from the provider's own stream: (n_games,)."""
    return uniforms(seeds.words(PURPOSE, name, games, 1)[:, 0])


def uniform_numbers_of_rounds(seeds: Seeds, name: str, games: range, n_rounds: int) -> FloatArray:
    """One number in [0, 1) for each round of each game: (n_games, n_rounds)."""
    return uniforms(seeds.words(PURPOSE, name, games, n_rounds))


def check_per(owner: str, per: object) -> None:
    """Check whether presence is drawn for games or for rounds."""
    if not (isinstance(per, str) and per in get_args(Per)):
        raise InvalidInput(f'{owner}: per must be "game" or "round"; received {written(per)}')


def per_settings(per: Per) -> dict[str, str]:
    """The setting `per`; it is left out for games, as in runs of older versions."""
    return {} if per == "game" else {"per": per}


def per_shown(per: Per) -> str:
    """Return the setting `per` for a `repr`."""
    return "" if per == "game" else f", per={per!r}"


def who(per: Per) -> str:
    """Name the providers in a sentence: those who come and go in rounds are clients."""
    return "providers" if per == "game" else "clients"


def each(per: Per) -> str:
    """Say in a sentence that presence changes from round to round; empty for games."""
    return "" if per == "game" else " in each round"


def check_probabilities(what: str, given: ByName, *, above_zero: bool = False) -> None:
    """Check that a setting is a probability, or a mapping of names to probabilities."""
    if isinstance(given, Mapping) and not given:
        raise InvalidInput(f"{what} is empty: give a probability for each provider")
    for name, number in given.items() if isinstance(given, Mapping) else [(None, given)]:
        if not (name is None or isinstance(name, str)):
            raise InvalidInput(f"{what} must be by the names of providers; received {name!r}")
        which = what if name is None else f"{what}[{name!r}]"
        if not 0 <= check_number(which, number) <= 1:
            raise InvalidInput(f"{which} must lie between 0 and 1; received {number!r}")
        if above_zero and number == 0:
            raise InvalidInput(
                f"{which} must be above 0, because a provider that never takes part is worth 0: "
                "leave it out"
            )


def check_names(what: str, given: Sequence[str], names: Sequence[str]) -> None:
    """Check that there is one entry for each provider, and none for others."""
    for name in given:
        if name not in set(names):
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "leave it out"
            raise InvalidInput(printable(f"{what}: there is no provider {name!r}: {hint}"))
    for name in names:
        if name not in set(given):
            raise InvalidInput(printable(f"{what}: there is none for provider {name!r}: add it"))


def check_by_name(what: str, given: ByName, names: Sequence[str]) -> None:
    """Check that a mapping has one number for each provider."""
    if isinstance(given, Mapping):
        check_names(what, list(given), names)


def numbers_of(given: ByName, names: Sequence[str]) -> FloatArray:
    """The number of each provider: (n,)."""
    if isinstance(given, Mapping):
        return np.array([given[name] for name in names], dtype=np.float64)
    return np.full(len(names), float(given))


def plain(given: ByName) -> float | dict[str, float]:
    """Return a setting in a form that JSON can hold."""
    if isinstance(given, Mapping):
        return {name: float(number) for name, number in given.items()}
    return float(given)


def shown(given: ByName) -> str:
    """Return a setting for a `repr`: the numbers, or how many there are."""
    if not isinstance(given, Mapping):
        return f"{given:g}"
    if len(given) > _SHOWN:
        return f"{len(given)} probabilities"
    return "{" + ", ".join(f"{name!r}: {number:g}" for name, number in given.items()) + "}"


def spelled(given: ByName) -> str:
    """Return a setting for a sentence: the number, or the range of the numbers."""
    numbers = list(given.values()) if isinstance(given, Mapping) else [given]
    low, high = min(numbers), max(numbers)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
