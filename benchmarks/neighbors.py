"""One synthetic game with nearest neighbours, compared with refitting scikit-learn's."""

from __future__ import annotations

from functools import partial

from sklearn.neighbors import KNeighborsRegressor

import shapband as sb
from benchmarks.games import check_same, draws_of, records_of, refit_exact
from benchmarks.harness import Row, emit, interleave, say

RECORDS = 1000
N_GAMES = 20
ROUNDS = 5
SEED = 1


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


if __name__ == "__main__":
    emit(rows())
