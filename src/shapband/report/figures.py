"""Axes to draw on, and files to write pictures to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from shapband.checks import file_error, nearest
from shapband.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".pdf")
FLAT = (9.0, 5.0)  # width and height, in inches, of a picture without rows


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes that were given, or the axes of a new figure of this size."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def check_picture(picture: str, known: tuple[str, ...]) -> None:
    """Refuse a name that is not a picture's."""
    if picture not in known:
        raise InvalidInput(f"plot: {picture!r} is not a picture: {nearest(str(picture), known)}")


def save_picture(
    path: str | os.PathLike[str], size: tuple[float, float], draw: Callable[[Axes], object]
) -> None:
    """Draw on a new figure and write it to a file; its name ends in .png, .svg or .pdf."""
    from matplotlib.figure import Figure

    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(
            f"plot: the file must end in {', '.join(FORMATS)}; received {path.name!r}"
        )
    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots())
    try:
        figure.savefig(path, dpi=150, metadata=_without_date(path))
    except OSError as cause:
        raise InvalidInput(f"plot: {path} cannot be written ({file_error(cause)})") from cause


def _without_date(path: Path) -> dict[str, None]:
    """Metadata without dates, so that the same picture gives the same bytes."""
    dates = {".svg": "Date", ".pdf": "CreationDate"}
    key = dates.get(path.suffix.lower())
    return {} if key is None else {key: None}
