"""Valuations for other tools: data frames, xarray datasets and LaTeX tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.checks import check_level, written
from shapband.errors import InvalidInput
from shapband.valuation.groups import moment_columns
from shapband.valuation.text import valuation_table

if TYPE_CHECKING:
    import xarray as xr

    from shapband.valuation.valuation import Valuation

LIBRARIES = ("pandas", "polars")
# Characters with a meaning in LaTeX, and the signs of the printed table.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "–": "--",
    }
)


def frame(valuation: Valuation, library: str, level: float) -> Any:
    """Make a data frame of pandas or polars, with one row per provider."""
    if library not in LIBRARIES:
        raise InvalidInput(
            f'to_frame: library must be "pandas" or "polars"; received {written(library)}. Name '
            "the confidence level, as in to_frame(level=0.9)"
        )
    columns = _columns(valuation, level)
    if library == "polars":
        try:
            import polars as pl
        except ImportError as cause:
            raise InvalidInput("to_frame: polars is not installed: pip install polars") from cause
        return pl.DataFrame({"provider": list(valuation.names), **columns}, strict=False)
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(valuation.names, name="provider"))


def dataset(valuation: Valuation, level: float) -> xr.Dataset:
    """Make an xarray dataset with the dimensions provider and game."""
    try:
        import xarray as xr
    except ImportError as cause:
        raise InvalidInput(
            "to_xarray needs another package: pip install 'shapband[xarray]'"
        ) from cause
    columns = _columns(valuation, level)
    del columns["index"]  # one string for all providers; "index" has another meaning in xarray
    if "group" in columns:
        columns["group"] = np.array([label or "" for label in columns["group"]])
    shape = len(valuation.names)
    return xr.Dataset(
        {
            **{name: ("provider", np.broadcast_to(one, shape)) for name, one in columns.items()},
            "games": (("game", "provider"), valuation.games),
        },
        coords={
            "provider": np.array(valuation.names, dtype=object),
            "game": np.arange(len(valuation.games)),
        },
        attrs={
            "n_games": valuation.n_games,
            "seed": valuation.seed,
            "level": level,
            "index_of_values": valuation.index,
            "estimand": valuation.estimand,
        },
    )


def latex(valuation: Valuation) -> str:
    """Write the printed table as a LaTeX tabular."""
    header, rows = valuation_table(valuation)
    lines = [" & ".join(map(_cell, row)) + r" \\" for row in (header, *rows)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _columns(valuation: Valuation, level: float) -> dict[str, Any]:
    """The numbers of all providers, by the names of their columns."""
    check_level(level)
    usage = [valuation.access.by_provider[name] for name in valuation.names]
    distinct = valuation.distinct_records
    columns: dict[str, Any] = {
        **moment_columns(valuation, valuation.estimate, level),
        "negative_variance": valuation.negative_variance,
        "index": valuation.index,
        "draw_size": valuation.draw_sizes,
        "distinct_records": np.nan if distinct is None else distinct,
        "requests": [used.requests for used in usage],
        "records": [used.records for used in usage],
        "access_seconds": [used.seconds for used in usage],
    }
    if valuation.groups is not None:
        columns["group"] = [label or None for label in valuation.groups.labels]
    if valuation.estimate.takes_part_at_random:
        columns |= valuation.estimate.participation
    return columns


def _cell(text: str) -> str:
    r"""Escape a cell of the printed table; the members of a group are indented.

    Examples
    --------
    >>> _cell("50 % of A&B"), _cell("  north")
    ('50\\,\\% of A\\&B', '\\quad north')
    """
    escaped = text.strip().translate(_LATEX).replace(r" \%", r"\,\%")
    if escaped.startswith("["):
        escaped = f"{{}}{escaped}"  # after \\ of the row before, a bracket would be an argument
    return rf"\quad {escaped}" if text.startswith("  ") else escaped
