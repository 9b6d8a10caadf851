"""Moments of groups of providers: in every game a group is worth the sum of its members' values.

The sums over games are those of the group's own values, so its variance has the covariances of its
members in it, and the solver's noise is that of the sum. What the pools add to its error follows
from what they add to the errors of its members, with the correlations of their values, as in all
other statements about several providers.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.accumulate import Moments
from shapband.estimate.fold import Fold, spread_of
from shapband.estimate.pools import PoolErrors
from shapband.grouping import Grouping


class GroupFold:
    """Folds the values of groups, game by game, beside the `Fold` of the providers.

    Parameters
    ----------
    grouping : the groups
    per_shuffle : games that share a shuffle of the pools, or None
    certain : whether all games are equal by design
    """

    def __init__(
        self, grouping: Grouping, per_shuffle: int | None, *, certain: bool = False
    ) -> None:
        self._grouping = grouping
        self._fold = Fold(len(grouping.names), per_shuffle, certain=certain)

    def add(self, values: FloatArray, noise: FloatArray) -> None:
        """Add the next games: values of the providers (n_games, n), noise of the groups."""
        self._fold.add(self._grouping.totals(values), noise)

    def moments(self, providers: Moments) -> Moments:
        """Moments of the groups, given those of the providers in the same games."""
        moments = self._fold.moments()
        if providers.pools is None:
            return moments
        return replace(moments, pools=_pool_errors(moments, providers, self._grouping))


def together(providers: Moments, groups: Moments) -> Moments:
    """Moments of the providers, then those of the groups, without covariances.

    Intervals of groups are computed from these, because how large the rounding is, and whether
    anything in a game is random, is seen from all of its values.
    """
    pools = None
    if providers.pools is not None and groups.pools is not None:
        pools = PoolErrors(**_joined(providers.pools, groups.pools))
    return replace(providers, **_joined(providers, groups), products=None, pools=pools)


def _joined(one: Moments | PoolErrors, other: Moments | PoolErrors) -> dict[str, Any]:
    """The arrays of two records with a number for each provider or group, joined."""
    pairs = {
        field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
    }
    return {name: np.concatenate(pair) for name, pair in pairs.items() if _is_of_each(pair[0])}


def _is_of_each(part: object) -> bool:
    """Whether a part of a record has a number for each provider: by its value, not by its type."""
    return isinstance(part, np.ndarray) and part.ndim == 1


def _pool_errors(moments: Moments, providers: Moments, grouping: Grouping) -> PoolErrors:
    pools, correlation = providers.pools, providers.correlation
    assert pools is not None  # noqa: S101  for the type checker
    members = [list(places) for places in grouping.members]

    def of_sums(variance: FloatArray) -> FloatArray:
        """Variance of the sum of the members' errors, given that of each."""
        errors = [np.sqrt(variance[places]) for places in members]
        if correlation is None:  # the sum bounds the error for any correlation
            return np.array([error.sum() ** 2 for error in errors])
        pairs = [correlation[np.ix_(places, places)] for places in members]
        both = zip(errors, pairs, strict=True)
        return np.array([max(error @ pair @ error, 0.0) for error, pair in both])

    return PoolErrors(
        games=spread_of(moments).of_mean if correlation is None else of_sums(pools.games),
        variance=of_sums(pools.variance),
        freedom=np.array([pools.freedom[places].min() for places in members]),
        hidden=of_sums(pools.hidden),
        # The variance of a sum differs between pools no more, in proportion, than the members' do.
        square=np.array([pools.square[places].max() for places in members]),
    )
