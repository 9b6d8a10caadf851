"""The games on which solvers are compared: five kinds, with any number of providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import shapband as sb
from benchmarks.games import draws_of, split_wine
from benchmarks.oracles import Arrays, worth
from shapband.coalitions import members
from shapband.datasets.synthetic import _Around
from shapband.seeds import Seeds
from shapband.utilities.gram import GramGames

SEED = 1
MOST_IN_TABLE = 16  # providers of a game that is kept as a table of all its coalitions
DRAW = 60
NEAREST_ROWS = 300  # validation wines of the nearest-neighbour game
PAIRED = 0.1  # share of the pairs that interact in the square root
MANY = 100  # providers from which on the wines are too few to be split
SHARED, MANY_DRAW = 60, 20


@dataclass(frozen=True, eq=False)
class Game:
    """One game: as shapband's solvers see it, and as arrays for `oracles.worth`."""

    utility: sb.Utility
    summaries: Any  # one for each provider
    n: int
    arrays: Arrays

    def copies(self, count: int, seed: int) -> sb.Games:
        """Return the game many times: solvers use other random numbers for each copy."""
        names = tuple(f"provider {i}" for i in range(self.n))
        return sb.Games(self.utility, [self.summaries] * count, names, range(count), Seeds(seed))


def from_arrays(arrays: Arrays, n: int) -> Game:
    return Game(OracleUtility(partial(worth, arrays), n), [None] * n, n, arrays)


class OracleUtility(sb.Utility):
    """The values that a function gives to coalitions of n providers; the records are ignored."""

    empty = 0.0

    def __init__(self, values: Callable[[np.ndarray], np.ndarray], n: int) -> None:
        self._values_of = values
        self._n = n

    def summarise(self, batch: Any) -> None:  # noqa: ARG002
        return None

    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> np.ndarray:  # noqa: ARG002
        inside = np.zeros((len(coalitions), self._n), dtype=bool)
        for row, coalition in zip(inside, coalitions, strict=True):
            row[members(coalition)] = True
        return self._values_of(inside)

    def evaluate_rows(self, games: Any, inside: np.ndarray, of_game: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return self._values_of(inside)

    def evaluate_prefixes(self, games: Any, orders: np.ndarray, first: np.ndarray) -> np.ndarray:  # noqa: ARG002
        place = np.argsort(orders, axis=2)[:, :, None, :]
        inside = place <= np.arange(self._n)[:, None]
        return self._values_of(inside.reshape(-1, self._n)).reshape(orders.shape)


def wine_by_alcohol(n: int, count: int) -> list[Game]:
    return _wine(n, count, by_alcohol=True)


def wine_at_random(n: int, count: int) -> list[Game]:
    return _wine(n, count, by_alcohol=False)


def _wine(n: int, count: int, *, by_alcohol: bool) -> list[Game]:
    many = n >= MANY
    providers = split_wine(n, by_alcohol=by_alcohol, shared=SHARED if many else None)
    utility = sb.datasets.wine().utility
    return _drawn(providers, utility, MANY_DRAW if many else DRAW, count, _least_squares)


def synthetic(n: int, count: int) -> list[Game]:
    """The synthetic task; other numbers of providers are spaced over the same range."""
    task = sb.datasets.synthetic()
    providers: Sequence[sb.Provider] = task.providers
    if n != len(providers):
        centres = np.linspace(-7, 7, n).tolist()
        widths = np.random.default_rng(0).uniform(0.5, 2.5, n).tolist()
        providers = [
            sb.Provider(f"around {centre:+.2f}", sb.FunctionSource(_Around(centre, width)))
            for centre, width in zip(centres, widths, strict=True)
        ]
    return _drawn(providers, task.utility, DRAW, count, _nearest_neighbour)


def nearest_wine(n: int, count: int) -> list[Game]:
    task = sb.datasets.wine()
    utility = sb.NeighborUtility(
        task.X_val[:NEAREST_ROWS], task.y_val[:NEAREST_ROWS], k=1, task="regression"
    )
    providers = split_wine(n, by_alcohol=True)
    return _drawn(providers, utility, DRAW, count, _nearest_neighbour)


def square_root(n: int, count: int) -> list[Game]:
    """The square root of |Σ a_i + Σ b_ij| with a uniform, and b normal for a tenth of the pairs."""
    games = []
    for g in range(count):
        rng = np.random.default_rng([SEED, n, g])
        pairs = np.triu(rng.normal(0, 0.5, (n, n)) * (rng.random((n, n)) < PAIRED), 1)
        arrays = {"single": rng.uniform(0, 1, n), "pairs": pairs}
        games.append(_as_table(from_arrays(arrays, n)))
    return games


def _drawn(
    providers: Sequence[sb.Provider],
    utility: Any,
    draw: int,
    count: int,
    as_arrays: Callable[[Any, np.ndarray], Arrays],
) -> list[Game]:
    summaries = utility.summarise_games(draws_of(providers, sb.Fresh(draw), count, SEED))
    n = len(providers)
    games = [Game(utility, own, n, as_arrays(utility, own)) for own in summaries]
    check_same_values(games[0])
    return [_as_table(game) for game in games]


def _as_table(game: Game) -> Game:
    """Replace a small game by the table of its values, to solve it exactly and quickly."""
    if game.n > MOST_IN_TABLE:
        return game
    return from_arrays({"table": game.utility.evaluate_all([game.summaries])[0]}, game.n)


def _least_squares(utility: sb.LinearUtility, summaries: np.ndarray) -> Arrays:
    n, p = len(summaries), len(utility._form.b)
    sums = utility._about_validation(GramGames.of(summaries[None], p - 1))[0][0]
    single = np.eye(n, dtype=np.uint8)
    return {
        "grams": _unpacked(sums[:, : -p - 1], p),
        "products": sums[:, -p - 1 : -1],
        "A": _unpacked(utility._form.A[None], p)[0],
        "b": utility._form.b,
        "c": np.array(utility._variance),
        "alone": utility.evaluate_rows(summaries[None], single, np.zeros(n, dtype=np.int64)),
    }


def _nearest_neighbour(utility: sb.NeighborUtility, summaries: np.ndarray) -> Arrays:
    distances, targets = summaries[:, 0, 0].T, summaries[:, 1, 0].T  # k is 1
    # Records at equal distance are ordered by their target.
    order = np.lexsort((targets, distances), axis=1)
    return {"order": order, "errors": (targets - utility._y[:, None]) ** 2}


def check_same_values(game: Game) -> None:
    """Raise an error if shapband and the arrays value random coalitions differently."""
    rng = np.random.default_rng(SEED)
    inside = rng.random((500, game.n)) < rng.random((500, 1))
    inside = inside[inside.any(axis=1)]
    first = np.zeros(len(inside), dtype=np.int64)
    ours = game.utility.evaluate_rows(game.summaries[None], inside.astype(np.uint8), first)
    worst = float(np.abs(ours - worth(game.arrays, inside)).max())
    if not worst < 1e-9:
        raise RuntimeError(f"the arrays describe another game: values differ by {worst:.2g}")


KINDS: dict[str, Callable[[int, int], list[Game]]] = {
    "wine by alcohol": wine_by_alcohol,
    "wine at random": wine_at_random,
    "synthetic": synthetic,
    "square root": square_root,
    "nearest wine": nearest_wine,
}


def _unpacked(packed: np.ndarray, p: int) -> np.ndarray:
    """Symmetric matrices (m, p, p) of packed lower triangles."""
    row, column = np.tril_indices(p)
    full = np.empty((len(packed), p, p))
    full[:, row, column] = packed
    full[:, column, row] = packed
    return full
