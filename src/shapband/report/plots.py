"""`valuation.plot`: every picture of a valuation, and the frame behind each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shapband.checks import nearest
from shapband.errors import InvalidInput
from shapband.report import frames, pictures
from shapband.report.bands import bands_of, draw_bands
from shapband.report.heat_map import draw_heat_map, heat_map_size
from shapband.report.rows import figure_size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapband.valuation.valuation import Valuation

PICTURES = ("forest", "ranks", "convergence", "distribution", "variance_sources", "interactions")
FORMATS = (".png", ".svg", ".pdf")
_FLAT = (9.0, 5.0)  # width and height, in inches, of a picture without rows


class Plots:
    """The pictures of a valuation. Each method draws on `ax`, or on a new figure, and returns it.

    Providers are sorted by value, the largest on top, unless `sort` is False.

    Examples
    --------
    >>> import shapband as sb
    >>> from matplotlib.figure import Figure
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> ax = valuation.plot.forest(Figure().subplots())
    >>> valuation.plot.frame("forest").columns.tolist()
    ['expectation', 'low', 'high', 'spread_low', 'spread_high']
    """

    def __init__(self, valuation: Valuation) -> None:
        self._valuation = valuation

    def __call__(self, ax: Axes | None = None) -> Axes:
        """Draw the forest plot."""
        return self.forest(ax)

    def forest(self, ax: Axes | None = None, *, level: float = 0.95, sort: bool = True) -> Axes:
        """Draw each expectation with its error, and separately the spread of the value."""
        ax = self._rows(ax)
        frame = self._sorted(frames.forest_frame(self._valuation, level), sort=sort)
        pictures.draw_forest(ax, frame, level, self._value_label)
        return ax

    def ranks(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the rank of each expectation with the ranks that cannot be excluded."""
        frame = frames.ranks_frame(self._valuation, level)
        ax = self._rows(ax)
        pictures.draw_ranks(ax, frame, level)
        return ax

    def convergence(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw how the intervals became narrower over the games."""
        frame = frames.convergence_frame(self._valuation, level)
        ax = _axes(ax, _FLAT)
        pictures.draw_convergence(ax, frame, level)
        return ax

    def distribution(self, ax: Axes | None = None, *, sort: bool = True) -> Axes:
        """Draw the quantiles of the values in single games."""
        frame = self._sorted(frames.distribution_frame(self._valuation), sort=sort)
        ax = self._rows(ax)
        pictures.draw_distribution(ax, frame, f"{self._value_label} in single games")
        return ax

    def variance_sources(self, ax: Axes | None = None, *, sort: bool = True) -> Axes:
        """Draw where the error of each expectation comes from."""
        ax = self._rows(ax)
        frame = self._sorted(frames.errors_frame(self._valuation), sort=sort)
        pictures.draw_variance_sources(ax, frame)
        return ax

    def interactions(self, ax: Axes | None = None) -> Axes:
        """Draw a heat map of the interactions of pairs of providers.

        Providers that replace each other are side by side.
        """
        found = frames.asked_interactions(self._valuation)
        ax = _axes(ax, heat_map_size(len(found.names)))
        draw_heat_map(ax, found)
        return ax

    def beside(
        self,
        label: str,
        others: Mapping[str, Valuation],
        ax: Axes | None = None,
        *,
        level: float = 0.95,
    ) -> Axes:
        """Draw this valuation, under a label, and up to three others of the same providers."""
        ax = self._rows(ax)
        bands = bands_of({label: self._valuation, **others}, level=level)
        draw_bands(ax, bands, x_label=self._value_label)
        return ax

    def frame(self, picture: str) -> pd.DataFrame:
        """Return the numbers behind a picture, given by its name."""
        _check_name(picture)
        if picture == "variance_sources":
            return frames.errors_frame(self._valuation)
        found: pd.DataFrame = getattr(frames, f"{picture}_frame")(self._valuation)
        return found

    def save(self, path: str | os.PathLike[str], picture: str = "forest") -> None:
        """Write a picture to a file; its name ends in .png, .svg or .pdf."""
        from matplotlib.figure import Figure

        path = Path(path)
        _check_name(picture)
        if path.suffix.lower() not in FORMATS:
            raise InvalidInput(
                f"plot: the file must end in {', '.join(FORMATS)}; received {path.name!r}"
            )
        figure = Figure(figsize=self._size(picture), layout="constrained")
        getattr(self, picture)(figure.subplots())
        try:
            figure.savefig(path, dpi=150, metadata=_without_date(path))
        except OSError as cause:
            raise InvalidInput(f"plot: {path} cannot be written ({cause.strerror})") from cause

    @property
    def _value_label(self) -> str:
        index = self._valuation.index
        return "Shapley value" if index == "Shapley()" else f"{index} value"

    def _size(self, picture: str) -> tuple[float, float]:
        n = len(self._valuation.names)
        sizes = {"convergence": _FLAT, "interactions": heat_map_size(n)}
        return sizes.get(picture, figure_size(n))

    def _rows(self, ax: Axes | None) -> Axes:
        return _axes(ax, figure_size(len(self._valuation.names)))

    def _sorted(self, frame: pd.DataFrame, *, sort: bool) -> pd.DataFrame:
        return frame if sort else frame.loc[list(self._valuation.names)]


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _check_name(picture: str) -> None:
    if picture not in PICTURES:
        raise InvalidInput(f"plot: {picture!r} is not a picture: {nearest(str(picture), PICTURES)}")


def _without_date(path: Path) -> dict[str, None]:
    """Metadata without dates, so that the same picture gives the same bytes."""
    dates = {".svg": "Date", ".pdf": "CreationDate"}
    key = dates.get(path.suffix.lower())
    return {} if key is None else {key: None}
