"""Search for copied records: among providers, in one stock, or among the validation rows.

A copied stock would be paid twice, so the result must name it, even if the copy has new identifiers
or rounded numbers. A provider that holds validation rows would be paid too much, because models are
trained on the rows that score them. Records are compared in several views:

- all columns;
- the columns without those that look like identifiers or are constant within each provider;
- three parts of these columns, each alone, so that copies are found if up to two columns differ;
- the views above with numbers rounded to some digits of their spread.

If a view shows more equal records than chance explains (see `coincidences`), these records are
compared column by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from shapband._typing import BoolArray, IntArray
from shapband.checks import printable
from shapband.records.batch import Batch
from shapband.sampling.coincidences import (
    REPORTED,
    Kinds,
    Pairs,
    copied_pairs,
    lonely_repeaters,
    padded_owners,
)
from shapband.sampling.columns import Hashes, Stocks

_RISK = 1e-4  # accepted probability of any false report, over all pairs and views
_PARTS = 3  # the columns are cut into this many parts, and each part is compared alone
_NEAR = (4, 2, 1)  # near-copies are compared after rounding to these digits of the spread
_COARSER = {4: 2, 2: 1, 1: 0}  # digits at which records that are not copies must still differ
_APART = 1 / 2  # share of different records that must remain different at the coarser digits
_SURE = 0.9  # a share above this counts as nearly all records
_MOST = 100  # pairs that are kept; the pairs with the most records come first
_NAMED = 3  # a message names at most this many pairs
HELD_REMEDY = (
    "models are trained on rows that score them, and values are too high: pass validation rows "
    "that no provider holds"
)
_COMPARED = 200_000  # if there are more records, a random part of the kinds is left out
# When kinds are left out, about this many records of a stock of the median size remain. If a third
# of them are copies and no stock repeats its own records, the probability that this is due to
# chance is 1e-29.
_LEAST = 100


class Shared(NamedTuple):
    """Two providers that have many records in common, or one that repeats its own.

    Attributes
    ----------
    one, other : their names, first the provider with more different records; the same name twice
        if a provider repeats its own records
    records : number of different records that both have; for a provider that repeats its own,
        number of records that repeat an earlier one
    smaller : number of different records of `other`; for a provider that repeats its own, number of
        all its records
    left_out : columns that differ, such as an identifier
    rounded : numbers are equal after rounding to about this many standard deviations; 0 if they
        are equal as they are
    chance : upper bound of the number of equal records that independent providers have on average;
        None for repeats, and in results of older versions, where `other` may have more records
    """

    one: str
    other: str
    records: int
    smaller: int
    left_out: tuple[str, ...] = ()
    rounded: float = 0.0
    chance: float | None = None

    @staticmethod
    def of(parts: Sequence[Any]) -> Shared:
        """Convert a list that was read from JSON; lists of older versions have only four parts."""
        found = Shared(*parts)
        return found._replace(left_out=tuple(found.left_out))


class Held(NamedTuple):
    """A provider that holds validation rows.

    Attributes
    ----------
    name : the provider
    records : number of different validation rows that equal records of the provider
    rows : number of different validation rows
    left_out, rounded, chance : how the rows were compared with the records, as in `Shared`
    """

    name: str
    records: int
    rows: int
    left_out: tuple[str, ...] = ()
    rounded: float = 0.0
    chance: float = 0.0


class Copies(NamedTuple):
    """Copies among the records of providers, and between them and the validation rows."""

    shared: tuple[Shared, ...] = ()
    held: tuple[Held, ...] = ()


class _View(NamedTuple):
    """A mask of the columns compared, the target first, and the digits numbers are rounded to."""

    columns: BoolArray
    digits: int | None


class _Match(NamedTuple):
    """Records of two stocks that are equal in a view, or records that one stock repeats.

    Attributes
    ----------
    places : the two stocks, or the same one twice
    records : number of records that both have, or that are repeated
    sizes : number of different records of each, or of all records
    left_out, rounded, chance : as in `Shared`
    """

    places: tuple[int, int]
    records: int
    sizes: tuple[int, int]
    left_out: tuple[str, ...]
    rounded: float
    chance: float | None

    def shared(self, names: Sequence[str]) -> Shared:
        """Name the provider with more different records first."""
        (one, other), (more, fewer) = self.places, self.sizes
        if more < fewer:
            one, other = other, one
        how = self.left_out, self.rounded, self.chance
        return Shared(names[one], names[other], self.records, min(self.sizes), *how)

    def held(self, names: Sequence[str]) -> Held:
        """Name the provider; the other stock has the validation rows."""
        chance = self.chance or 0.0
        how = self.left_out, self.rounded, chance
        return Held(names[self.places[0]], self.records, self.sizes[1], *how)


def shared_records(names: Sequence[str], stocks: Sequence[Batch | None]) -> tuple[Shared, ...]:
    """Find copies: pairs of providers, and providers that repeat their own records.

    A stock that is not known is None. If more than four providers have a record, each of them is
    compared only with the first that has it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    >>> copy = Batch(X.round(2), y.round(2))
    >>> found = shared_records(["a", "b", "c"], [Batch(X, y), None, copy])
    >>> [(one.one, one.other, one.records, one.rounded) for one in found]
    [('a', 'c', 50, 0.01)]
    """
    return find_copied(names, stocks).shared


def find_copied(
    names: Sequence[str], stocks: Sequence[Batch | None], rows: Batch | None = None
) -> Copies:
    """Find copies as `shared_records` does, and in the same search who holds validation rows.

    A provider holds validation rows if it and they would be reported as two providers: more than a
    third of the different records of the smaller of the two are equal, and chance does not explain
    it. The validation rows do not change what is found among the providers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    >>> stocks, rows = [Batch(X[:30], y[:30]), Batch(X[30:], y[30:])], Batch(X[5:35], y[5:35])
    >>> [(one.name, one.records, one.rows) for one in find_copied(["a", "b"], stocks, rows).held]
    [('a', 25, 30)]
    """
    shared: list[Shared] = []
    held: list[Held] = []
    widths = [0 if stock is None or not len(stock) else stock.schema.n_features for stock in stocks]
    for width in sorted({*widths} - {0}):
        of_width = [at for at, one in enumerate(widths) if one == width]
        batches = [stock for at in of_width if (stock := stocks[at]) is not None]
        own = [names[at] for at in of_width]
        comparable = rows is not None and len(rows) > 0 and rows.schema.n_features == width
        matches = _Search(Stocks(batches, rows if comparable else None)).found()
        shared.extend(match.shared(own) for match in matches if match.places[1] < len(own))
        held.extend(match.held(own) for match in matches if match.places[1] == len(own))
    return Copies(
        tuple(sorted(shared, key=lambda one: -one.records)[:_MOST]),
        tuple(sorted(held, key=lambda one: -one.records)[:_MOST]),
    )


class _Search:
    """The search among stocks with the same number of features.

    The stocks of the providers are at the places 0 to n - 1, and validation rows at n.
    """

    def __init__(self, stocks: Stocks) -> None:
        self._stocks = stocks
        self._kept = _kept_columns(stocks)
        self._parts = list(_parts(stocks, self._kept))
        self._views = _views(stocks, self._kept, self._parts)
        n = stocks.n_providers
        self._risk = _RISK / (len(self._views) * n * (n + 1) / 2)
        self._risk_of_rows = _RISK / (len(self._views) * n)

    def found(self) -> list[_Match]:
        """Copies, each from the first view that shows nearly all its records, or the best view."""
        n, with_rows = self._stocks.n_providers, len(self._stocks.sizes)
        best, held = dict[tuple[int, int], _Match](), dict[tuple[int, int], _Match]()
        counted = [self._kinds(hashes) for hashes in self._stocks.hashes(self._views)]
        padded = np.zeros(with_rows, dtype=bool)
        for view, kinds in zip(self._views, counted, strict=True):
            if (
                view.digits == _NEAR[-1]
            ):  # skip the coarsest rounding, with which honest records of a provider may be equal
                continue
            repeat = padded_owners(kinds, self._risk)
            lonely = np.zeros(with_rows, dtype=bool)
            lonely[:n] = lonely_repeaters(kinds.of_first(n), self._risk)
            for at in np.flatnonzero((repeat | lonely) & ~padded).tolist():
                found = self._repeats(view, at, unlike=not repeat[at])
                padded[at] |= found is not None
                if found is not None and at < n:
                    best[at, at] = found
        for view, kinds in zip(self._views, counted, strict=True):
            single = kinds.without_repeats(padded)
            self._add_pairs(best, view, copied_pairs(single.of_first(n), self._risk))
            if with_rows > n:
                self._add_pairs(
                    held, view, copied_pairs(single, self._risk_of_rows, with_last=True)
                )
        return [*best.values(), *held.values()]

    def _add_pairs(self, best: dict[tuple[int, int], _Match], view: _View, pairs: Pairs) -> None:
        """Compare the records of pairs, and keep those of which this view shows more."""
        most = 2 * _MOST + len(self._stocks.sizes)
        for one, other, chance in zip(pairs.one, pairs.other, pairs.chance, strict=True):
            key = (int(one), int(other))
            known = best.get(key)
            if known is None and len(best) >= most:
                break
            if known is None or known.records < _SURE * min(known.sizes):
                found = self._equal(view, key, float(chance))
                if found is not None and (known is None or _SURE * found.records > known.records):
                    best[key] = found

    def _kinds(self, hashes: Hashes) -> Kinds:
        """Count equal records. If there are many, only kinds chosen by their hash are counted.

        The same kinds are chosen in all stocks, and the validation rows do not change the choice.
        """
        sizes, n = self._stocks.sizes, self._stocks.n_providers
        owners = np.repeat(np.arange(len(sizes)), sizes)
        part = max(_COMPARED / sizes[:n].sum(), _LEAST / float(np.median(sizes[:n])))
        if part < 1:
            chosen = np.flatnonzero(hashes < np.uint64(part * 2.0**64))
            hashes, owners = hashes[chosen], owners[chosen]
        return Kinds.of(hashes, owners, len(sizes))

    def _repeats(self, view: _View, at: int, *, unlike: bool) -> _Match | None:
        """Compare the records of one provider that are equal in a view.

        With `unlike`, nearly all of its different records must differ in a third of the columns,
        so that records with few possible values are not taken for copies.
        """
        cells = self._stocks.cells(at, view.digits)
        hashes = _sum(cells, view.columns)
        order = np.argsort(hashes, kind="stable")
        equal = hashes[order][1:] == hashes[order][:-1]
        agree = cells[order[1:][equal]] == cells[order[:-1][equal]]
        used = self._agreeing(agree)
        if used is None:
            return None
        different = len(np.unique(_sum(cells, used)))
        repeats, size = len(cells) - different, len(cells)
        kinds = max((len(np.unique(_sum(cells, part & used))) for part in self._parts), default=0)
        if unlike and kinds < _SURE * different:
            return None
        if repeats <= REPORTED * size or not self._apart(view, used, at, different):
            return None
        return self._match(view, used, (at, at), repeats, (size, size), None)

    def _equal(self, view: _View, places: tuple[int, int], chance: float) -> _Match | None:
        """Compare the records of two stocks that are equal in a view."""
        cells = [self._stocks.cells(at, view.digits) for at in places]
        hashes = [_sum(each, view.columns) for each in cells]
        _, first, second = np.intersect1d(hashes[0], hashes[1], return_indices=True)
        used = self._agreeing(cells[0][first] == cells[1][second])
        if used is None:
            return None
        kinds = [np.unique(_sum(each, used)) for each in cells]
        records = len(np.intersect1d(kinds[0], kinds[1], assume_unique=True))
        sizes = len(kinds[0]), len(kinds[1])
        if records <= REPORTED * min(sizes):
            return None
        if not all(
            self._apart(view, used, at, size) for at, size in zip(places, sizes, strict=True)
        ):
            return None
        return self._match(view, used, places, records, sizes, round(chance, 1))

    def _agreeing(self, agree: BoolArray) -> BoolArray | None:
        """The columns that agree in most equal records, or None if too many columns do not."""
        if not len(agree):
            return None
        used = np.asarray(agree.mean(axis=0) >= 1 / 2)
        inside = self._kept[1:]
        allowed = max(1, int(inside.sum()) // _PARTS)
        missed = int((inside & ~used[1:]).sum())
        left = bool((used[1:] & inside).any()) or not inside.any()
        return used if used[0] and missed <= allowed and left else None

    def _apart(self, view: _View, used: BoolArray, at: int, different: int) -> bool:
        """Whether most different records of a provider stay different after further rounding."""
        if view.digits is None:
            return True
        coarser = _sum(self._stocks.cells(at, _COARSER[view.digits]), used)
        return len(np.unique(coarser)) >= _APART * different

    def _match(
        self,
        view: _View,
        used: BoolArray,
        places: tuple[int, int],
        records: int,
        sizes: tuple[int, int],
        chance: float | None,
    ) -> _Match:
        columns = self._stocks.columns
        left_out = tuple(columns[at].name for at in np.flatnonzero(~used))
        rounded = 0.0 if view.digits is None else 10.0**-view.digits
        return _Match(places, records, sizes, left_out, rounded, chance)


def _sum(cells: Hashes, columns: BoolArray) -> Hashes:
    return np.asarray(cells[:, columns].sum(axis=1, dtype=np.uint64))


def _kept_columns(stocks: Stocks) -> BoolArray:
    """The columns that neither look like identifiers nor are constant within each provider.

    If more than a third of the features are numbers that are nearly all different, these are
    measurements and not identifiers, and none of them is left out.
    """
    columns = stocks.columns
    measured = np.array([one.numeric and one.identifier for one in columns])
    measured &= measured[1:].sum() > REPORTED * (len(columns) - 1)
    kept = np.array(
        [
            at == 0 or bool(measured[at]) or not (one.identifier or one.constant)
            for at, one in enumerate(columns)
        ]
    )
    return kept if kept[1:].any() else np.ones(len(columns), dtype=bool)


def _views(stocks: Stocks, kept: BoolArray, parts: Sequence[BoolArray]) -> list[_View]:
    """The views of records, the most exact first."""
    views = [] if kept.all() else [_View(np.ones_like(kept), None)]
    views += [_View(kept, None), *(_View(part, None) for part in parts)]
    if any(column.numeric for column in stocks.columns):
        views.append(_View(kept, _NEAR[0]))
        views += [_View(part, digits) for digits in _NEAR[1:] for part in (kept, *parts)]
    return views


def _parts(stocks: Stocks, kept: BoolArray) -> Iterator[BoolArray]:
    """Three parts of the columns, each with the target and about equally many different values."""
    inside: IntArray = np.flatnonzero(kept[1:]) + 1
    if len(inside) < 2:
        return
    share = np.array([stocks.columns[at].distinct for at in inside])
    inside = inside[np.argsort(-share, kind="stable")]
    for part in range(min(_PARTS, len(inside))):
        columns = np.zeros_like(kept)
        columns[[0, *inside[part::_PARTS]]] = True
        yield columns


def format_shared(found: Iterable[Shared]) -> str:
    """Say which providers have the same records; empty if none do.

    Examples
    --------
    >>> print(format_shared([Shared("a", "b", 240, 250, ("column 'id'",), 0.0, 2.0)]))
    copied: 240 of 250 records of 'b' equal records of 'a' (leaving out column 'id')
    """
    lines = [describe(one) for one in found]
    more = f", and {len(lines) - _NAMED} more pairs" if len(lines) > _NAMED else ""
    return f"copied: {', '.join(lines[:_NAMED])}{more}" if lines else ""


def describe(shared: Shared) -> str:
    """Say which records are equal, and how they were compared."""
    one, other = f"'{printable(shared.one)}'", f"'{printable(shared.other)}'"
    if shared.chance is None and one != other:
        return f"{one} and {other} share {shared.records:,} of {shared.smaller:,} records"
    whose = f"other records of {one}" if one == other else f"records of {one}"
    of = f"{shared.records:,} of {shared.smaller:,} records of {other}"
    return f"{of} equal {whose}{compared(shared)}"


def format_held(found: Sequence[Held]) -> str:
    """Say which providers hold validation rows; empty if none do.

    Examples
    --------
    >>> print(format_held([Held("a", 80, 100, (), 0.01, 2.0)]))
    held: 80 of 100 validation rows equal records of 'a' (rounded to about 0.01 standard deviations)
    """
    lines = [
        f"{one.records:,} of {one.rows:,} validation rows equal records of "
        f"'{printable(one.name)}'{compared(one)}"
        for one in found
    ]
    more = f", and {len(lines) - _NAMED} more providers" if len(lines) > _NAMED else ""
    return f"held: {', '.join(lines[:_NAMED])}{more}" if lines else ""


def compared(shared: Shared | Held) -> str:
    """Say in brackets how records were compared; empty if they are equal as they are."""
    how = []
    if shared.left_out:
        how.append(f"leaving out {printable(', '.join(shared.left_out))}")
    if shared.rounded:
        how.append(f"rounded to about {shared.rounded:g} standard deviations")
    return f" ({', '.join(how)})" if how else ""
