"""Games with nearest neighbours of 1 to 64 features, compared with refitting scikit-learn's."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

import shapband as sb
from benchmarks.games import check_same, draws_of, records_of, refit, refit_exact
from benchmarks.harness import Row, emit, interleave, say
from shapband.records.batch import Batch

RECORDS = 1000
N_GAMES = 20
ROUNDS = 5
SEED = 1
FEATURES = (1, 2, 11, 64)
N_PROVIDERS = 10
HELD = 2000  # records of a provider
FEW_GAMES = 4
FEW_ROUNDS = 3
REFITTED = 24  # of 1,023 coalitions: with many features scikit-learn takes a minute for all


def rows() -> list[Row]:
    task = sb.datasets.synthetic()
    sampling = sb.Fresh(RECORDS)
    value = partial(
        sb.value, task.providers, task.utility, sampling=sampling, n_games=N_GAMES, seed=SEED
    )
    records = records_of(draws_of(task.providers, sampling, 1, SEED), 0)
    model = KNeighborsRegressor(n_neighbors=1)
    by_hand = partial(refit_exact, records, model, task.X_val, task.y_val)

    say("  do both give the same values for the same game?")
    check_same("the refit loop", by_hand(), value().games[0])

    say("  timing")
    times = interleave({"ours": value, "by hand": by_hand}, ROUNDS)
    ours = times["ours"].times(1 / N_GAMES)
    ratio = times["by hand"].over(ours)
    draw = partial(draws_of, task.providers, sampling, N_GAMES, SEED)
    parts = interleave({"draw": draw}, ROUNDS)
    drawing = parts["draw"].median / N_GAMES
    return [
        Row(
            f"one synthetic game (10 providers × {RECORDS:,} records, {len(task.y_val):,} "
            "validation points), exact, with its drawing, against a memoised scikit-learn "
            "1-nearest-neighbour refit loop",
            f"{ours.times(1e3).show('ms')} a game in a `value()` of {N_GAMES}; the other "
            f"{times['by hand'].show('s')}",
            f"{ratio.show('×')} faster",
            "at least 500 ×",
            ratio.median >= 500,
            f"of {ours.median * 1e3:.2g} ms a game, drawing from the functions takes "
            f"{drawing * 1e3:.2g} ms.",
        )
    ]


def features_row(d: int) -> Row:
    """Providers around different places, a smooth target: 10 × 1,000 records, 1,000 points."""
    say(f"  {d} features")
    rng = np.random.default_rng(SEED)
    slopes = rng.normal(size=d) / np.sqrt(d)
    centres = np.linspace(-2, 2, N_PROVIDERS)
    places = [rng.normal(centre, 1.0, size=(HELD, d)) for centre in centres]
    providers = [
        sb.Provider(f"around {centre:+.1f}", sb.ArraySource(X, np.sin(X @ slopes)))
        for centre, X in zip(centres, places, strict=True)
    ]
    X_val = rng.normal(0.0, 2.0, size=(RECORDS, d))
    y_val = np.sin(X_val @ slopes)
    utility = sb.NeighborUtility(X_val, y_val, k=1)
    sampling = sb.Fresh(RECORDS)
    value = partial(
        sb.value, providers, utility, sampling=sampling, solver=sb.Exact(), n_games=FEW_GAMES
    )
    records = records_of(draws_of(providers, sampling, 1, SEED), 0)
    chosen = rng.choice(np.arange(1, 1 << N_PROVIDERS), REFITTED, replace=False).tolist()
    model = KNeighborsRegressor(n_neighbors=1)

    def by_hand() -> np.ndarray:
        return np.array([refit(records, model, X_val, y_val, coalition) for coalition in chosen])

    summaries = [utility.summarise(Batch(X, y)) for X, y in records]
    check_same(f"the refit of {d} features", by_hand(), utility.evaluate(summaries, chosen))
    times = interleave({"ours": partial(value, seed=SEED), "by hand": by_hand}, FEW_ROUNDS)
    ours = times["ours"].times(1 / FEW_GAMES)
    theirs = times["by hand"].times(((1 << N_PROVIDERS) - 1) / REFITTED)
    return Row(
        f"the same with made-up records of {d} feature{'s' if d > 1 else ''}",
        f"{ours.times(1e3).show('ms')} a game in a `value()` of {FEW_GAMES}; the other "
        f"{theirs.show('s')}, from {REFITTED} random coalitions in proportion",
        f"{theirs.over(ours).show('×')} faster",
    )


if __name__ == "__main__":
    emit([*rows(), *(features_row(d) for d in FEATURES)])
