"""Band plots: each provider's expected value, its spread over data draws, and its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from shapband._typing import FloatArray
from shapband.errors import InvalidInput
from shapband.report.rows import TEXT, draw_rows, honest_axis

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from shapband.valuation.valuation import Valuation

# Line colour, band colour, marker and marker fill of the first, second, ... valuation. Bands differ
# in lightness and markers in shape and fill, so that they also differ in a black-and-white print.
_STYLES = (
    ("#14375e", "#b4cae1", "o", "#14375e"),
    ("#b04a0c", "#f4d3b8", "s", "white"),
    ("#1c6344", "#c2e2cf", "D", "#1c6344"),
    ("#4d4d4d", "#d5d5d5", "^", "white"),
)
_ROWS_FILLED = 0.76  # part of a row's height that is drawn on; the rest separates adjacent rows
_WIDEST_LANE = 0.45  # height of a lane as a part of a row's height, at most


@dataclass(frozen=True, eq=False)
class Bands:
    """The numbers shown in a band plot, for m valuations of the same n providers.

    Attributes
    ----------
    names : the n providers, from top to bottom
    labels : the names of the m valuations
    level : confidence level of `interval`
    expectation : (m, n) estimate of the expectation of the value
    interval : (m, n, 2) confidence interval of the expectation: the error of the estimate
    spread : (m, n, 2) expectation minus and plus one standard deviation of the value over
        data draws. NaN where the estimate of the variance is negative
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    level: float
    expectation: FloatArray
    interval: FloatArray
    spread: FloatArray


def bands_of(valuations: Mapping[str, Valuation], *, level: float = 0.95) -> Bands:
    """Compute the numbers to draw.

    Parameters
    ----------
    valuations : label → valuation. All value the same providers; the first sets their order
    level : confidence level of the interval of the expectation

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60),
    ...                      n_games=5, seed=0)
    >>> bands = bands_of({"fresh draws": valuation})
    >>> bands.expectation.shape, bands.interval.shape, bands.spread.shape
    ((1, 10), (1, 10, 2), (1, 10, 2))
    """
    names = _shared_names(valuations)
    kept = [(one, [one.names.index(name) for name in names]) for one in valuations.values()]
    expectation = np.stack([one.expectation[order] for one, order in kept])
    deviation = np.stack([one.standard_deviation[order] for one, order in kept])
    return Bands(
        names=names,
        labels=tuple(valuations),
        level=level,
        expectation=expectation,
        interval=np.stack([one.interval(level)[order] for one, order in kept]),
        spread=np.stack([expectation - deviation, expectation + deviation], axis=-1),
    )


def draw_bands(ax: Axes, bands: Bands, *, x_label: str) -> None:
    """Draw one row per provider; the valuations are below each other in the row.

    A wide pale band is the spread of the value across data draws. A point with a thin bar is the
    estimate of the expectation with its confidence interval. A band whose estimate is NaN is not
    drawn, and the legend says so. The legend is above the axes: use a figure with
    `layout="constrained"`, about 9 inches wide and half an inch high per provider.

    Parameters
    ----------
    ax : the axes to draw on
    bands : the numbers to draw, from `bands_of`
    x_label : what the values are measured in

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> bands = Bands(("north", "south"), ("fresh draws",), 0.95, np.array([[0.3, 0.4]]),
    ...               np.array([[[0.29, 0.31], [0.38, 0.42]]]),
    ...               np.array([[[0.2, 0.4], [0.3, 0.5]]]))
    >>> ax = Figure(figsize=(9, 2), layout="constrained").subplots()
    >>> draw_bands(ax, bands, x_label="Shapley value")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['north', 'south']
    """
    rows = np.arange(len(bands.names))
    offsets, lane = _lanes(len(bands.labels))
    for j, (ink, pale, marker, filling) in enumerate(_STYLES[: len(bands.labels)]):
        low, high = bands.spread[j].T
        known = np.isfinite(low)
        ax.barh(
            rows[known] + offsets[j],
            (high - low)[known],
            left=low[known],
            height=0.88 * lane,
            color=pale,
        )
        ax.errorbar(
            bands.expectation[j],
            rows + offsets[j],
            xerr=np.abs(bands.interval[j].T - bands.expectation[j]),
            fmt=marker,
            color=ink,
            markerfacecolor=filling,
            markersize=5,
            elinewidth=1.4,
        )
    shown = np.concatenate([bands.interval, bands.spread], axis=-1)
    honest_axis(ax, shown.ravel())
    draw_rows(ax, bands.names, x_label)
    _draw_legends(ax, bands)


def _shared_names(valuations: Mapping[str, Valuation]) -> tuple[str, ...]:
    """Return the providers, in the order of the first valuation; they must be the same in all."""
    if not 1 <= len(valuations) <= len(_STYLES):
        raise InvalidInput(
            f"valuations must be 1 to {len(_STYLES)} to be distinguishable in a picture; received "
            f"{len(valuations)}"
        )
    first = next(iter(valuations.values()))
    for label, one in valuations.items():
        if set(one.names) != set(first.names):
            odd = ", ".join(sorted(set(one.names) ^ set(first.names)))
            raise InvalidInput(
                f"valuations must be of the same providers; {label!r} differs from the first in "
                f"{odd}: draw it in a separate picture"
            )
    return first.names


def _lanes(m: int) -> tuple[FloatArray, float]:
    """Offsets from the middle of a row (m,), and the height of a lane."""
    lane = min(_ROWS_FILLED / m, _WIDEST_LANE)
    return np.asarray((np.arange(m) - (m - 1) / 2) * lane, dtype=np.float64), lane


def _draw_legends(ax: Axes, bands: Bands) -> None:
    """Draw two legends above the axes: bands and bars on the left, markers on the right."""
    from matplotlib.lines import Line2D

    band, bar = _sample(TEXT, "#d2d2d2", "o", TEXT)
    meanings: dict[Patch | Line2D, str] = {
        band: "band: expectation ± one standard deviation of the value across data draws;\n"
        "it belongs to the data, and more games do not narrow it",
        bar: f"point and bar: estimate of the expectation and its {100 * bands.level:g} % interval;"
        "\nmore games, larger pools or more validation rows narrow it",
    }
    if np.isnan(bands.spread).any():
        meanings[Line2D([], [], linestyle="none")] = "no band: not known yet, play more games"
    in_words = _legend(ax, list(meanings), list(meanings.values()), "lower left")
    ax.add_artist(in_words).set_clip_on(False)  # the layout reserves no space for clipped artists
    styles = _STYLES[: len(bands.labels)]
    _legend(ax, [_sample(*style) for style in styles], list(bands.labels), "lower right")


def _sample(ink: str, pale: str, marker: str, filling: str) -> tuple[Patch, Line2D]:
    """Return the legend entries of one valuation: its band, and its point with a bar."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    point = Line2D(
        [], [], color=ink, linewidth=1.4, marker=marker, markersize=5, markerfacecolor=filling
    )
    return Patch(color=pale), point


def _legend(
    ax: Axes,
    handles: Sequence[Artist | tuple[Artist, ...]],
    words: Sequence[str],
    corner: Literal["lower left", "lower right"],
) -> Legend:
    return ax.legend(
        handles,
        words,
        loc=corner,
        bbox_to_anchor=(0.0 if corner == "lower left" else 1.0, 1.0),
        borderaxespad=0.6,
        frameon=False,
        labelcolor=TEXT,
        fontsize="small",
    )
