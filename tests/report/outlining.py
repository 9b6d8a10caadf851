"""Outlines of pages and pictures: all their words and marks, one per line.

``python -m tests.report.outlining`` writes the outlines anew, after a change that is meant. Look at
the differences before you commit them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text

import shapband as sb
from shapband.report.bands import bands_of, draw_bands
from shapband.report.page import page_of, waiting_page
from shapband.runs.fingerprints import _UNCHECKED
from shapband.runs.read import RunStatus
from shapband.runs.refused import RefusedAnswer
from shapband.sampling.rare import RareLabel
from shapband.sampling.shared import Shared
from shapband.sampling.targets import OddLabel
from tests.conftest import redesigned, with_pools
from tests.report.made_up import unfinished, valuation_of

NEW_LINES = {"header", "section", "h2", "p", "li", "dt", "figure", "svg", "g", "table", "tr"}
FOLDER = Path(__file__).parent / "outlines"
NAMES = ("north", "south", "west")
# Numbers without random streams, and with so many digits that none is rounded from a half.
SPREAD = np.array([-1.4731, 0.5217, 0.9713, -0.5371, 1.5191, -1.0237, 0.0317, -0.0113])
LEVELS = (3.0317, 1.0173, 2.0291)


def games_of(levels: Sequence[float], deviations: Sequence[float]) -> np.ndarray:
    """Values whose order differs from provider to provider."""
    return np.stack(
        [
            level + deviation * np.resize(np.roll(SPREAD, at), 40)
            for at, (level, deviation) in enumerate(zip(levels, deviations, strict=True))
        ],
        axis=1,
    )


def plain() -> sb.Valuation:
    games = games_of(LEVELS, (0.3119, 0.1973, 0.1071))
    return valuation_of(games, np.full(games.shape, 0.002), NAMES)


def pooled() -> sb.Valuation:
    made = plain()
    pools = with_pools(made.estimate, [0.001, 0.002, 0.003], 20.0)
    return redesigned(
        replace(made, estimate=pools, stopped_code="pools", stopped="larger pools are needed"),
        pool_sizes=np.array([100, 200, 3000]),
        estimand_code="pools",
        setup={"utility": "made up", "index": "Banzhaf()", "training": "with care"},
    )


def odd() -> sb.Valuation:
    """A valuation with everything that a reader must check."""
    flawed = redesigned(
        replace(plain(), failures=1234),
        distinct_records=np.array([4.0, 20.0, np.nan]),
        pool_sizes=np.array([10, 20, 30]),
        one_label=("south",),
        shared_records=(Shared("north", "south", 3, 4, ("id",), 0.0, 0.25),),
    )
    return unfinished(flawed)


def played(participants: Callable[[list[sb.Provider]], Any], **options: Any) -> sb.Valuation:
    """Forty games of an additive utility, with the times of other valuations."""
    records = np.arange(9.0)[:, None]
    providers = [
        sb.Provider(name, sb.ArraySource(records, level + 0.0731 * records[:, 0]))
        for name, level in zip(NAMES, LEVELS, strict=True)
    ]
    options = {"sampling": sb.Fresh(2), "solver": sb.Exact(), "n_games": 40, "seed": 0} | options
    valuation = sb.value(participants(providers), sb.AdditiveUtility(), **options)
    return replace(valuation, access=plain().access, seconds=1.5)


def present() -> sb.Valuation:
    """Providers who take part at random."""
    rates = sb.Independent({"north": 0.5, "south": 0.8, "west": 1.0})
    return played(list, participation=rates)


def grouped() -> sb.Valuation:
    """Two providers that take part as one player."""
    return played(lambda providers: [sb.Group("coast", providers[:2]), providers[2]])


def status_of(valuation: sb.Valuation) -> RunStatus:
    manifest = {
        "created": "2026-01-02 03:04:05",
        "config_sha256": "c0ffee",
        "versions": {"shapband": "0.1.9", "numpy": "2.0.0"},
        "arguments": {
            "budget": "Budget(records=9)",
            "stop": "None",
            "keep_games": "40",
            "data of provider 'north'": f"4 records, {_UNCHECKED}",
        },
        "providers": list(NAMES),
    }
    return RunStatus(
        state="interrupted",
        manifest=manifest,
        access=valuation.access,
        done=1040,
        n_games=2000,
        valuation=valuation,
        unanswered=1003,
        digest="feed",
        refused=(RefusedAnswer("north", "pool", 0, 1200, "too short", asked_again=False),),
    )


class _Outline(HTMLParser):
    """All elements with their attributes, and all words, in their order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines = [""]
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"
        written = f"<{tag}{''.join(f' {name}={value}' for name, value in attrs)}>"
        if tag in NEW_LINES:
            self.lines.append(written)
        else:
            self.lines[-1] += f" {written}"

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if words and not self._style:
            self.lines[-1] += f" {words}"


def page_outline(content: str) -> list[str]:
    """All of a page but its style, digests, date and the version of the library."""
    found = _Outline()
    found.feed(content)
    hidden = re.sub(r"sha256-[\w+/=]+|\b[0-9a-f]{64}\b", "DIGEST", "\n".join(found.lines))
    hidden = re.sub(r"report, \d+ \w+ \d{4}", "report, DATE", hidden)
    return hidden.replace(f"shapband {sb.__version__}", "shapband VERSION").split("\n")


def _number(value: Any) -> str:
    return f"{float(value):.4g}"


def _numbers(values: Any) -> str:
    return " ".join(_number(one) for one in np.ravel(values))


def _artist(one: Artist) -> str:
    """What is set for one mark."""
    words = f"{type(one).__name__} z={_number(one.get_zorder())} clip={one.get_clip_on()}"
    if isinstance(one, Rectangle):
        place = [one.get_x(), one.get_y(), one.get_width(), one.get_height()]
        return f"{words} {to_hex(one.get_facecolor())} at {_numbers(place)}"
    if isinstance(one, LineCollection):
        ends = " | ".join(_numbers(segment) for segment in one.get_segments())
        colours = " ".join(map(to_hex, one.get_color()))
        return f"{words} {colours} width {_numbers(one.get_linewidth())} at {ends}"
    if isinstance(one, Line2D):
        look = f"{one.get_linestyle()} {one.get_marker()} {to_hex(one.get_color())}"
        sizes = [one.get_linewidth(), one.get_markersize()]
        filled = to_hex(one.get_markerfacecolor())
        return f"{words} {look} {filled} {_numbers(sizes)} at {_numbers(one.get_xydata())}"
    if isinstance(one, Text):
        size = _number(one.get_size())
        place = f"{_numbers(one.get_position())} {one.get_horizontalalignment()}"
        if isinstance(one, Annotation):
            place += f" {_numbers(one.xy)} {one.xycoords} {one.anncoords}"
        elif one.axes is not None and one.get_transform() == one.axes.transAxes:
            place += " of the axes"
        return f"{words} {to_hex(one.get_color())} {size} at {place}: {one.get_text()}"
    return words


def _legend(one: Legend) -> Iterator[str]:
    box = one.get_bbox_to_anchor().transformed(one.axes.transAxes.inverted())
    yield (
        f"Legend at {one._loc} of {_numbers(np.round(box.p0, 3))} pad {one.borderaxespad} "
        f"columns {one._ncols} frame {one.get_frame_on()}"
    )
    for text in one.get_texts():
        words = text.get_text().replace("\n", " / ")
        yield f"- {to_hex(text.get_color())} {_number(text.get_size())} {words}"
    for handle in one.legend_handles:
        yield f"- {_artist(handle)}"


def axes_outline(ax: Axes) -> list[str]:
    """All that is drawn on axes, and their ends, ticks and labels."""
    ax.figure.canvas.draw()
    lines = [f"x {_numbers(ax.get_xlim())}, y {_numbers(ax.get_ylim())}"]
    lines += [
        f"label {to_hex(label.get_color())} {label.get_text()}"
        for label in (ax.xaxis.label, ax.yaxis.label)
    ]
    lines.append(f"pad {ax.xaxis.labelpad}")
    for name in ax.get_yticklabels():
        place = _number(name.get_position()[1])
        lines.append(f"name {to_hex(name.get_color())} {place} {name.get_text()}")
    for tick in [ax.xaxis.get_major_ticks()[0], ax.yaxis.get_major_ticks()[0]]:
        line = tick.tick1line
        lines.append(
            f"tick {to_hex(line.get_color())} {_number(line.get_markersize())} "
            f"{to_hex(tick.label1.get_color())}"
        )
    for edge, spine in ax.spines.items():
        lines.append(f"edge {edge} {spine.get_visible()} {to_hex(spine.get_edgecolor())}")
    lines += map(_artist, (*ax.collections, *ax.patches, *ax.lines, *ax.texts))
    for one in ax.get_children():
        if isinstance(one, Legend):
            lines += _legend(one)
    return lines


def _axes() -> Axes:
    return Figure(figsize=(9, 4), layout="constrained").subplots()


def _bands(valuations: Mapping[str, sb.Valuation]) -> list[str]:
    ax = _axes()
    draw_bands(ax, bands_of(valuations), x_label="Shapley value")
    return axes_outline(ax)


def _plot(name: str, valuation: sb.Valuation) -> list[str]:
    return axes_outline(getattr(valuation.plot, name)(ax=_axes()))


def owners() -> sb.Valuation:
    """A valuation with faults of the records of all providers, from pools of different sizes."""
    made = pooled()
    return redesigned(
        made,
        draw_sizes=np.array([20, 31, 42]),
        setup={**plain().setup, "sampling": "Pooled(n_pool={'north': 100}, n_boot=20)"},
        distinct_records=np.array([7.0, 200.0, 3000.0]),
        one_label=("north",),
        odd_labels=(OddLabel("north", "'-1'", "'0'"),),
        shared_records=(Shared("north", "south", 3, 4, ("id",), 0.0, 0.25),),
        rare_labels=(
            RareLabel("north", "'rare'", 3, 150, 100, 0.04, 0),
            RareLabel("west", "'other'", 4, 5000, 3000, 0.03, 0),
        ),
    )


def owner_page() -> str:
    """The page for one provider, with its payout and its run."""
    made = owners()
    paid = sb.payouts(made, 1000, policy="floor", floor=100)
    return page_of(made, payouts=paid, status=status_of(made), provider="north")


def paid_page() -> str:
    valuation = plain()
    return page_of(valuation, payouts=sb.payouts(valuation, 1000, policy="floor", floor=100))


OUTLINES: dict[str, Callable[[], list[str]]] = {
    "page": lambda: page_outline(paid_page()),
    "page of pools": lambda: page_outline(page_of(pooled())),
    "page of an unfinished run": lambda: page_outline(page_of(odd(), status=status_of(odd()))),
    "page of participation": lambda: page_outline(page_of(present())),
    "page for one provider": lambda: page_outline(owner_page()),
    "page for one of two providers": lambda: page_outline(
        page_of(valuation_of(games_of(LEVELS[:2], (0.1, 0.2)), names=NAMES[:2]), provider="south")
    ),
    "page for a participant": lambda: page_outline(
        page_of(present(), provider="north", title="Claims of <2026>")
    ),
    "page of groups": lambda: page_outline(page_of(grouped())),
    "page of one provider": lambda: page_outline(
        page_of(valuation_of(games_of(LEVELS[:1], (0.1,)), names=("alone",)))
    ),
    "page of equal values": lambda: page_outline(
        page_of(valuation_of(np.ones((6, 3)), names=NAMES))
    ),
    "page of one game": lambda: page_outline(
        page_of(valuation_of(np.array([LEVELS]), names=NAMES))
    ),
    "page of seven providers": lambda: page_outline(
        page_of(valuation_of(games_of(range(1, 8), [0.0117] * 7), names=tuple("abcdefg")))
    ),
    "waiting page": lambda: page_outline(waiting_page(1, 2000)),
    "plot of the forest": lambda: _plot("forest", plain()),
    "plot of ranks": lambda: _plot("ranks", plain()),
    "plot of convergence": lambda: _plot("convergence", plain()),
    "plot of no convergence": lambda: _plot(
        "convergence", valuation_of(np.ones((6, 3)), names=NAMES)
    ),
    "plot of the distribution": lambda: _plot("distribution", plain()),
    "plot of variance sources": lambda: _plot("variance_sources", pooled()),
    "bands": lambda: _bands({"first": plain(), "second": pooled()}),
    "bands that are not known": lambda: _bands(
        {"one": valuation_of(10 + games_of(LEVELS[:2], (0.1, 0.0)), np.full((40, 2), 0.005))}
    ),
}


def main() -> None:
    """Write all outlines."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in OUTLINES.items():
        (FOLDER / f"{name}.txt").write_text("\n".join(make()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
