"""The number of different records that draws come from, and whether it is too small.

A draw with replacement from a small pool, or a draw from a stock padded with copies, repeats
records. Games value such a draw as if all its records were different, so the result reports
repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from shapband._typing import AnyArray, BoolArray, FloatArray, IntArray
from shapband.checks import printable
from shapband.records.batch import Batch

_BLOCK = 4096  # rows are hashed in blocks that fit into the caches
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that different words have different products
_HALF = np.uint64(32)
# Repeats are reported if fewer than two thirds of the records are different. In real data without
# copies, such as the wines, up to 30 % of the records repeat another; in a stock that was copied
# once, 50 % do.
_ENOUGH = 2 / 3
_LOOKED_AT = 100_000  # at most this many records of a stock are compared
_DIGITS = 6  # decimals kept of a mean number of records; further decimals are rounding errors
_NAMED = 3  # a message names at most this many providers
REMEDY = (
    "they are valued as if all were different: ask for records without copies, or for fewer "
    "than there are different ones"
)


def count_distinct(batch: Batch) -> int:
    """Number of records that differ in a feature or in the target; missing values are equal.

    Rows are compared by a hash of 64 bits.

    Examples
    --------
    >>> count_distinct(Batch(np.array([[1.0], [2.0], [1.0]]), np.array([0.0, 0.0, 0.0])))
    2
    """
    return len(_copies(batch))


def expected_distinct(stock: Batch, draw: int, *, replace: bool) -> float:
    """Mean number of different records in a random draw from a stock.

    A record of which the stock of N holds c copies is missing from a draw of b with the probability
    (1 - c/N)^b, or C(N-c, b) / C(N, b) without replacement. For a large stock, the number is
    computed from some evenly spaced rows, as if all rows were like them.

    Examples
    --------
    >>> stock = Batch(np.array([[1.0], [2.0], [1.0]]), np.array([0.0, 0.0, 0.0]))
    >>> round(expected_distinct(stock, 2, replace=False), 4)
    1.6667
    """
    if len(stock) > _LOOKED_AT:
        rows = np.linspace(0, len(stock) - 1, _LOOKED_AT).astype(np.int64)
        stock, replace = stock.take(rows), True
    copies = _copies(stock)
    if len(copies) == len(stock):
        return _expected_without_copies(len(stock), draw, replace=replace)
    return _expected(copies.astype(np.float64), len(stock), draw, replace=replace)


@lru_cache
def _expected_without_copies(n: int, draw: int, *, replace: bool) -> float:
    """`_expected` for records that are all different; cached, because many stocks have one size."""
    return _expected(np.ones(n), n, draw, replace=replace)


def _expected(c: FloatArray, n: int, draw: int, *, replace: bool) -> float:
    from scipy.special import gammaln

    if replace:
        return round(float((1 - (1 - c / n) ** draw).sum()), _DIGITS)
    left = np.maximum(n - c - draw, 0)
    logs = gammaln(n - c + 1) + gammaln(n - draw + 1) - gammaln(left + 1) - gammaln(n + 1)
    return round(float(np.where(n - c < draw, 1.0, 1 - np.exp(logs)).sum()), _DIGITS)


def _copies(batch: Batch) -> IntArray:
    """Number of copies of each of the different records."""
    hashes = record_hashes(batch)
    hashes.sort()
    starts = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
    return np.diff(starts, append=len(hashes))


def record_hashes(batch: Batch) -> NDArray[np.uint64]:
    """A hash of every record, the same for equal records of any batch: (n_records,).

    Only some evenly spaced rows of a large stock are hashed.
    """
    if len(batch) > _LOOKED_AT:
        batch = batch.take(np.linspace(0, len(batch) - 1, _LOOKED_AT).astype(np.int64))
    return all_hashes(batch)


def all_hashes(batch: Batch) -> NDArray[np.uint64]:
    """A hash of every record, however many there are: (n_records,)."""
    columns = _columns(batch)
    hashes = np.empty(len(batch), dtype=np.uint64)
    for start in range(0, len(batch), _BLOCK):
        rows = slice(start, start + _BLOCK)
        hashes[rows] = _hashes([column[rows] for column in columns])
    return hashes


def _columns(batch: Batch) -> list[AnyArray]:
    """The target and the features, each as a column of floats or integers."""
    if isinstance(batch.X, np.ndarray):
        return [to_words(batch.y), *batch.X.T]
    import narwhals as nw

    frame = nw.from_native(batch.X, eager_only=True)
    features = (frame.get_column(name).to_numpy() for name in frame.columns)
    return [to_words(column) for column in (batch.y, *features)]


def to_words(column: AnyArray) -> AnyArray:
    """Convert a column to floats or integers: numbers stay, other values are hashed."""
    if column.ndim == 1 and column.dtype.kind == "f":
        missing = np.isnan(column)
        # All missing values get the same bits.
        return np.where(missing, np.nan, column) if missing.any() else column
    if column.ndim == 1 and column.dtype.kind in "biumM":
        return column.astype(np.int64)
    texts = [repr(_plain(value)) for value in column.tolist()]
    words = {text: _word(text) for text in set(texts)}
    return np.array([words[text] for text in texts], dtype=np.int64)


def _word(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value  # its repr may be cut short


def _hashes(columns: Sequence[AnyArray]) -> NDArray[np.uint64]:
    mixed = np.ones(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed ^= _bits(column)
        mixed *= _FACTOR
        mixed ^= mixed >> _HALF
    return mixed


def _bits(column: AnyArray) -> NDArray[np.uint64]:
    if column.dtype.kind == "f":
        column = column + np.float64(0.0)  # turns -0.0 into 0.0, because their bits differ
    return np.ascontiguousarray(column).view(np.uint64)


def repeated(distinct: FloatArray, draw_sizes: IntArray, pool_sizes: IntArray | None) -> BoolArray:
    """(n,) whether more than a third of a provider's pool, or of a larger draw, are repeats.

    `distinct` is the number of different records in each pool, or without pools the mean number in
    a draw. A provider whose number is not known (NaN) is not flagged.
    """
    held = draw_sizes if pool_sizes is None else np.maximum(draw_sizes, pool_sizes)
    return np.asarray(distinct < _ENOUGH * held)


def format_repeats(
    names: Sequence[str],
    distinct: FloatArray | None,
    draw_sizes: IntArray,
    pool_sizes: IntArray | None,
) -> str:
    """Say which providers repeat records; empty if none does.

    Examples
    --------
    >>> format_repeats(["a", "b"], np.array([3.0, 90.0]), np.array([20, 20]), np.array([3, 90]))
    'records repeat: a has 3 different ones for draws of 20'
    """
    if distinct is None:
        return ""
    found = np.flatnonzero(repeated(distinct, draw_sizes, pool_sizes)).tolist()
    told = []
    for at in found[:_NAMED]:
        where = f"for draws of {draw_sizes[at]:,}"
        if pool_sizes is not None and pool_sizes[at] > draw_sizes[at]:
            where = f"in a pool of {pool_sizes[at]:,}"
        count = f"{distinct[at]:,.0f}" if pool_sizes is not None else f"about {distinct[at]:.2g}"
        told.append(f"{printable(names[at])} has {count} different ones {where}")
    more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"records repeat: {', '.join(told)}{more}" if told else ""
