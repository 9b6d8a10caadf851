"""`comparison.plot`: the pictures of two valuations, and of a series of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shapband.report import change_pictures
from shapband.report.figures import FLAT, axes_or_new, check_picture, save_picture
from shapband.report.frames import change_frame
from shapband.report.rows import figure_size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapband.valuation.compare import Comparison
    from shapband.valuation.series import SeriesComparison

PICTURES = ("changes", "expectations")


class ComparisonPlots:
    """The pictures of two valuations. Each method draws on `ax` or a new figure, and returns it.

    Providers are sorted by their change, the largest increase on top.

    Examples
    --------
    >>> import shapband as sb
    >>> from matplotlib.figure import Figure
    >>> task = sb.datasets.wine()
    >>> early, late = (sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                         seed=seed) for seed in (0, 1))
    >>> found = sb.compare(early, late, labels=("May", "June"))
    >>> found.plot(Figure().subplots()).get_xlabel()
    'change of expectation from May to June'
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def __call__(self, ax: Axes | None = None) -> Axes:
        """Draw the changes."""
        return self.changes(ax)

    def changes(self, ax: Axes | None = None) -> Axes:
        """Draw every change with its 95 % interval, and whether it is beyond chance."""
        ax = axes_or_new(ax, self._size)
        change_pictures.draw_changes(ax, self.frame(), self._comparison.labels)
        return ax

    def expectations(self, ax: Axes | None = None) -> Axes:
        """Draw both expectations of every provider, joined by a line."""
        ax = axes_or_new(ax, self._size)
        change_pictures.draw_expectations(ax, self.frame(), self._comparison.labels)
        return ax

    def frame(self) -> pd.DataFrame:
        """Return the numbers behind both pictures."""
        return change_frame(self._comparison)

    def save(self, path: str | os.PathLike[str], picture: str = "changes") -> None:
        """Write a picture to a file; its name ends in .png, .svg or .pdf."""
        check_picture(picture, PICTURES)
        save_picture(path, self._size, getattr(self, picture))

    @property
    def _size(self) -> tuple[float, float]:
        return figure_size(len(self._comparison.names))


class SeriesPlots:
    """The picture of a series of valuations, drawn on `ax` or on a new figure.

    Examples
    --------
    >>> import shapband as sb
    >>> from matplotlib.figure import Figure
    >>> task = sb.datasets.wine()
    >>> months = {month: sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                           seed=seed) for seed, month in enumerate(["May", "June", "July"])}
    >>> sb.compare_series(months).plot(Figure().subplots()).get_title()
    'no change is beyond chance'
    """

    def __init__(self, series: SeriesComparison) -> None:
        self._series = series

    def __call__(self, ax: Axes | None = None) -> Axes:
        """Draw the expectations over the series, and which changes are beyond chance."""
        ax = axes_or_new(ax, FLAT)
        change_pictures.draw_series(ax, self._series)
        return ax

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file; its name ends in .png, .svg or .pdf."""
        save_picture(path, FLAT, self)
