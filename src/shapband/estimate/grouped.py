"""Moments of groups of providers: in every game a group is worth the sum of its members' values.

The sums over games are computed from the group's own values. So the variance of a group includes
the covariances of its members, and its solver noise is the noise of the sum. What the pools add to
the error of a group follows from what they add to the errors of its members and from the
correlations of their values, as in all other statements about several providers.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.estimate import Estimate
from shapband.estimate.moments import Moments, with_validation
from shapband.estimate.pool_games import of_dealt_games
from shapband.estimate.pools import PoolErrors
from shapband.estimate.shuffles import Shuffles
from shapband.estimate.validation import joined_rows
from shapband.grouping import Grouping

_Arrays = Moments | PoolErrors | Shuffles


class GroupEstimate(NamedTuple):
    """The estimate of the groups' values.

    Attributes
    ----------
    estimate : estimate of the groups alone
    whole : estimate of the providers, then of the groups, without covariances. Intervals of groups
        come from it, because the rounding error, and whether anything is random, follow from all
        values of a game
    """

    estimate: Estimate
    whole: Estimate


def of_groups(
    grouping: Grouping, groups: Moments, providers: Moments, folds: FloatArray
) -> GroupEstimate:
    """Estimate the groups' values from the sums over games of groups and of providers.

    `folds` (n_games, n_folds, n_groups) are the effects of folds of the validation rows.
    """
    if providers.pools is not None:
        groups = replace(groups, pools=_pool_errors(groups, providers, grouping))
    return from_moments(with_validation(groups, folds), providers)


def from_moments(groups: Moments, providers: Moments) -> GroupEstimate:
    """Estimate the groups' values from moments that already include the errors due to pools."""
    whole = together(providers, groups)
    return GroupEstimate(Estimate.of_moments(groups), Estimate.of_moments(whole))


def together(providers: Moments, groups: Moments) -> Moments:
    """Moments of the providers, then moments of the groups, without covariances."""
    pools, shuffles = None, providers.shuffles
    if providers.pools is not None and groups.pools is not None:
        pools = PoolErrors(**_joined(providers.pools, groups.pools))
    if shuffles is not None and groups.shuffles is not None:
        shuffles = replace(shuffles, **_joined(shuffles, groups.shuffles), products=None)
    rows = None
    if providers.validation is not None and groups.validation is not None:
        rows = joined_rows(providers.validation, groups.validation)
    joined: dict[str, Any] = {**_joined(providers, groups), "pools": pools, "validation": rows}
    joined |= {"products": None, "products_21": None, "shuffles": shuffles}
    return replace(providers, **joined)


def _joined(one: _Arrays, other: _Arrays) -> dict[str, Any]:
    """The arrays of two records, concatenated, if they have a number for each provider or group."""
    pairs = {
        field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
    }
    return {name: np.concatenate(pair) for name, pair in pairs.items() if _is_of_each(pair[0])}


def _is_of_each(part: object) -> bool:
    """Whether a part of a record is an array with a number for each provider, judged by value."""
    return isinstance(part, np.ndarray) and part.ndim == 1


def _pool_errors(moments: Moments, providers: Moments, grouping: Grouping) -> PoolErrors:
    pools, correlation = providers.pools, providers.correlation
    assert pools is not None  # noqa: S101  for the type checker
    members = [list(places) for places in grouping.members]

    def of_sums(variance: FloatArray) -> FloatArray:
        """Variance of the sum of the members' errors, given the variance of each."""
        errors = [np.sqrt(variance[places]) for places in members]
        if correlation is None:  # the sum bounds the error for any correlation
            return np.array([error.sum() ** 2 for error in errors])
        pairs = [correlation[np.ix_(places, places)] for places in members]
        both = zip(errors, pairs, strict=True)
        return np.array([max(error @ pair @ error, 0.0) for error, pair in both])

    between = of_sums(pools.variance)
    found = PoolErrors(
        games=moments.games_variance if correlation is None else of_sums(pools.games),
        variance=between,
        freedom=np.array([pools.freedom[places].min() for places in members]),
        hidden=of_sums(pools.hidden) if moments.shuffles is None else between,
        # Assume that the relative variance of a group's variance is at most the largest of its
        # members'.
        square=np.array([pools.square[places].max() for places in members]),
        skewness=_skewness(pools, members, of_sums(pools.variance)),
        square_skewness=_largest(pools.square_skewness, members),
    )
    if moments.shuffles is None:
        return found
    # Groups are shrunk to what the providers have in common, so a group of one is its member.
    n, both = len(providers.mean), together(providers, replace(moments, pools=found))
    assert both.pools is not None  # noqa: S101  for the type checker
    hidden = np.concatenate([pools.variance, between])
    dealt = of_dealt_games(replace(both.pools, hidden=hidden), both, n)
    return replace(found, games=dealt.games[n:], hidden=dealt.hidden[n:])


def _skewness(
    pools: PoolErrors, members: list[list[int]], variance: FloatArray
) -> FloatArray | None:
    """Skewness of the groups' errors: the third moments of the members' own pools add up."""
    if pools.skewness is None:
        return None
    third = pools.skewness * pools.variance**1.5
    sums = np.array([third[places].sum() for places in members])
    return np.where(variance > 0, sums / np.where(variance > 0, variance, 1.0) ** 1.5, 0.0)


def _largest(of_members: FloatArray | None, members: list[list[int]]) -> FloatArray | None:
    if of_members is None:
        return None
    return np.array([of_members[places].max() for places in members])
