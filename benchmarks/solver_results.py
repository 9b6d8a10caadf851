"""What the comparison of solvers found: ratios of errors, the table of them, and the targets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.harness import Row, Table, number

PERMUTATIONS, BALANCED, STRATA = "permutations", "balanced", "Strata"
OURS = (PERMUTATIONS, BALANCED, STRATA)
WINE = ("wine by alcohol", "wine at random")
SAME = 0.02  # evaluations that differ by no more count as equal


@dataclass(frozen=True)
class Setting:
    """What is one entry of the table: kind of game, providers, permutations for each of them."""

    kind: str
    n: int
    budget: int

    def show(self) -> str:
        return f"{self.kind}, n = {self.n}, {self.budget}n permutations"


@dataclass
class Runs:
    """What a method found in one setting, game by game and repetition by repetition.

    Attributes
    ----------
    squares : for each game the mean squared errors over the providers, of each repetition
    shares : distinct evaluations over those of the permutations
    """

    squares: list[list[float]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Ratio:
    """Root mean squared error over that of permutations, and its standard error."""

    value: float
    error: float

    @staticmethod
    def of(runs: Runs, base: Runs) -> Ratio:
        """Average squared errors over those of permutations in the same game, then take roots."""
        means = [float(np.mean(own)) for own in base.squares]
        relative = [e / mean for own, mean in zip(runs.squares, means, strict=True) for e in own]
        value = float(np.mean(relative))
        if len(relative) < 2:
            return Ratio(value**0.5, float("nan"))
        spread = np.var(relative, ddof=1) / len(relative) / value**2
        of_base = [np.var(own, ddof=1) / len(own) / np.mean(own) ** 2 for own in base.squares]
        # A root has half the relative error.
        relative_error = np.sqrt(spread + np.mean(of_base) / len(means)) / 2
        return Ratio(value**0.5, float(value**0.5 * relative_error))

    def show(self) -> str:
        return f"{self.value:.2g} ± {self.error:.1g}"


class Results:
    """The runs of all methods in all settings."""

    def __init__(self) -> None:
        self._runs: dict[Setting, dict[str, Runs]] = {}

    def add(self, setting: Setting, method: str, squares: list[float], shares: list[float]) -> None:
        """Add the repetitions of a method on one more game."""
        runs = self._runs.setdefault(setting, {}).setdefault(method, Runs())
        runs.squares.append(squares)
        runs.shares.extend(shares)

    @property
    def settings(self) -> list[Setting]:
        return list(self._runs)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for runs in self._runs.values() for method in runs))

    def ratio(self, setting: Setting, method: str) -> Ratio | None:
        """Error of a method over that of permutations; None if it was not run."""
        runs = self._runs[setting]
        return Ratio.of(runs[method], runs[PERMUTATIONS]) if method in runs else None

    def rmses(self, setting: Setting) -> dict[str, float]:
        """Root mean squared errors of the methods, over games and repetitions."""
        return {
            method: float(np.sqrt(np.mean([np.mean(own) for own in runs.squares])))
            for method, runs in self._runs[setting].items()
        }

    def best_peer(self, setting: Setting) -> tuple[str, Ratio] | None:
        """The peer with the least error, if any was run."""
        found = {
            method: self.ratio(setting, method)
            for method in self._runs[setting]
            if method not in OURS
        }
        if not found:
            return None
        return min(found.items(), key=lambda item: item[1].value)

    def uneven(self) -> dict[str, float]:
        """Evaluations over those of permutations that are furthest from 1, if not equal."""
        worst: dict[str, float] = {}
        for runs in self._runs.values():
            for method, own in runs.items():
                share = float(np.mean(own.shares))
                if abs(share - 1) > max(SAME, abs(worst.get(method, 1.0) - 1)):
                    worst[method] = share
        return worst


def tables(results: Results, text: str) -> list[Table]:
    """The ratios of all methods, and their standard errors in per cent."""
    methods = [method for method in results.methods if method != PERMUTATIONS]
    rows = list(dict.fromkeys((setting.kind, setting.n) for setting in results.settings))

    def entries(kind: str, n: int, method: str, *, errors: bool) -> str:
        shown = []
        for setting in results.settings:
            if (setting.kind, setting.n) != (kind, n):
                continue
            ratio = results.ratio(setting, method)
            if ratio is None:
                return "not run"
            shown.append(
                f"{100 * ratio.error / ratio.value:.0f}" if errors else f"{ratio.value:.2g}"
            )
        return " / ".join(shown)

    def base(kind: str, n: int) -> str:
        settings = [s for s in results.settings if (s.kind, s.n) == (kind, n)]
        return " / ".join(number(results.rmses(setting)[PERMUTATIONS]) for setting in settings)

    return [
        Table(
            "Errors of solvers at equal evaluations",
            text,
            ("game", "n", f"{PERMUTATIONS}, RMSE", *methods),
            tuple(
                (kind, str(n), base(kind, n), *(entries(kind, n, m, errors=False) for m in methods))
                for kind, n in rows
            ),
        ),
        Table(
            "Standard errors of these ratios, in per cent",
            "From the spread over games and repetitions.",
            ("game", "n", *methods),
            tuple(
                (kind, str(n), *(entries(kind, n, method, errors=True) for method in methods))
                for kind, n in rows
            ),
        ),
    ]


def target_rows(results: Results, version: str | None) -> list[Row]:
    """The targets of `Strata`; those beside peers only with a version of shapiq."""
    rows = [_wine_row(results, kind) for kind in WINE]
    rows.append(_worst_row(results))
    if version:
        work = f"error of `Strata` over that of the best of shapiq {version}, "
        rows.append(_peer_row(results, work + "wine", 1.25, wine=True))
        rows.append(_peer_row(results, work + "other games", 1.6, wine=False))
    return rows


def _wine_row(results: Results, kind: str) -> Row:
    found = {
        setting.n: results.ratio(setting, STRATA)
        for setting in results.settings
        if setting.kind == kind and setting.budget == 5
    }
    worst = max(ratio.value for ratio in found.values())
    return Row(
        f"error of `Strata` on {kind}, with the evaluations of 5n permutations",
        "; ".join(f"n = {n}: {ratio.show()}" for n, ratio in found.items()),
        f"at most {number(worst)} of that of permutations",
        "at most 0.1",
        worst <= 0.1,
        "see the table of solvers.",
    )


def _worst_row(results: Results) -> Row:
    found = {setting: results.ratio(setting, STRATA) for setting in results.settings}
    worst = max(found, key=lambda setting: found[setting].value)
    above = [setting for setting, ratio in found.items() if ratio.value > 0.6]
    return Row(
        "error of `Strata` on any game with any number of evaluations",
        f"{len(found)} entries; the largest: {worst.show()}, {found[worst].show()}",
        f"at most {number(found[worst].value)} of that of permutations",
        "at most 0.6",
        not above,
        "above it: " + "; ".join(f"{s.show()}: {found[s].show()}" for s in above) + ".",
    )


def _peer_row(results: Results, work: str, allowed: float, *, wine: bool) -> Row:
    """The error of `Strata` over that of the best peer, where it is largest."""
    found = {}
    for setting in results.settings:
        best = results.best_peer(setting)
        if best and (setting.kind in WINE) == wine:
            method, ratio = best
            found[setting] = (results.ratio(setting, STRATA).value / ratio.value, method)
    worst = max(found, key=lambda setting: found[setting][0])
    behind = [setting for setting, (times, _) in found.items() if times > allowed]
    ahead = sum(times < 1 for times, _ in found.values())

    def show(setting: Setting) -> str:
        times, method = found[setting]
        return f"{setting.show()}: {times:.2f} × {method}"

    return Row(
        work,
        f"ahead in {ahead} of {len(found)} entries; the largest: {show(worst)}",
        f"at most {found[worst][0]:.2f} ×",
        f"at most {allowed} ×",
        not behind,
        "; ".join(show(setting) for setting in behind) + ".",
    )
