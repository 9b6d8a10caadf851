"""Providers: the named owners of data, who are the players of the games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import check_whole, concerning, described, error_line, printable, written
from shapband.errors import InvalidInput, SourceError
from shapband.records import Batch, Schema
from shapband.sources.base import FiniteSource, MemorySource, Source, check_features, check_targets
from shapband.sources.frames import FrameSource, as_frame, check_infinite

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False)
class Provider:
    """A named owner of data.

    Parameters
    ----------
    name : unique among the providers of a valuation; the provider's random draws depend on it
    source : where its records are drawn from

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])).name
    'north'
    """

    name: str
    source: Source

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(
                f"a provider's name must be a non-empty string; received {self.name!r}"
            )
        if not isinstance(self.source, Source):
            raise InvalidInput(
                f"provider {self.name!r}: source must be a shapband source, such as "
                f"ArraySource(X, y); received {type(self.source).__name__}"
            )


def providers_from_frame(frame: Any, by: str, target: str) -> list[Provider]:
    """Split a data frame into providers by the values of one column.

    Parameters
    ----------
    frame : a pandas or polars data frame
    by : the column that names the provider of each record; it is not a feature
    target : the column with the targets

    Returns
    -------
    One provider for each value of `by`, in sorted order.

    Examples
    --------
    >>> import pandas as pd, shapband as sb
    >>> frame = pd.DataFrame({"site": ["b", "a", "b"], "x": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    >>> [(p.name, p.source.size) for p in sb.providers_from_frame(frame, by="site", target="y")]
    [('a', 1), ('b', 2)]
    """
    table = as_frame(frame)
    if by not in table.columns:
        raise InvalidInput(
            f"providers_from_frame: by={by!r} is not a column; there are "
            f"{printable(', '.join(str(name) for name in table.columns))}"
        )
    if by == target:
        raise InvalidInput(f"providers_from_frame: by and target are both {by!r}; they must differ")
    owner_column = table[by]
    missing = owner_column.is_null().any()
    if missing or (owner_column.dtype.is_float() and owner_column.is_nan().any()):
        raise InvalidInput(f"providers_from_frame: column {by!r} holds missing values: fill them")
    owners: AnyArray = np.asarray(owner_column.to_numpy()).astype(str)
    return [_provider_of(table, by, target, owners == name, name) for name in np.unique(owners)]


def _provider_of(
    table: nw.DataFrame[Any], by: str, target: str, mask: AnyArray, name: str
) -> Provider:
    rows = table[np.flatnonzero(mask)].drop(by).to_native()
    with concerning(f"provider {str(name)!r}"):
        return Provider(str(name), FrameSource(rows, target))


def check_providers(providers: Sequence[Provider]) -> tuple[Provider, ...]:
    """Check that there are providers, with unique names and matching features."""
    try:
        checked = tuple(providers)
    except TypeError as cause:
        raise InvalidInput(
            "providers must be a list of Provider(name, source); received "
            f"{type(providers).__name__}"
        ) from cause
    if not checked:
        raise InvalidInput("providers is empty: pass at least one Provider(name, source)")
    for position, provider in enumerate(checked):
        if not isinstance(provider, Provider):
            raise InvalidInput(
                f"providers[{position}] must be a Provider(name, source); "
                f"received {type(provider).__name__}"
            )
    seen: set[str] = set()
    for provider in checked:
        if provider.name in seen:
            raise InvalidInput(
                f"two providers are named {provider.name!r}: names must differ, because they "
                "address the random draws"
            )
        seen.add(provider.name)
        _check_answers(provider)
    _check_features(checked)
    return checked


def _check_answers(provider: Provider) -> None:
    """Check the attributes of a source before any records are requested from it."""
    source, whose = provider.source, f"provider {provider.name!r}: the"
    finite = ("size", "replace", "records") if isinstance(source, FiniteSource) else ()
    for question in ("schema", "waits", *finite):
        try:
            getattr(source, question)
        except Exception as cause:
            raise SourceError(
                f"{whose} source cannot tell its {question} ({error_line(cause)})"
            ) from cause
    if not (source.schema is None or isinstance(source.schema, Schema)):
        raise InvalidInput(
            f"{whose} schema of its source must be a Schema(n_features) or None; "
            f"received {written(source.schema)}"
        )
    if isinstance(source, FiniteSource):
        check_whole(f"{whose} size of its source", source.size, 1)
        if source.records is not None and not isinstance(source, MemorySource):
            _check_records(source.records, source.size, f"{whose} records of its source")


def _check_records(records: object, size: int, which: str) -> None:
    """Check the records that a source of the user's shows; those of the library's are checked."""
    if not isinstance(records, Batch):
        raise InvalidInput(f"{which} must be a Batch(X, y) or None; received {described(records)}")
    if isinstance(records.X, np.ndarray) and records.X.ndim == 2:
        check_features(records.X, which, "X")
    elif hasattr(records.X, "columns"):
        check_infinite(as_frame(records.X), which)
    else:
        raise InvalidInput(
            f"{which}: X must be an array of shape (n_records, n_features) or a data frame; "
            f"received {described(records.X)}"
        )
    if not isinstance(records.y, np.ndarray):
        raise InvalidInput(f"{which}: y must be an array; received {described(records.y)}")
    check_targets(records.y, len(records.X), which, "y")
    if len(records) != size:
        raise InvalidInput(f"{which} must be as many as its size, {size}; received {len(records)}")


def _check_features(providers: Sequence[Provider]) -> None:
    known = [provider for provider in providers if provider.source.schema is not None]
    for provider in known[1:]:
        if provider.source.schema != known[0].source.schema:
            raise InvalidInput(
                f"provider {provider.name!r} has {provider.source.schema}, but provider "
                f"{known[0].name!r} has {known[0].source.schema}: all must have the same "
                "features, in the same kind of array or frame"
            )
