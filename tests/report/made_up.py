"""Valuations of any number of providers, made from values of games that nobody had to play."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import shapband as sb
from shapband._typing import FloatArray
from shapband.access.meter import AccessReport, Usage

SETUP = {
    "utility": "EstimatorUtility",
    "model": "a pipeline of StandardScaler and Ridge",
    "score": "R²",
    "empty": "v(∅) = 0",
    "index": "Shapley()",
    "sampling": "Fresh(n_sample=20)",
    "solver": "Strata(n_evaluations=200)",
    "chosen": "all coalitions cost more than a sample of them would",
}

# Names that would do harm if a page took them as they are.
EVIL = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "&lt;b&gt; {{ 7 * 7 }} {% raw %}",
    "\u202eforged\u202c",
    "line\nbreak\ttab\x00\x1b[31m",
    "שלום עולם",
    "x" * 300,
    "]]><!-- --> </svg></style>",
)


def made_up(
    n: int, n_games: int = 60, names: Sequence[str] | None = None, seed: int = 0
) -> sb.Valuation:
    """Values around levels of their own, with a little noise of a solver."""
    rng = np.random.default_rng(seed)
    level, spread = rng.gamma(2.0, 1.0, n) - 0.5, rng.uniform(0.1, 0.5, n)
    games = level + spread * rng.normal(size=(n_games, n))
    return valuation_of(games, np.broadcast_to((0.3 * spread) ** 2, games.shape), names, seed)


def valuation_of(
    games: FloatArray,
    noise: FloatArray | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> sb.Valuation:
    """The valuation that these values of games, with the variances of their noise, give."""
    n_games, n = games.shape
    known = tuple(names) if names is not None else tuple(f"provider {i:04d}" for i in range(n))
    usage = {name: Usage(n_games, 20 * n_games, 0.25) for name in known}
    return sb.Valuation(
        design=sb.Design(
            names=known,
            seed=seed,
            draw_sizes=np.full(n, 20),
            estimand="draws of 20 records from the sources",
            estimand_code="sources",
            setup=SETUP,
        ),
        estimate=sb.Estimate.of(games, noise),
        games=games,
        access=AccessReport(usage),
        evaluations=200 * n_games,
        failures=0,
        stopped="n_games reached",
        stopped_code="n_games",
        seconds=1.5,
    )


def unfinished(valuation: sb.Valuation) -> sb.Valuation:
    """The same as a run in progress gives it: without the values of single games."""
    return replace(
        valuation,
        games=valuation.games[:0],
        stopped="so far: the run is not finished",
        stopped_code="unfinished",
    )
