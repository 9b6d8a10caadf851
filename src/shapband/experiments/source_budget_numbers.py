"""What a budget of source records buys on wine: the numbers behind Table III."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapband.experiments.base import Results
from shapband.experiments.figures import NAMES
from shapband.experiments.grid import SHORT
from shapband.experiments.metrics import Measured, Reduction, reduction, stability
from shapband.experiments.theory import Pilot

POOL = {"task": "wine", "n_pool": 250, "n_boot": 60}
METHOD_SETTINGS: dict[str, dict[str, Any]] = {
    "fresh": {"task": "wine", "method": "fresh", "n_boot": 60},
    "pooled": {"method": "pooled", **POOL},
    "stratified": {"method": "stratified", "alpha": 0.5, **POOL},
}
BUDGETS = (2_500, 6_000, 12_000, 30_000)
LOCAL = ("pooled", "stratified")


@dataclass(frozen=True, eq=False)
class Found:
    """Both metrics of every method, with theory. The key is metric, n_iter, method, games."""

    replications: int
    games: tuple[int, ...]
    n_iter: tuple[int, ...]
    budgets: tuple[int, ...]
    baseline_games: dict[int, int]  # budget -> games it pays for
    measured: dict[tuple[str, int, str, int], Measured]
    pilots: dict[str, Pilot]

    @staticmethod
    def of(
        results: Results,
        games: tuple[int, ...],
        n_iter: tuple[int, ...],
        budgets: tuple[int, ...],
    ) -> Found:
        """Work out the metrics."""
        measured, paid = {}, {}
        for metric in SHORT:
            for k in n_iter:
                base = {"solver": "permutation", "n_iter": k}
                for budget in budgets:
                    seen = {"method": "fresh", "records": budget, **base}
                    paid[budget] = results.where(**seen)[0]["games"][0]
                    estimates = results.stack(metric, **seen)[:, 0]
                    measured[metric, k, "fresh", paid[budget]] = stability(estimates)
                for method in LOCAL:
                    estimates = results.stack(metric, method=method, **base)
                    for j, g in enumerate(games):
                        measured[metric, k, method, g] = stability(estimates[:, j])
        pilots = {m: Pilot.of(results.one(kind="pilot", method=m)) for m in METHOD_SETTINGS}
        return Found(len(estimates), games, n_iter, budgets, paid, measured, pilots)

    def predicted(self, metric: str, n_iter: int | None, method: str, games: int) -> float:
        """What theory says."""
        pilot = self.pilots[method]
        if metric == "expectation":
            return pilot.variance_of_expectation(games, n_iter)
        return pilot.variance_of_variance(games, n_iter)

    def saved(self, metric: str, k: int, method: str, games: int, budget: int) -> Reduction:
        """How much lower a local method is than the baseline with a budget."""
        fresh = self.measured[metric, k, "fresh", self.baseline_games[budget]]
        return reduction(fresh, self.measured[metric, k, method, games])

    def all_saved(self, metric: str, games: int, budget: int) -> list[float]:
        """The reductions of both methods at both n_iter."""
        return [self.saved(metric, k, m, games, budget).value
                for k in self.n_iter for m in LOCAL]  # fmt: skip

    def theory_saved(self, metric: str, games: int, budget: int) -> list[float]:
        """What theory says of the same."""
        paid = self.baseline_games[budget]
        return [
            1 - self.predicted(metric, k, m, games) / self.predicted(metric, k, "fresh", paid)
            for k in self.n_iter
            for m in LOCAL
        ]

    def records(self) -> list[dict[str, Any]]:
        """Tidy rows for the data file."""
        return [
            {"metric": SHORT[metric], "n_iter": k, "method": NAMES[method], "n_games": g,
             "ours": one.value, "error": one.error,
             "theory": self.predicted(metric, k, method, g)}
            for (metric, k, method, g), one in self.measured.items()
        ]  # fmt: skip
