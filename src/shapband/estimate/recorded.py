"""The error of an expectation over games whose presence was recorded.

The rounds of a recorded presence are fixed, so the mean over the games varies only as much as the
values of games with the same providers present do. These games form a stratum. With k games and a
variance s² within each stratum, the variance of the sum over all games is Σ k s², as in a
stratified sample (Cochran 1977, Sampling Techniques, section 5.4). Games whose providers are
present together only once are one stratum of their own. It includes the differences between these
rounds, so the error is too large as long as most rounds were played once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import BoolArray, FloatArray

_MANY = 500  # with more providers, products are not kept


@dataclass(frozen=True, eq=False)
class Within:
    """What varies within the strata.

    Attributes
    ----------
    of_sum : (n,) variance of the sum of each provider's values over all games
    freedom : (n,) its degrees of freedom; 0 if nothing is known
    products : (n, n) sums of products of deviations from the means of the strata, or None with
        more than 500 providers
    """

    of_sum: FloatArray
    freedom: FloatArray
    products: FloatArray | None


class RoundSums:
    """Sums over the games of every set of present providers.

    Values are relative to a fixed centre of their provider, and 0 if it is absent.
    """

    def __init__(self, n: int) -> None:
        self._place: dict[bytes, int] = {}
        self._count = np.zeros(0)
        self._present = np.zeros((0, n), dtype=bool)
        self._first, self._second = np.zeros((2, 0, n))
        self._products = np.zeros((n, n)) if n <= _MANY else None

    def add(self, present: BoolArray, x: FloatArray, recorded: BoolArray | None = None) -> None:
        """Add the next games: who is present, and their values, (n_games, n) each.

        `recorded` (n_games, ...) is all that was recorded about the games, if there is more than
        who is present. Games for which it is the same form a stratum.
        """
        known = present if recorded is None else recorded.reshape(len(recorded), -1)
        places = self._places(present, known)
        np.add.at(self._count, places, 1.0)
        np.add.at(self._first, places, x)
        np.add.at(self._second, places, x * x)
        if self._products is not None:
            self._products += x.T @ x

    def within(self) -> Within:
        """What varies within the strata of all games added so far."""
        once = self._count == 1
        count = self._count[~once, None]
        deviations = np.maximum(self._second[~once] - self._first[~once] ** 2 / count, 0.0)
        of_sum = (count / (count - 1) * deviations).sum(axis=0)
        freedom = ((count - 1) * self._present[~once]).sum(axis=0)
        apart, alone = self._played_once(once)
        found = (apart**2).sum(axis=0)
        of_sum += np.where(alone > 1, alone / np.maximum(alone - 1, 1) * found, 0.0)
        products = self._products
        if products is not None:
            scaled = self._first[~once] / np.sqrt(count)
            single = self._first[once]
            products = products - scaled.T @ scaled - single.T @ single + apart.T @ apart
        # A single game of a provider shows no variance of its own: it takes that of the others.
        known = freedom + np.maximum(alone - 1, 0)
        games = (self._count[:, None] * self._present).sum(axis=0)
        covered = np.where(alone == 1, games - 1, games)
        of_sum = of_sum * games / np.maximum(covered, 1)
        return Within(of_sum, known, products)

    def _played_once(self, once: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Deviations from their mean of games in strata of one game, and their number (n,)."""
        values, present = self._first[once], self._present[once]
        count = present.sum(axis=0).astype(np.float64)
        mean = values.sum(axis=0) / np.maximum(count, 1)
        return np.where(present, values - mean, 0.0), count

    def _places(self, present: BoolArray, recorded: BoolArray) -> list[int]:
        """The row of the sums for each game; new sets of present providers get new rows."""
        keys = [line.tobytes() for line in np.packbits(recorded, axis=1)]
        new = {key: at for at, key in enumerate(keys) if key not in self._place}
        if new:
            start = len(self._count)
            self._place |= {key: start + at for at, key in enumerate(new)}
            more = np.zeros((len(new), present.shape[1]))
            self._count = np.concatenate([self._count, np.zeros(len(new))])
            self._present = np.concatenate([self._present, present[list(new.values())]])
            self._first = np.concatenate([self._first, more])
            self._second = np.concatenate([self._second, more])
        return [self._place[key] for key in keys]
