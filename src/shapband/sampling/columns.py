"""The columns of several stocks, side by side, as numbers or words that can be compared.

Records are compared by a sum of hashes, one for each column, so that the hash of a record without
some columns follows from the same parts. Numbers are compared as they are, or after rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shapband._typing import AnyArray, BoolArray, FloatArray, IntArray
from shapband.records.batch import Batch
from shapband.sampling.distinct import to_words

Hashes = NDArray[np.uint64]

_SAMPLE = 50_000  # the kind of a column is found from this many records of all stocks
_LEAST = 20  # the sample has at least this many records of every stock, or the whole stock
# A column of integers, words or dates counts as an identifier if nine of ten values within a
# provider are different. Names, ages and codes repeat far more often.
_NEARLY_UNIQUE = 0.9
_ROWS = 1 << 14  # rows hashed at once, few enough to fit into the caches
# The multipliers and shifts of splitmix64, which spread every bit of a word over all others.
_STEP = 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


@dataclass(frozen=True)
class Column:
    """What is known about one column of all stocks.

    Attributes
    ----------
    name : the name that messages use
    numeric : whether all values are numbers
    unit : the power of ten nearest to the standard deviation of a typical provider's numbers,
        estimated from their quantiles at 10 and 90 %
    distinct : share of values that are different within a provider
    identifier : whether the values are integers, words or dates, nearly all of them different
    constant : whether each provider has a single value, and not all providers have the same
    """

    name: str
    numeric: bool
    unit: float
    distinct: float
    identifier: bool
    constant: bool


class Stocks:
    """Records of several providers with the same number of features, and validation rows.

    The first column is the target. Columns of data frames are found by their names. Validation rows
    are the last stock. They have no part in what is known about the columns, so that the comparison
    of the providers is the same with them and without them.

    Parameters
    ----------
    batches : the records of each provider
    rows : validation rows, or None
    """

    def __init__(self, batches: Sequence[Batch], rows: Batch | None = None) -> None:
        self.batches = tuple(batches) if rows is None else (*batches, rows)
        self.n_providers = len(batches)
        self._frames: dict[int, tuple[Batch, Any, list[str]]] = {}
        self.sizes = np.array([len(batch) for batch in self.batches], dtype=np.int64)
        names = next((batch.schema.columns for batch in self.batches if batch.is_frame), None)
        self._names = names
        features = batches[0].schema.n_features
        words = [str(at) for at in range(features)] if names is None else map(repr, names)
        each = max(_LEAST, _SAMPLE // len(batches))
        samples = [_evenly(batch, each) for batch in self.batches]
        owners = np.repeat(np.arange(len(batches)), [len(one) for one in samples[: len(batches)]])
        self.columns = tuple(
            self._described(f"column {name}" if at else "the target", samples, at, owners)
            for at, name in enumerate(["", *words])
        )

    def _described(self, name: str, samples: Sequence[Batch], at: int, owners: IntArray) -> Column:
        parts = self._parts(samples, at)
        numeric = all(part.ndim == 1 and part.dtype.kind == "f" for part in parts)
        return _described(name, parts[: self.n_providers], owners, numeric=numeric)

    def hashes(self, views: Sequence[tuple[BoolArray, int | None]]) -> list[Hashes]:
        """Hashes of all records of all stocks, one stock after the other, for every view.

        A view is a mask of the columns that are compared, and the number of digits to which numbers
        are rounded, or None.
        """
        sums = [np.zeros(int(self.sizes.sum()), dtype=np.uint64) for _ in views]
        for at, column in enumerate(self.columns):
            used = [(digits, total) for (mask, digits), total in zip(views, sums, strict=True)
                    if mask[at]]  # fmt: skip
            if not used:
                continue
            values = np.concatenate(self._values(self.batches, at, numeric=column.numeric))
            for digits in dict.fromkeys(one for one, _ in used):
                totals = [total for one, total in used if one == digits]
                for start in range(0, len(values), _ROWS):
                    rows = slice(start, start + _ROWS)
                    hashed = _hashed(values[rows], column, digits, at)
                    for total in totals:
                        total[rows] += hashed
        return sums

    def cells(self, stock: int, digits: int | None) -> Hashes:
        """Hashes of the single values of one stock: (n_records, 1 + n_features)."""
        batch = [self.batches[stock]]
        return np.stack(
            [
                _hashed(self._values(batch, at, numeric=column.numeric)[0], column, digits, at)
                for at, column in enumerate(self.columns)
            ],
            axis=1,
        )

    def _values(self, batches: Sequence[Batch], at: int, *, numeric: bool) -> list[AnyArray]:
        found = self._parts(batches, at)
        return found if numeric else [_as_words(part) for part in found]

    def _parts(self, batches: Sequence[Batch], at: int) -> list[AnyArray]:
        return [_numbers(self._raw(batch, at)) for batch in batches]

    def _raw(self, batch: Batch, at: int) -> Any:
        if at == 0:
            return batch.y
        if not batch.is_frame:
            return batch.X[:, at - 1]
        import narwhals as nw

        if id(batch) not in self._frames:  # wrapping a frame takes longer than reading a column
            frame = nw.from_native(batch.X, eager_only=True)
            self._frames[id(batch)] = batch, frame, frame.columns
        _, frame, own = self._frames[id(batch)]
        name = own[at - 1] if self._names is None else self._names[at - 1]
        series = frame.get_column(name if name in own else own[at - 1])
        return series.cast(nw.Float64) if series.dtype.is_numeric() else series


def _evenly(batch: Batch, most: int) -> Batch:
    if len(batch) <= most:
        return batch
    return batch.take(np.linspace(0, len(batch) - 1, most).astype(np.int64))


def _numbers(raw: Any) -> AnyArray:
    """Floats if the column holds numbers, else the column as it is."""
    values = np.asarray(raw if isinstance(raw, np.ndarray) else raw.to_numpy())
    if values.ndim == 1 and values.dtype.kind in "fbiu":
        return values.astype(np.float64)
    return values


def _as_words(values: AnyArray) -> AnyArray:
    return to_words(values.astype(object) if values.dtype.kind == "f" else values)


def _described(name: str, parts: Sequence[AnyArray], owners: IntArray, *, numeric: bool) -> Column:
    values = np.concatenate(parts if numeric else [_as_words(part) for part in parts])
    codes = _bits(values)
    within = _count_different(_mixed(codes + _mixed(owners.astype(np.uint64))))
    share, holders = within / len(codes), _count_different(owners)
    whole = not numeric or bool(np.all(np.isnan(values) | (values == np.rint(values))))
    return Column(
        name=name,
        numeric=numeric,
        unit=_unit(values, owners) if numeric else 1.0,
        distinct=share,
        identifier=whole and share >= _NEARLY_UNIQUE and len(codes) > holders,
        constant=within == holders and len(codes) > holders and bool((codes != codes[0]).any()),
    )


def _count_different(values: IntArray | Hashes) -> int:
    """Number of different values; sorting takes a tenth of the time of NumPy's `unique`."""
    ordered = np.sort(values)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _unit(values: FloatArray, owners: IntArray) -> float:
    """The power of ten that is nearest to the spread of the numbers of a typical provider."""
    finite = np.isfinite(values)
    values, owners = values[finite], owners[finite]
    order = np.lexsort((values, owners))
    values, sizes = values[order], np.bincount(owners)
    several = np.flatnonzero(sizes > 1)
    first, last = (np.cumsum(sizes) - sizes)[several], sizes[several] - 1
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [values[first + np.rint(part * last).astype(np.int64)] for part in (0.1, 0.9)]
        # These quantiles of a normal distribution are 2.56 standard deviations apart.
        spread = (ends[1] - ends[0]) / 2.56
        # Where most values are equal, the range of all of them shows the unit.
        spread = np.where(spread > 0, spread, values[first + last] - values[first])
        usual = float(np.median(spread[spread > 0])) if (spread > 0).any() else 1.0
    if not 1e-290 < usual < 1e290:  # multiples of such a unit might overflow or underflow
        return 1.0
    return float(10.0 ** np.rint(np.log10(usual)))


def _hashed(values: AnyArray, column: Column, digits: int | None, at: int) -> Hashes:
    if digits is not None and column.numeric:
        # Round to multiples of powers of ten, so that a copy with rounded decimals becomes equal.
        with np.errstate(over="ignore"):
            values = np.rint(values * (10.0**digits / column.unit))
    salt = np.uint64(_STEP * (at + 1) % 2**64)  # so that columns with equal values differ
    return _mixed(_bits(values) + salt)


def _bits(values: AnyArray) -> Hashes:
    if values.dtype.kind == "f":
        values = values + 0.0  # turns -0.0 into 0.0, because their bits differ
        missing = np.isnan(values)
        if missing.any():
            values[missing] = np.nan  # the same bits for every NaN
    return np.ascontiguousarray(values).view(np.uint64)


def _mixed(words: Hashes) -> Hashes:
    mixed = words ^ (words >> _SHIFTS[0])
    mixed *= _FIRST
    mixed ^= mixed >> _SHIFTS[1]
    mixed *= _SECOND
    mixed ^= mixed >> _SHIFTS[2]
    return mixed
