"""The numbers behind every picture, as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.errors import InvalidInput
from shapband.valuation.spread import check_single_games

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.compare import Comparison
    from shapband.valuation.groups import Groups
    from shapband.valuation.interactions import Interactions
    from shapband.valuation.series import SeriesComparison
    from shapband.valuation.valuation import Valuation

_LOOKS = 40  # convergence is shown after at most this many different numbers of games
_LEAST_GAMES = 4  # with fewer games, there is nothing to draw over games
_NEAR = 0.55  # an axis begins at 0 if the smallest value is below this share of the largest
_TOP = 20  # providers with rows of their own where the others share one
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def forest_frame(valuation: Valuation | Groups, level: float = 0.95) -> pd.DataFrame:
    """Expectation with its interval, and one standard deviation of the value on both sides.

    The largest expectation comes first, as in all these frames.
    """
    low, high = valuation.interval(level).T
    mean, deviation = valuation.expectation, valuation.standard_deviation
    columns = {"expectation": mean, "low": low, "high": high}
    columns |= {"spread_low": mean - deviation, "spread_high": mean + deviation}
    return _by_value(valuation, columns)


def ranks_frame(valuation: Valuation, level: float = 0.95) -> pd.DataFrame:
    """Rank with its interval, and the probability of being above the next provider."""
    ranks = valuation.ranks(level)
    columns = {name: getattr(ranks, name) for name in ("rank", "low", "high", "above_next")}
    return _by_value(valuation, columns)


def distribution_frame(valuation: Valuation) -> pd.DataFrame:
    """Quantiles and extremes of the values in single games, and the share of negative values."""
    check_single_games(valuation.estimate, "distribution")
    games = games_kept(valuation, "distribution")
    quantiles = np.quantile(games, QUANTILES, axis=0)
    columns = {f"quantile_{p:g}": row for p, row in zip(QUANTILES, quantiles, strict=True)}
    columns |= {"lowest": games.min(axis=0), "highest": games.max(axis=0)}
    columns["negative"] = (games < 0).mean(axis=0)
    return _by_value(valuation, columns)


def convergence_frame(valuation: Valuation, level: float = 0.95) -> pd.DataFrame:
    """Expectation and half width after some numbers of games, for every provider.

    The half width after k games combines the spread over these k games with the final estimate
    of the pools' error, so the last half width equals the half width of the valuation.
    """
    import pandas as pd

    games = games_kept(valuation, "convergence")
    looks = _looks(len(games))
    means = np.cumsum(games, axis=0)[looks - 1] / looks[:, None]
    half = _half_widths(valuation, games, looks, level)
    n = len(valuation.names)
    bought = valuation.access.records
    shared = valuation.pool_sizes is not None
    records = np.full(len(looks), bought) if shared else bought * looks / valuation.n_games
    columns = {
        "games": np.repeat(looks, n),
        "records": np.repeat(np.rint(records).astype(np.int64), n),
        "provider": np.tile(valuation.names, len(looks)),
        "expectation": means.ravel(),
        "half_width": half.ravel(),
    }
    return pd.DataFrame(columns)


def errors_frame(valuation: Valuation) -> pd.DataFrame:
    """Standard error, and the shares of its square by cause."""
    errors = valuation.estimate.errors
    safe = np.where(errors.total > 0, errors.total, 1.0)
    columns = {"standard_error": np.sqrt(errors.total)}
    for cause, part in errors.by_cause.items():
        columns[cause] = np.where(errors.total > 0, part / safe, 0.0)
    return _by_value(valuation, columns)


def top_rows(expectation: FloatArray) -> tuple[IntArray, IntArray]:
    """Providers with rows of their own, sorted by value, and the others, which share a row.

    Examples
    --------
    >>> shown, others = top_rows(np.arange(-30.0, 10.0))
    >>> len(shown), len(others), float(np.arange(-30.0, 10.0)[shown[-1]])
    (20, 20, -30.0)
    """
    n = len(expectation)
    most = n if n <= _TOP + 1 else _TOP  # a row for the other one would save nothing
    largest = np.argsort(-np.abs(expectation), kind="stable")
    shown = largest[:most]
    shown = shown[np.argsort(-expectation[shown], kind="stable")]
    return shown, np.sort(largest[most:])


def interactions_frame(valuation: Valuation) -> pd.DataFrame:
    """Interactions of all pairs with their errors and intervals, the largest first."""
    return asked_interactions(valuation).to_frame()


def asked_interactions(valuation: Valuation) -> Interactions:
    """The interactions of a valuation that was asked for them."""
    if valuation.interactions is None:
        raise InvalidInput(
            "interactions: this valuation has none: use value(..., interactions=True)"
        )
    return valuation.interactions


def similar_order(matrix: FloatArray) -> IntArray:
    """Order of the providers in which those with the most negative interactions are neighbours.

    They are joined step by step, first those with the lowest mean interaction (average linkage).

    Examples
    --------
    >>> matrix = np.array([[np.nan, 0.0, -2.0], [0.0, np.nan, 0.0], [-2.0, 0.0, np.nan]])
    >>> similar_order(matrix).tolist()
    [1, 0, 2]
    """
    from scipy.cluster.hierarchy import average, leaves_list

    pairs = matrix[np.triu_indices(len(matrix), 1)]
    order: IntArray = leaves_list(average(pairs - pairs.min())).astype(np.int64)
    return order


def largest_size(matrix: FloatArray) -> float:
    """The largest interaction of any sign, or 1 if all are 0."""
    return float(np.nanmax(np.abs(matrix))) or 1.0


def ends_of_axis(values: FloatArray) -> tuple[float, float]:
    """Ends of an axis: the smallest and largest finite value; 0 replaces an end that is near 0.

    Examples
    --------
    >>> ends_of_axis(np.array([0.3, 1.0])), ends_of_axis(np.array([0.9, 1.0]))
    ((0.0, 1.0), (0.9, 1.0))
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if 0 < low < _NEAR * high:
        return 0.0, high
    if low < 0 and _NEAR * low < high < 0:
        return low, 0.0
    return low, high


def _looks(n_games: int) -> IntArray:
    """Numbers of games from few to all, evenly spaced on a logarithmic axis."""
    first = min(_LEAST_GAMES, n_games)
    return np.unique(np.rint(np.geomspace(first, n_games, _LOOKS)).astype(np.int64))


def _half_widths(
    valuation: Valuation, games: FloatArray, looks: IntArray, level: float
) -> FloatArray:
    """Half width of the intervals after each number of games: (looks, n)."""
    errors = valuation.estimate.errors
    low, high = valuation.interval(level).T
    with np.errstate(invalid="ignore", divide="ignore"):
        multiple = (high - low) / 2 / np.sqrt(errors.total)
        # Scale by the spread over k games relative to all games, and by the number of games.
        spread = np.stack([games[:k].var(axis=0, ddof=1) for k in looks])
        larger = spread / spread[-1] * (valuation.n_games / looks)[:, None]
        square = errors.shrinking * larger + errors.remaining
        return np.asarray(multiple * np.sqrt(square))


def games_kept(valuation: Valuation, picture: str) -> FloatArray:
    """The values of single games, if there are enough of them to draw."""
    if len(valuation.games) < _LEAST_GAMES:
        raise InvalidInput(
            f"{picture}: this needs the values of at least {_LEAST_GAMES} games; the valuation "
            f"keeps {len(valuation.games)}: finish the run, play more games, or raise keep_games"
        )
    return valuation.games


def _order(valuation: Valuation | Groups) -> IntArray:
    return np.argsort(-valuation.expectation, kind="stable")


def _by_value(
    valuation: Valuation | Groups, columns: dict[str, FloatArray | IntArray]
) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(columns, index=pd.Index(valuation.names, name="provider"))
    return frame.iloc[_order(valuation)]


def change_frame(found: Comparison) -> pd.DataFrame:
    """Change of every provider with its interval, the largest increase first."""
    frame = found.to_frame().rename(columns={"difference": "change"})
    frame["tested"] = found.tested
    return frame.sort_values("change", ascending=False, kind="stable")


def series_frames(found: SeriesComparison) -> list[tuple[str, str, pd.DataFrame]]:
    """The labels before and after every change of a series, and the changes as a frame."""
    import pandas as pd

    steps = []
    for at, after in enumerate(found.labels[1:]):
        base = 0 if found.since == "first" else at
        columns = {
            "first": found.expectation[base],
            "second": found.expectation[at + 1],
            "change": found.change[at],
            "low": found.interval[at, :, 0],
            "high": found.interval[at, :, 1],
            "beyond_chance": found.beyond_chance[at],
            "tested": found.tested[at],
        }
        frame = pd.DataFrame(columns, index=pd.Index(found.names, name="provider"))
        frame = frame.sort_values("change", ascending=False, kind="stable")
        steps.append((found.labels[base], after, frame))
    return steps
