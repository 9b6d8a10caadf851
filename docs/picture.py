"""Draw docs/images/idea.svg, the picture of docs/idea.md.

    python docs/picture.py

Three clinics have 24 records each and give 6 of them to a game. All numbers in the picture are
those of a valuation with a fixed seed; the records of the first games are shown as they were drawn.
The tests fail while the file differs from what this would write.
"""

from html import escape
from pathlib import Path

import numpy as np

import shapband as sb

FILE = Path(__file__).parent / "images" / "idea.svg"
STOCK, DRAW, GAMES, SHOWN = 24, 6, 60, 3
SEED = 15  # of the games; the values shown add up to the sums shown, rounded as they are
# name: range of its patients' ages in decades, noise of its outcomes, colour, pale colour
CLINICS = {
    "north": (2.0, 5.0, 0.7, "#14375e", "#b4cae1"),
    "south": (4.0, 8.0, 1.2, "#b04a0c", "#f4d3b8"),
    "east": (3.0, 6.0, 2.2, "#1c6344", "#c2e2cf"),
}
LEFT, COLUMN, TOP, ROW, CHART = 92, 212, 62, 84, 132
WIDTH, TEXT, FAINT = LEFT + 3 * COLUMN + 112, "#222222", "#c9c9c9"
DIGITS, TICKS = 2, (0.0, 0.2, 0.4, 0.6)


class Recorded(sb.FiniteSource):
    """Records of one clinic, and the rows that were asked for."""

    size = STOCK
    schema = sb.Schema(n_features=1)

    def __init__(self, rng: np.random.Generator, low: float, high: float, noise: float) -> None:
        self.X = rng.uniform(low, high, (STOCK, 1))
        self.y = self.X[:, 0] + noise * rng.normal(size=STOCK)
        self.asked: list[int] = []

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked += rows.tolist()
        return self.X[rows], self.y[rows]


def drawn() -> tuple[sb.Valuation, list[np.ndarray]]:
    """The valuation, and for each clinic the rows of the games that are shown."""
    rng = np.random.default_rng(3)
    sources = [Recorded(rng, *facts[:3]) for facts in CLINICS.values()]
    X_val = rng.uniform(2.0, 8.0, (200, 1))
    utility = sb.LinearUtility(X_val, X_val[:, 0] + 0.5 * rng.normal(size=200))
    providers = [sb.Provider(name, one) for name, one in zip(CLINICS, sources, strict=True)]
    valuation = sb.value(providers, utility, sampling=sb.Fresh(DRAW), n_games=GAMES, seed=SEED)
    rows = [np.reshape(one.asked, (GAMES, DRAW))[:SHOWN] for one in sources]
    for game in range(SHOWN):  # the rows are those of the game: they give its values
        batches = [sb.Batch(*one.take(rows[i][game])) for i, one in enumerate(sources)]
        together = utility.evaluate([utility.summarise(batch) for batch in batches], [0b111])[0]
        if abs(together - valuation.games[game].sum()) > 1e-12:
            raise AssertionError(f"the rows found for game {game} are not its own")
    return valuation, rows


def picture() -> str:
    """The picture as SVG."""
    valuation, rows = drawn()
    bottom = TOP + SHOWN * ROW
    height = bottom + CHART + 106
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">',
        f"<title>{escape(description(valuation))}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(
            LEFT, 22, "Every game draws other records, so every game gives other values.", size=15
        ),
        text(LEFT + 3 * COLUMN + 4, TOP - 10, "score of all", bold=True),
    ]
    for place, (name, facts) in enumerate(CLINICS.items()):
        x, colour = LEFT + place * COLUMN, facts[3]
        parts.append(text(x, TOP - 10, f"{name}: {STOCK} records", colour, bold=True))
        for game in range(SHOWN):
            y = TOP + game * ROW
            parts += records(x, y, set(rows[place][game].tolist()), colour)
            parts.append(number(x + 180, y + 37, valuation.games[game, place], colour))
        parts += distribution(x, bottom, valuation, place, facts[3:])
    for game in range(SHOWN):
        y = TOP + game * ROW + 37
        parts.append(text(16, y, f"game {game + 1}"))
        parts.append(number(LEFT + 3 * COLUMN + 48, y, valuation.games[game].sum(), TEXT))
        for place in range(2):
            parts.append(text(LEFT + place * COLUMN + 187, y, "+", size=18))
        parts.append(text(LEFT + 2 * COLUMN + 187, y, "=", size=18))
    parts += [text(16, bottom + 78, "all"), text(16, bottom + 96, f"{GAMES} games")]
    parts += legend(bottom + CHART + 66)
    return "\n".join([*parts, "</svg>", ""])


def description(valuation: sb.Valuation) -> str:
    means = ", ".join(
        f"{name} {mean:.{DIGITS}f} with a standard deviation of {spread:.{DIGITS}f}"
        for name, mean, spread in zip(
            valuation.names, valuation.expectation, valuation.standard_deviation, strict=True
        )
    )
    return (
        "Three games of three clinics: in each, other records are drawn and other values found. "
        f"Below, the distribution of the values over {GAMES} games: {means}."
    )


def text(
    x: float, y: float, content: str, colour: str = TEXT, *, size: int = 13, bold: bool = False,
    anchor: str = "start",
) -> str:  # fmt: skip
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}"{weight} '
        f'text-anchor="{anchor}">{escape(content)}</text>'
    )


def number(x: float, y: float, value: float, colour: str) -> str:
    """A value that ends at x."""
    written = f"{value:.{DIGITS}f}".replace("-", "−")
    return text(x, y, written, colour, size=17, bold=True, anchor="end")


def records(x: float, y: float, used: set[int], colour: str) -> list[str]:
    """The records of a clinic as dots; those of the draw are filled."""
    dots = [
        f'<circle cx="{x + 9 + 14 * (row % 8):.1f}" cy="{y + 18 + 14 * (row // 8):.1f}" r="5" '
        + (f'fill="{colour}"/>' if row in used else f'fill="white" stroke="{FAINT}"/>')
        for row in range(STOCK)
    ]
    frame = f'<rect x="{x - 4}" y="{y + 4}" width="124" height="56" rx="6" fill="none" '
    return [frame + f'stroke="{FAINT}"/>', *dots]


def distribution(
    x: float, y: float, valuation: sb.Valuation, place: int, colours: tuple[str, ...]
) -> list[str]:
    """A histogram of the values of one clinic, with both moments and the error of the first."""
    colour, pale = colours
    values, wide = valuation.games[:, place], COLUMN - 34
    low, high = np.floor(valuation.games.min() * 10) / 10, np.ceil(valuation.games.max() * 10) / 10
    counts, edges = np.histogram(values, bins=np.linspace(low, high, 21))
    most = max(
        np.histogram(valuation.games[:, k], bins=edges)[0].max() for k in range(len(CLINICS))
    )

    def at(value: float) -> float:
        return x + wide * float((value - low) / (high - low))

    floor = y + CHART - 32
    bars = [
        f'<rect x="{at(edge):.1f}" y="{floor - 90 * count / most:.1f}" '
        f'width="{at(edges[1]) - at(edges[0]) - 1:.1f}" height="{90 * count / most:.1f}" '
        f'fill="{FAINT}"/>'
        for edge, count in zip(edges[:-1], counts, strict=True)
        if count
    ]
    mean, spread = valuation.expectation[place], valuation.standard_deviation[place]
    ends = valuation.interval(0.95)[place]
    return [
        *bars,
        line(x, floor, x + wide, floor, TEXT, 1),
        *[line(at(tick), floor, at(tick), floor + 5, TEXT, 1) for tick in TICKS],
        *[text(at(tick), floor + 18, f"{tick:g}", size=11, anchor="middle") for tick in TICKS],
        f'<rect x="{at(mean - spread):.1f}" y="{floor + 25}" '
        f'width="{at(mean + spread) - at(mean - spread):.1f}" height="18" fill="{pale}"/>',
        line(at(ends[0]), floor + 34, at(ends[1]), floor + 34, colour, 3),
        f'<circle cx="{at(mean):.1f}" cy="{floor + 34}" r="3.5" fill="{colour}"/>',
        text(at(mean), floor + 61, f"{mean:.{DIGITS}f} ± {spread:.{DIGITS}f}", colour, bold=True,
             anchor="middle"),
    ]  # fmt: skip


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def legend(y: float) -> list[str]:
    wide, narrow = CLINICS["north"][4], CLINICS["north"][3]
    return [
        f'<rect x="{LEFT}" y="{y - 13}" width="36" height="18" fill="{wide}"/>',
        text(LEFT + 46, y, "± one standard deviation of the value: a fact about the data"),
        line(LEFT + 6, y + 22, LEFT + 30, y + 22, narrow, 3),
        f'<circle cx="{LEFT + 18}" cy="{y + 22}" r="3.5" fill="{narrow}"/>',
        text(LEFT + 46, y + 27, "the expectation, with the error of its estimate (95 %)"),
    ]


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
