"""Federated training of all coalitions, beside loops over them in NumPy and scikit-learn.

Times are processor times: all sides run on one thread.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave, say, seconds
from shapband.records.draws import Draws

CLIENTS, DRAW, FEATURES, ROWS = 10, 60, 50, 1_500
ROUNDS, STEPS, RATE = 5, 5, 0.1
REPEATS = 3
GAMES = 20  # games with one round, which take too little time to be measured alone
FITTED = 8  # coalitions that scikit-learn trains; its time is scaled to all of them
MANY = {"clients": 100, "rounds": 20, "coalitions": 500}
MOST = {"clients": 1_000, "coalitions": 1_000}
SEED = 1
Clients = list[tuple[Any, Any]]


def clients_of(n: int, model: str) -> tuple[Clients, Any, Any]:
    """Records of clients whose targets follow different weights, and validation rows."""
    rng = np.random.default_rng(SEED)
    weights = rng.normal(size=FEATURES) / np.sqrt(FEATURES)

    def drawn(size: int) -> tuple[Any, Any]:
        X = rng.normal(size=(size, FEATURES))
        own = weights + 0.3 * rng.normal(size=FEATURES)
        y = X @ own + 0.3 * rng.normal(size=size)
        return X, y if model == "linear" else (y > 0).astype(float)

    return [drawn(DRAW) for _ in range(n)], *drawn(ROWS)


class Game:
    """One game, valued exactly by the library and by loops over its coalitions."""

    def __init__(self, model: str, rounds: int, n: int = CLIENTS) -> None:
        self.model, self.rounds = model, rounds
        self.clients, self.X, self.y = clients_of(n, model)
        self.utility = sb.FederatedUtility(
            model,  # type: ignore[arg-type]
            self.X,
            self.y,
            rounds=rounds,
            local_steps=STEPS,
            learning_rate=RATE,
        )
        self.draws = [Draws.whole(sb.ArraySource(*one).records) for one in self.clients]

    def ours(self) -> Any:
        """Values of all coalitions."""
        return self.utility.evaluate_all(self.utility.summarise_games(self.draws))[0]

    def several(self) -> None:
        """Values of all coalitions of several games."""
        for _ in range(GAMES):
            self.ours()

    def loop(self) -> Any:
        """Values of all coalitions by a loop in NumPy."""
        ones = [(np.column_stack([X, np.ones(len(X))]), y) for X, y in self.clients]
        rows = np.column_stack([self.X, np.ones(ROWS)])
        return np.array(
            [
                self._score(rows @ self._trained([ones[i] for i in _members(mask)]))
                for mask in range(1 << len(ones))
            ]
        )

    def _trained(self, members: Clients) -> Any:
        current = np.zeros(FEATURES + 1)
        for _ in range(self.rounds if members else 0):
            total = np.zeros(FEATURES + 1)
            for X, y in members:
                own = current.copy()
                for _ in range(STEPS):
                    z = X @ own
                    found = z if self.model == "linear" else 1.0 / (1.0 + np.exp(-z))
                    own -= RATE / len(y) * ((found - y) @ X)
                total += own
            current = total / len(members)
        return current

    def _score(self, z: Any) -> float:
        if self.model == "linear":
            return float(1.0 / (1.0 + np.mean((z - self.y) ** 2)))
        return float(np.mean((z > 0) == (self.y == 1)))

    def partial_fit(self) -> None:
        """Train and score some coalitions by scikit-learn's `partial_fit`, one pass per step."""
        given = {"learning_rate": "constant", "eta0": RATE / DRAW, "shuffle": False, "alpha": 0.0}
        model = (
            SGDRegressor(**given) if self.model == "linear" else SGDClassifier("log_loss", **given)
        )
        classes = {} if self.model == "linear" else {"classes": [0.0, 1.0]}
        model.partial_fit(*self.clients[0], **classes)
        for mask in np.linspace(1, (1 << len(self.clients)) - 1, FITTED).astype(int).tolist():
            current = np.zeros_like(model.coef_), np.zeros(1)
            for _ in range(self.rounds):
                updates = []
                for i in _members(mask):
                    model.coef_, model.intercept_ = (one.copy() for one in current)
                    for _ in range(STEPS):
                        model.partial_fit(*self.clients[i])
                    updates.append((model.coef_, model.intercept_))
                current = tuple(np.mean([one[p] for one in updates], axis=0) for p in range(2))
            model.coef_, model.intercept_ = current
            model.score(self.X, self.y)

    def check(self) -> None:
        """Check that the loop and the library have the same values."""
        off = np.abs(self.ours() - self.loop()).max()
        if off > 1e-10:
            raise RuntimeError(f"the loop and the library differ by {off}")


def _members(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def several_rounds() -> list[Row]:
    game = Game("logistic", ROUNDS)
    game.check()
    cases = {"ours": game.ours, "loop": game.loop}
    taken = interleave(cases, REPEATS, time.process_time)
    fitted = Spread((seconds(game.partial_fit, time.process_time),)).times(2**CLIENTS / FITTED)
    work = f"logistic, {CLIENTS} clients, {ROUNDS} rounds of {STEPS} steps, all coalitions"
    ours, ratio = taken["ours"], taken["loop"].over(taken["ours"])
    return [
        Row(work, "processor time per game", ours.show("s"), "at most 0.3 s", ours.median <= 0.3),
        Row(f"{work}, beside a loop in NumPy", f"loop {taken['loop'].show('s')}",
            f"{ratio.show()} times", "at least 5 times", ratio.median >= 5),
        Row(f"{work}, beside a loop of `SGDClassifier.partial_fit`",
            f"{FITTED} coalitions, scaled to all: {fitted.show('s')}",
            f"{fitted.times(1 / ours.median).show()} times"),
    ]  # fmt: skip


def one_round() -> list[Row]:
    game = Game("linear", 1)
    game.check()
    cases = {"ours": game.several, "loop": game.loop}
    taken = interleave(cases, REPEATS, time.process_time)
    ours = taken["ours"].times(1 / GAMES)
    fitted = Spread((seconds(game.partial_fit, time.process_time),)).times(2**CLIENTS / FITTED)
    ratio = taken["loop"].over(ours)
    work = f"linear, {CLIENTS} clients, one round of {STEPS} steps, all coalitions"
    return [
        Row(f"{work}, beside a loop in NumPy",
            f"{ours.show('s')} per game; loop {taken['loop'].show('s')}",
            f"{ratio.show()} times", "at least 100 times", ratio.median >= 100),
        Row(f"{work}, beside a loop of `SGDRegressor.partial_fit`",
            f"{FITTED} coalitions, scaled to all: {fitted.show('s')}",
            f"{fitted.times(1 / ours.median).show()} times"),
    ]  # fmt: skip


def many_clients() -> list[Row]:
    """Chosen coalitions of many clients, as solvers ask for them."""
    rows = []
    for settings, rounds in ((MANY, MANY["rounds"]), (MOST, 1)):
        game = Game("logistic", rounds, settings["clients"])
        rng, shape = np.random.default_rng(SEED), (settings["coalitions"], settings["clients"])
        inside = (rng.random(shape) < 0.5).astype(np.uint8)

        def evaluate(game: Game = game, inside: Any = inside) -> None:
            games = game.utility.summarise_games(game.draws)
            game.utility.evaluate_rows(games, inside, np.zeros(len(inside), dtype=np.int64))

        evaluate()
        taken = Spread((seconds(partial(evaluate), time.process_time),))
        work = (
            f"logistic, {settings['clients']:,} clients, rounds: {rounds}, "
            f"{settings['coalitions']:,} coalitions of half of them"
        )
        rows.append(Row(work, "processor time", taken.show("s")))
    return rows


def main() -> None:
    say("several rounds, one round, many clients")
    emit([*several_rounds(), *one_round(), *many_clients()])


if __name__ == "__main__":
    main()
