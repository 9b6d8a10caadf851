"""Conformance checks of utilities."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access
from shapband.access.answers import check_answer
from shapband.access.budget import Budget
from shapband.checks import check_number
from shapband.coalitions import arc_rows, members, prefix_masks, row_masks
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.kernels.walks import first_occurrences
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.draws import Draws
from shapband.sampling.fresh import Fresh
from shapband.seeds import Seeds
from shapband.solvers.exact import index_values
from shapband.sources.base import MemorySource, Records
from shapband.testing.rules import during, require, same, travelled
from shapband.utilities.base import Utility
from shapband.utilities.checking import check_values

_GAMES = range(2)
_MOST_BATCHES = 6  # most batches, because all coalitions are evaluated several times


def check_utility(utility: Utility, batches: Sequence[Records] | None = None) -> None:
    """Check that a utility follows the rules of utilities.

    Every coalition must have one finite value, the same at every call and whichever other
    coalitions are in the call; the empty coalition is worth `empty`. The optional methods must
    agree with `evaluate` to 1e-9, records must not change, and utility and summaries must be
    picklable.

    Parameters
    ----------
    utility : the utility to check
    batches : records of one to six providers, each a `Batch` or (X, y); by default three with
        30 numeric records

    Examples
    --------
    >>> import shapband as sb
    >>> sb.testing.check_utility(sb.AdditiveUtility(weights=[1.0, 2.0, 3.0]))
    """
    name = type(utility).__name__
    require(isinstance(utility, Utility), f"{name} must be a subclass of Utility")
    with during(f"{name}.empty must be a number"):
        check_number("empty", utility.empty)
    draws = _draws(utility, batches)
    records = [[drawn.batches()[g] for drawn in draws] for g in _GAMES]
    kept = deepcopy(records)
    with during(f"{name}.summarise must accept a draw"):
        games = [[utility.summarise(batch) for batch in game] for game in records]
    _check_unchanged(f"{name}.summarise", records, kept)
    alone = _alone(utility, games)
    _check_unchanged(f"{name}.evaluate", records, kept)
    _check_evaluate(utility, games, alone)
    _check_optional(utility, draws, alone)
    copy, arrived = travelled(utility, name), travelled(games, f"the summaries of {name}")
    _agree(_alone(copy, arrived), alone, f"{name}.evaluate must not change by being pickled")


def _draws(utility: Utility, batches: Sequence[Records] | None) -> list[Draws]:
    """Draw a few games from the batches, after the utility has accepted them."""
    given = _default_batches(utility) if batches is None else batches
    if not 1 <= len(given) <= _MOST_BATCHES:
        raise InvalidInput(f"batches must be 1 to {_MOST_BATCHES}; received {len(given)}")
    checked = [check_answer(one, len(one.y if isinstance(one, Batch) else one[1])) for one in given]
    sources = [MemorySource(batch, replace=False) for batch in checked]
    providers = [Provider(f"batch {i}", source) for i, source in enumerate(sources)]
    try:
        utility.check(providers)
    except InvalidInput as cause:
        raise InvalidInput(f"{cause}: pass other batches to check_utility") from cause
    size = -(-2 * min(source.size for source in sources) // 3)
    return Fresh(size).prepare(Access(providers, Seeds(0), Budget())).draws(_GAMES)


def _default_batches(utility: Utility) -> list[Records]:
    rng = np.random.default_rng(0)
    features = utility.schema.n_features if utility.schema else 2
    tables = [rng.normal(size=(30, features)) for _ in range(3)]
    return [(X, X.sum(axis=1) + rng.normal(size=30)) for X in tables]


def _alone(utility: Utility, games: list[list[Any]]) -> FloatArray:
    """Evaluate every coalition in a separate call: (n_games, 2**n)."""
    table = np.empty((len(games), 2 ** len(games[0])))
    for g, c in np.ndindex(table.shape):
        what = f"{type(utility).__name__}.evaluate of the coalition {members(c)}"
        with during(f"{what} must give its value"):
            table[g, c] = check_values(utility.evaluate(games[g], [c]), (1,), what)[0]
        require(np.isfinite(table[g, c]), f"{what} must be finite; received {table[g, c]}")
    return table


def _check_evaluate(utility: Utility, games: list[list[Any]], alone: FloatArray) -> None:
    method = f"{type(utility).__name__}.evaluate"
    require(
        (alone[:, 0] == utility.empty).all(),
        f"{method} must give empty={utility.empty} for the empty coalition; received "
        f"{alone[0, 0]}: return self.empty",
    )
    rule = f"{method} must give the same value twice: seed what is random, and keep no state"
    _agree(_alone(utility, games), alone, rule)
    backwards = list(range(alone.shape[1]))[::-1]
    with during(f"{method} must take several coalitions"):
        found = [
            check_values(utility.evaluate(s, backwards), alone[0].shape, method) for s in games
        ]
    rule = f"{method} must not depend on the order or the number of coalitions it is asked for"
    _agree(np.array(found)[:, ::-1], alone, rule)


def _check_optional(utility: Utility, draws: list[Draws], alone: FloatArray) -> None:
    """Check that the optional methods agree with `evaluate`."""
    n, name = len(draws), type(utility).__name__
    with during(f"{name}.summarise_games must accept draws"):
        games = utility.summarise_games(draws)
        found = _alone(utility, [games[g] for g in _GAMES])
    _agree(found, alone, f"{name}.summarise_games must agree with summarise")
    method = f"{name}.evaluate_all"
    with during(f"{method} must take several games"):
        table = check_values(utility.evaluate_all(games), alone.shape, method)
    _agree(table[:, 1:], alone[:, 1:], f"{method} must agree with evaluate")
    orders = np.argsort(np.random.default_rng(0).random((len(_GAMES), 2 * n, n)), axis=2)
    method = f"{name}.evaluate_prefixes"
    with during(f"{method} must take several games"):
        walked = utility.evaluate_prefixes(games, orders, first_occurrences(orders))
        walked = check_values(walked, orders.shape, method)
    grown = np.array([[prefix_masks(order) for order in game] for game in orders])
    expected = np.take_along_axis(alone[:, None, :], grown, axis=2)
    _agree(walked, expected, f"{method} must agree with evaluate")
    _check_arcs(utility, games, alone, orders)
    _check_rows(utility, [games[g] for g in _GAMES], alone)
    if utility.knows_values:
        method = f"{name}.exact_values"
        with during(f"{method} must take several games"):
            known = check_values(utility.exact_values(games), (len(_GAMES), n), method)
        rule = f"{method} must be the Shapley values of evaluate"
        _agree(known, index_values(alone, SHAPLEY), rule)


def _check_rows(utility: Utility, games: list[Any], alone: FloatArray) -> None:
    """Check that the utility on all of its validation rows agrees with `evaluate`."""
    if not (utility.validation_rows and utility.knows_rows):
        return
    method, rows = f"{type(utility).__name__}.on_rows", utility.validation_rows
    with during(f"{method} must take the numbers of rows"):
        again = utility.on_rows(np.arange(rows))
    require(
        again.validation_rows == rows,
        f"{method} of all {rows} rows must have as many; received {again.validation_rows}",
    )
    _agree(_alone(again, games), alone, f"{method} must agree with evaluate if it keeps all rows")


def _check_arcs(utility: Utility, games: Any, alone: FloatArray, orders: IntArray) -> None:
    """Check that the values of arcs agree with `evaluate`; the orders are the circles."""
    n, method = orders.shape[2], f"{type(utility).__name__}.evaluate_arcs"
    arcs = np.array([(g, 0, size) for g in range(len(_GAMES)) for size in range(1, n + 1)])
    with during(f"{method} must take several games"):
        found = check_values(utility.evaluate_arcs(games, orders, arcs), (len(arcs), n), method)
    rows = arc_rows(orders[arcs[:, 0], 0], arcs[:, 2])
    masks = np.array(row_masks(rows.reshape(-1, n))).reshape(-1, n)
    expected = np.take_along_axis(alone[arcs[:, 0]], masks, axis=1)
    _agree(found, expected, f"{method} must agree with evaluate")


def _check_unchanged(method: str, records: list[list[Batch]], kept: list[list[Batch]]) -> None:
    unchanged = all(all(map(same, *games)) for games in zip(records, kept, strict=True))
    require(unchanged, f"{method} must not change the records of a draw; it did: work on a copy")


def _agree(found: FloatArray, expected: FloatArray, rule: str) -> None:
    off = np.abs(found - expected)
    at = np.unravel_index(off.argmax(), off.shape)
    require(
        off[at] <= 1e-9 * max(1.0, np.abs(expected).max()),
        f"{rule}; received {found[at]} where evaluate gave {expected[at]}",
    )
