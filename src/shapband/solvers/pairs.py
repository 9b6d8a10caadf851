"""The interactions of pairs of providers in games, beside their values.

The interaction of i and j is the mean of what they are worth together beyond the sum of what each
is worth alone, when they join a coalition S of others (Grabisch and Roubens 1999, International
Journal of Game Theory 28, 547-565):

    I_ij = Σ_S |S|! (n - |S| - 2)! / (n - 1)! · (v(S ∪ ij) - v(S ∪ i) - v(S ∪ j) + v(S)).

It is negative if one replaces the other. Pairs are in the order (0, 1), (0, 2), .., (1, 2), ..
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray, IntArray

MOST_PROVIDERS = 500  # they have 124,750 pairs, of which a run stores 2 MB per game


@dataclass(frozen=True, eq=False)
class PairSolution:
    """The interactions of all pairs of providers in a chunk of games.

    Attributes
    ----------
    values : (n_games, n_pairs)
    noise : (n_games, n_pairs) estimated variance of the solver's own error in `values`
    folds : (n_games, n_folds, n_pairs) interactions without each fold of the validation rows minus
        `values`, NaN if a fold cannot be left out; added by the library, None if not wanted

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> sb.PairSolution(np.array([[-0.5]]), noise=np.zeros((1, 1))).values.shape
    (1, 1)
    """

    values: FloatArray
    noise: FloatArray
    folds: FloatArray | None = None


def pair_count(n: int) -> int:
    """Number of pairs of n providers.

    Examples
    --------
    >>> pair_count(4)
    6
    """
    return n * (n - 1) // 2


def pair_places(n: int) -> tuple[IntArray, IntArray]:
    """First and second provider of every pair: (n_pairs,) each.

    Examples
    --------
    >>> [place.tolist() for place in pair_places(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(n, 1)
    return first, second


def pairs_among(places: Sequence[int] | IntArray, n: int) -> IntArray:
    """Where the pairs of some of n providers, given by their places, are among all pairs.

    Examples
    --------
    >>> pairs_among([0, 2, 3], 4).tolist()
    [1, 2, 5]
    """
    at = np.asarray(places, dtype=np.int64)
    one, two = (at[part] for part in pair_places(len(at)))
    first, second = np.minimum(one, two), np.maximum(one, two)
    return np.asarray(first * (2 * n - first - 1) // 2 + second - first - 1)


def among_all(found: PairSolution, places: Sequence[int], n: int) -> PairSolution:
    """Interactions of all n providers, 0 for pairs that are not both among those present."""
    columns = pairs_among(places, n)

    def widened(part: FloatArray) -> FloatArray:
        whole = np.zeros((*part.shape[:-1], pair_count(n)))
        whole[..., columns] = part
        return whole

    folds = None if found.folds is None else widened(found.folds)
    return PairSolution(widened(found.values), widened(found.noise), folds)


def with_folds(
    found: PairSolution | None, parts: Sequence[PairSolution | None]
) -> PairSolution | None:
    """Add what leaving out each fold of the validation rows changes; NaN without parts."""
    if found is None:
        return None
    changes = [part.values - found.values for part in parts if part is not None]
    return replace(found, folds=np.stack(changes, axis=1))
