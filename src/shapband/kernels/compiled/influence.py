"""Sums over games for every record of a pool, in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray


@njit(cache=True, nogil=True)
def close_shuffle(totals: FloatArray, current: IntArray) -> None:
    """Add the sums of the current shuffle to the sums over shuffles, in place, and empty it."""
    n_columns, count = totals.shape[1], current[1]
    for column in range(n_columns):
        total = totals[7, column]
        totals[8, column] += total * total
        totals[9, column] += total * totals[7, (column + 1) % n_columns]
        totals[10, column] += count * total
        totals[11, column] += count * count
    for column in range(n_columns):
        totals[7, column] = 0.0
    current[1] = 0


@njit(cache=True, nogil=True)
def add_games(
    rows: IntArray,
    values: FloatArray,
    first: int,
    shuffles: IntArray,
    seen: NDArray[np.int32],
    counts: NDArray[np.int32],
    sums: NDArray[np.float32],
    totals: FloatArray,
    current: IntArray,
) -> None:
    """Add games to the sums of one pool, in place.

    Parameters
    ----------
    rows : (n_games, size) records that each game uses, repeats included
    values : (n_games, n_columns) numbers of each game
    first : number of the first game, from 0 on
    shuffles : (n_games,) number of the shuffle that each game belongs to, in ascending order
    seen : (n_records,) the last game that used a record, plus 1
    counts : (n_records,) games that used a record
    sums : (n_records, n_columns) sums of the values over the games that used a record
    totals : (13, n_columns) sums over all games of v, v², u v, u v², u, v³ and v⁴, where v is the
        value and u the number of distinct records in the game; then the sum s of v in the current
        shuffle, and the sums over all earlier shuffles of s², of s times the s of the next column,
        of c s and of c², with c the number of games of the shuffle; then the sum of v⁵. Sums of v³,
        v⁴ and v⁵ are kept for the first two columns only
    current : (2,) number of the current shuffle, and how many of its games were added
    """
    n_games, size = rows.shape
    n_columns = values.shape[1]
    single = np.empty(n_columns, dtype=np.float32)  # the type of `sums`: adds faster
    for game in range(n_games):
        distinct = 0
        for column in range(n_columns):
            single[column] = values[game, column]
        for place in range(size):
            record = rows[game, place]
            if seen[record] != first + game + 1:
                seen[record] = first + game + 1
                distinct += 1
                counts[record] += 1
                for column in range(n_columns):
                    sums[record, column] += single[column]
        if shuffles[game] != current[0]:
            close_shuffle(totals, current)
            current[0] = shuffles[game]
        current[1] += 1
        for column in range(n_columns):
            value = values[game, column]
            totals[0, column] += value
            totals[1, column] += value * value
            totals[2, column] += distinct * value
            totals[3, column] += distinct * value * value
            totals[4, column] += distinct
            totals[7, column] += value
        for column in range(2):  # higher powers are needed of the provider's own value only
            value = values[game, column]
            totals[5, column] += value * value * value
            totals[6, column] += value * value * value * value
            totals[12, column] += value * value * value * value * value
