"""Conformance checks of participations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shapband._typing import BoolArray
from shapband.errors import InvalidInput
from shapband.sampling.participation import Participation, who_is_in_rounds, who_is_present
from shapband.seeds import Seeds
from shapband.testing.rules import accepts, check_repr, during, require

_GAMES = 2_000
_CHUNK = 7
_ERRORS = 5.0  # allowed standard errors; by chance 1 of 1.7 million providers is further away


def check_participation(
    participation: Participation,
    names: Sequence[str] = ("north", "south", "east"),
    rounds: int = 4,
) -> None:
    """Check that a participation follows the rules of participations.

    Presence must depend on the seed, the name and the game alone, not on chunks or on the order of
    providers. Providers must be present as often as `rates` says, and as many at once as `counts`
    says.

    Parameters
    ----------
    participation : the participation to check
    names : the providers that it is checked with
    rounds : the rounds of a game that it is checked with, if it is about rounds

    Examples
    --------
    >>> import shapband as sb
    >>> sb.testing.check_participation(sb.MarkovChain(join=0.2, stay=0.9))
    """
    owner = type(participation).__name__
    require(
        isinstance(participation, Participation), f"{owner} must be a subclass of Participation"
    )
    check_repr(participation)
    if not accepts(owner, participation.check, names):
        raise InvalidInput(f"{participation!r} refuses {names}: pass names to check_participation")
    method = f"{owner}.present"
    if participation.per == "round":
        method = f"{owner}.present_in_rounds"
        if not accepts(owner, participation.check_rounds, rounds):
            raise InvalidInput(
                f"{participation!r} refuses {rounds} rounds: pass rounds to check_participation"
            )
    with during(f"{method} must say who is present"):
        present = _present(participation, names, rounds)
        again = _present(participation, names, rounds)
        turned = _present(participation, names[::-1], rounds)[:, ::-1]
        parts = [range(at, min(at + _CHUNK, _GAMES)) for at in range(0, _GAMES, _CHUNK)]
        found = [_present(participation, names, rounds, part) for part in parts]
        chunks = np.concatenate(found)
    for other, of in (
        (again, "what was asked before"),
        (turned, "the order of providers"),
        (chunks, "the games that are asked for together"),
    ):
        require(
            np.array_equal(present, other),
            f"{method} must not depend on {of}: draw random numbers with "
            'seeds.generator("participation", name, game)',
        )
    _check_rates(participation, owner, names, present)
    require(
        isinstance(participation.estimand, str) and participation.estimand,
        f"{owner}.estimand must be a string that says how providers take part",
    )


def _present(
    participation: Participation, names: Sequence[str], rounds: int, games: range = range(_GAMES)
) -> BoolArray:
    """Who is present in games, or in the rounds of games one after the other: (n_rows, n)."""
    if participation.per == "game":
        return who_is_present(participation, Seeds(0), tuple(names), games)
    table = who_is_in_rounds(participation, Seeds(0), tuple(names), games, rounds)
    return table.reshape(-1, len(names))


def _check_rates(
    participation: Participation, owner: str, names: Sequence[str], present: BoolArray
) -> None:
    """Check how often providers are present, and how many of them at once."""
    n = len(names)
    with during(f"{owner} must say how often providers are present"):
        counts = set(participation.counts(names))
        rates = np.asarray(participation.rates(names), dtype=np.float64)
        kept = np.asarray(participation.persistence(names), dtype=np.float64)
    require(
        rates.shape == kept.shape == (n,) and ((rates >= 0) & (rates <= 1)).all(),
        f"{owner}.rates and persistence must be one number per provider, and rates must lie "
        f"between 0 and 1; received {rates} and {kept}",
    )
    found = set(present.sum(axis=1).tolist()) - {0}
    require(
        found <= counts <= set(range(1, n + 1)),
        f"{owner}.counts must hold, from 1 to {n}, all numbers of providers that may be present; "
        f"received {sorted(counts)} where {sorted(found)} were present",
    )
    # The variance of the mean of a chain with correlations r, r^2, ... is (1 + r) / (1 - r) times
    # the variance for independent games. A recorded presence is not random: its mean may differ
    # from the rate by a part of one round.
    chain = (1 + kept) / np.maximum(1 - kept, 1e-9)
    if participation.per == "round":  # chains begin anew in every game, so less cancels
        chain = np.maximum(chain, 1.0)
    error = np.sqrt(rates * (1 - rates) * chain / len(present))
    away = np.abs(present.mean(axis=0) - rates)
    require(
        (away <= _ERRORS * error + 1e-12).all(),
        f"{owner}.rates must be the probabilities to be present: {rates.round(3).tolist()}; in "
        f"{len(present):,} {participation.per}s providers were present in"
        f" {present.mean(axis=0).round(3).tolist()}",
    )
