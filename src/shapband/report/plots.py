"""`valuation.plot`: every picture of a valuation, and the frame behind each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shapband.checks import printable
from shapband.report import frames, pictures
from shapband.report.bands import bands_of, draw_bands
from shapband.report.beeswarm import beeswarm_frame, draw_beeswarm
from shapband.report.by_round import asked_rounds, by_round_frame
from shapband.report.by_round_picture import draw_by_round
from shapband.report.figures import FLAT, axes_or_new, check_picture, save_picture
from shapband.report.heat_map import draw_heat_map, heat_map_size
from shapband.report.rows import figure_size
from shapband.report.waterfall import draw_waterfall, waterfall_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapband.valuation.valuation import Valuation

PICTURES = (
    *("forest", "ranks", "convergence", "distribution", "variance_sources"),
    *("waterfall", "beeswarm", "interactions", "by_round"),
)
_FRAMES: Mapping[str, Callable[..., pd.DataFrame]] = {
    "forest": frames.forest_frame,
    "ranks": frames.ranks_frame,
    "convergence": frames.convergence_frame,
    "distribution": frames.distribution_frame,
    "variance_sources": frames.errors_frame,
    "waterfall": waterfall_frame,
    "beeswarm": beeswarm_frame,
    "interactions": frames.interactions_frame,
    "by_round": by_round_frame,
}
_MOST_ROWS = {"waterfall": 23, "beeswarm": 21}  # for the size of a picture in a file


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
        ax = axes_or_new(ax, FLAT)
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

    def waterfall(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the steps from v(∅) to v(N), one for each provider, with their errors.

        Beyond 21 providers, 20 have steps of their own and the others one together. Only Shapley
        values, and Owen values of groups, sum to v(N) − v(∅).
        """
        frame = waterfall_frame(self._valuation, level)
        ax = axes_or_new(ax, figure_size(len(frame)))
        draw_waterfall(ax, frame, level)
        return ax

    def beeswarm(self, ax: Axes | None = None) -> Axes:
        """Draw the value of each provider in every game as a point.

        Beyond 21 providers, 20 have rows of their own, and the values of all others share one.
        """
        frame = beeswarm_frame(self._valuation)
        ax = axes_or_new(ax, figure_size(int(frame["row"].max()) + 1))
        games = len(self._valuation.games)
        draw_beeswarm(ax, frame, games, f"{self._value_label} in single games")
        return ax

    def interactions(self, ax: Axes | None = None) -> Axes:
        """Draw a heat map of the interactions of pairs of providers.

        Providers that replace each other are side by side.
        """
        found = frames.asked_interactions(self._valuation)
        ax = axes_or_new(ax, heat_map_size(len(found.names)))
        draw_heat_map(ax, found)
        return ax

    def by_round(self, ax: Axes | None = None) -> Axes:
        """Draw the value after each round of training as a line, with a band for its interval.

        Four providers have colours: those with the largest values, and the one with the smallest.
        """
        found = asked_rounds(self._valuation)
        ax = axes_or_new(ax, FLAT)
        draw_by_round(ax, found, self._value_label)
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
        check_picture(picture, PICTURES)
        return _FRAMES[picture](self._valuation)

    def save(self, path: str | os.PathLike[str], picture: str = "forest") -> None:
        """Write a picture to a file; its name ends in .png, .svg or .pdf."""
        check_picture(picture, PICTURES)
        save_picture(path, self._size(picture), getattr(self, picture))

    @property
    def _value_label(self) -> str:
        index, score = self._valuation.index, self._valuation.setup.get("score")
        kind = "Shapley value" if index == "Shapley()" else f"{index} value"
        # matplotlib reads the text between two dollar signs as mathematics
        return f"{kind} ({printable(score)})".replace("$", r"\$") if score else kind

    def _size(self, picture: str) -> tuple[float, float]:
        """Width and height of a picture in a file, in inches."""
        n = len(self._valuation.names)
        sizes = {"convergence": FLAT, "by_round": FLAT, "interactions": heat_map_size(n)}
        return sizes.get(picture) or figure_size(min(n, _MOST_ROWS.get(picture, n)))

    def _rows(self, ax: Axes | None) -> Axes:
        return axes_or_new(ax, figure_size(len(self._valuation.names)))

    def _sorted(self, frame: pd.DataFrame, *, sort: bool) -> pd.DataFrame:
        return frame if sort else frame.loc[list(self._valuation.names)]
