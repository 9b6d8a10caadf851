"""Indices: the weights of coalition sizes in the value of a provider.

The value of provider i is Σ_s q_s × the mean of v(S ∪ {i}) − v(S) over the coalitions S of s other
providers. An index is the choice of q, a probability for each size s = 0 .. n-1. These values are
also called semivalues. All of them are computed from the same coalition values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray, Positive
from shapband.checks import check_number, described, error_line, written
from shapband.errors import InvalidInput

_TOLERANCE = 1e-9  # the sum of probabilities may differ from 1 by this much


class Index(ABC):
    """The weights of coalition sizes in the value of a provider.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class LastToJoin(sb.Index):
    ...     def size_weights(self, n_providers):
    ...         return np.eye(n_providers)[-1]
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                      index=LastToJoin(), seed=0)
    >>> valuation.index
    'LastToJoin()'
    """

    @abstractmethod
    def size_weights(self, n_providers: int) -> FloatArray:
        """(n_providers,) probabilities that a provider joins a coalition of 0, 1, .. others."""


@dataclass(frozen=True)
class Shapley(Index):
    """The Shapley value: all sizes count equally. Only its values always sum to v(N) − v(∅).

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Shapley().size_weights(4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def size_weights(self, n_providers: int) -> FloatArray:
        return np.full(n_providers, 1 / n_providers)


@dataclass(frozen=True)
class Banzhaf(Index):
    """The Banzhaf value: all coalitions count equally, so sizes near n / 2 count most.

    Noise in the coalition values changes the ranking of providers less than with other indices
    (Wang and Jia 2023, Data Banzhaf).

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Banzhaf().size_weights(4).round(3).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """

    def size_weights(self, n_providers: int) -> FloatArray:
        s = np.arange(n_providers - 1)
        return _normalised(np.log(n_providers - 1 - s) - np.log(s + 1))


@dataclass(frozen=True)
class Beta(Index):
    """Beta Shapley (Kwon and Zou 2022): the sizes have a beta-binomial distribution.

    A large `alpha` favours small coalitions, a large `beta` large ones: the mean size is
    (n − 1) × beta / (alpha + beta). ``Beta(1, 1)`` is the Shapley value. The parameters are those
    of the paper, where a size s counts C(n−1, s) B(s + beta, n − 1 − s + alpha) / B(alpha, beta).

    Parameters
    ----------
    alpha, beta : above 0

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Beta(4, 1).size_weights(4).round(3).tolist()
    [0.571, 0.286, 0.114, 0.029]
    """

    alpha: Positive
    beta: Positive

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            checked = check_number(f"Beta: {name}", getattr(self, name), above=0)
            # Floats, so that Beta(4, 1) and Beta(4.0, 1) have the same repr, which runs store.
            object.__setattr__(self, name, checked)

    def size_weights(self, n_providers: int) -> FloatArray:
        s = np.arange(n_providers - 1)
        left = n_providers - 1 - s  # number of others that are not in the coalition of s
        binomial = np.log(left) - np.log(s + 1)
        return _normalised(binomial + np.log(s + self.beta) - np.log(left - 1 + self.alpha))


SHAPLEY = Shapley()  # the default


def check_index(index: object, n_providers: int) -> Index:
    """Check that an index gives a probability for each coalition size."""
    if not isinstance(index, Index):
        raise InvalidInput(
            "index must be Shapley(), Banzhaf(), Beta(alpha, beta) or an Index of your own; "
            f"received {written(index)}"
        )
    owner = f"index: {type(index).__name__}.size_weights must return {n_providers} probabilities"
    try:
        weights: object = index.size_weights(n_providers)
    except Exception as cause:
        raise InvalidInput(f"{owner}, but it raised {error_line(cause)}") from cause
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64:
        raise InvalidInput(f"{owner} as a float64 array; received {described(weights)}")
    if weights.shape != (n_providers,):
        raise InvalidInput(f"{owner}; received {described(weights)}")
    if not ((weights >= 0).all() and abs(weights.sum() - 1) <= _TOLERANCE):
        raise InvalidInput(
            f"{owner} of at least 0 that sum to 1; received a least one of {weights.min()} and a "
            f"sum of {weights.sum()}: divide by the sum"
        )
    return index


def _normalised(log_ratios: FloatArray) -> FloatArray:
    """Probabilities q_0 .. q_{n-1} from log(q_{s+1} / q_s); logs, because q may underflow."""
    logs = np.concatenate([[0.0], np.cumsum(log_ratios)])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
