"""Table IV: the additive game with up to 1,000 providers, at equal source records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

import shapband as sb
from reproduction import paper
from reproduction.claims import Row, evaluate, percent
from reproduction.experiment import Cell, Experiment, Findings, Record, replication_seeds
from reproduction.figures import draw_scalability
from reproduction.frames import against, groups_of, rows_of, select, stack
from reproduction.laws import BLOCK_GAMES, FRESH_GAMES, LOCAL_GAMES, POOL, TARGET, Source, predicted
from reproduction.metrics import FloatArray, Measured, paired_interval
from reproduction.paper import MAE_E, MAE_VAR, VAR_E, VAR_VAR

_METHODS = {
    "baseline": (sb.Fresh(TARGET), FRESH_GAMES),
    "pooled": (sb.Pooled(POOL, TARGET), LOCAL_GAMES),
    "stratified": (sb.Stratified(POOL, TARGET, alpha=0.5), LOCAL_GAMES),
    "blocks": (sb.Pooled(POOL, TARGET, replace=False), BLOCK_GAMES),
}
_LOCAL = ("pooled", "stratified")
_SOURCE_SEED = 5000  # of the fixed sources, which are the same in every run
_SOURCE_SIZE = 5000


@dataclass(frozen=True)
class Scalability(Experiment):
    """Accuracy and stability of all methods, with exact references, at any number of providers."""

    name = "scalability"
    title = "Up to 1,000 providers"
    where = "Table IV, Section IV-F, third part"

    replications: int = 10
    players: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000)

    def cells(self, seed: int) -> list[Cell]:
        """One cell for each number of providers, method and replication."""
        return [
            {"kind": "scalability", "n": n, "method": method, "seed": one}
            for n in self.players
            for method in _METHODS
            for one in replication_seeds(seed, self.replications)
        ]

    def measure(self, cell: Cell) -> list[Record]:
        sampling, games = _METHODS[cell["method"]]
        valuation = sb.value(
            _providers(cell["n"]),
            sb.AdditiveUtility(),
            sampling=sampling,
            solver=sb.Permutation(4),
            n_games=games,
            seed=cell["seed"],
            chunk_size=games,  # a game needs one number per provider; the default counts draws, too
            progress=False,
        )
        expectation, variance = valuation.expectation, _at_target(valuation, cell["method"])
        source = source_of(cell["n"])
        return [
            {
                "expectation": expectation.tolist(),
                "variance": variance.tolist(),
                MAE_E: float(np.abs(expectation - source.mean).mean()),  # Eq. (20)
                MAE_VAR: float(np.abs(variance - source.value_variance).mean()),  # Eq. (21)
                "draw_sizes": valuation.draw_sizes.tolist(),
                "records": valuation.access.records,
                "requests": valuation.access.requests,
                "evaluations": valuation.evaluations,
            }
        ]

    def conclude(self, frame: pd.DataFrame) -> Findings:
        table = metrics(frame)
        local = table[table.method.isin(_LOCAL)]
        pairs = against(select(table, method="baseline"), local, on=["metric", "n"])
        return Findings(
            claims=[
                *_claims(frame, table, pairs),
                *_reductions(pairs),
                *_interval(frame),
                *_counts(frame),
            ],
            table=_table(table),
            beyond=_beyond(table),
            notes=[
                f"{self.replications} replications, as in the paper. Sources of 5,000 Gaussian "
                "records, drawn from with replacement, the same in all replications; they are not "
                "the paper's, so numbers at 10 providers differ by the luck of the sources.",
                "Sampling errors are those of theory: providers are independent here.",
            ],
            data=table,
            figure=draw_scalability(table),
            caption="Points: ours, with one sampling error. Lines: theory; at few providers it "
            "depends on the luck of the sources. All methods take 512 records per provider.",
        )


@cache
def _records(n: int) -> FloatArray:
    """The fixed sources: (n, 5000) Gaussian records, widths in random order."""
    rng = np.random.default_rng([_SOURCE_SEED, n])
    means = np.linspace(-3, 3, n)
    widths = rng.permutation(np.geomspace(0.1, 2.0, n))
    return rng.normal(means[:, None], widths[:, None], (n, _SOURCE_SIZE))


@cache
def source_of(n: int) -> Source:
    """Exact moments of the sources."""
    records = _records(n)
    centred = records - records.mean(axis=1, keepdims=True)
    return Source(records.mean(axis=1), (centred**2).mean(axis=1), (centred**4).mean(axis=1))


def _providers(n: int) -> list[sb.Provider]:
    return [
        sb.Provider(f"provider {i:04d}", sb.ArraySource(row[:, None], row, replace=True))
        for i, row in enumerate(_records(n))
    ]


def _at_target(valuation: sb.Valuation, method: str) -> FloatArray:
    """The variance estimate, scaled to draws of 128 records from the source."""
    variance = valuation.raw_variance
    if method not in _LOCAL or valuation.pool_sizes is None:
        return variance
    corrected = sb.theory.finite_pool_correction(variance, valuation.pool_sizes)
    return sb.theory.normalise_draw_size(corrected, valuation.draw_sizes, TARGET)


def metrics(frame: pd.DataFrame) -> pd.DataFrame:
    """The four metrics of every method at every number of providers.

    `error` is the sampling error of `ours` by theory.
    """
    rows = []
    for (n, method), found in groups_of(frame, ["n", "method"]):
        sizes = 1 / (1 / stack(found, "draw_sizes")).mean(axis=0)
        ours = {
            VAR_E: stack(found, "expectation").var(axis=0, ddof=1).mean(),
            VAR_VAR: stack(found, "variance").var(axis=0, ddof=1).mean(),
            MAE_E: found[MAE_E].mean(),
            MAE_VAR: found[MAE_VAR].mean(),
        }
        for metric, law in predicted(source_of(n), method, sizes, len(found)).items():
            numbers = {"ours": float(ours[metric]), "theory": law.value, "error": law.error}
            rows.append({"n": n, "method": method, "metric": metric, **numbers})
    return pd.DataFrame(rows)


def _claims(frame: pd.DataFrame, table: pd.DataFrame, pairs: pd.DataFrame) -> list[Row]:
    off = (table.ours - table.theory).abs() / table.error
    papers = table.method != "blocks"
    ends = (select(table[papers], n=n) for n in (table.n.min(), table.n.max()))
    errors, variances = (select(pairs, metric=metric) for metric in (MAE_E, VAR_E))
    intervals = [paired_interval(ours - base) for base, ours in _paired(frame, MAE_E)]
    return evaluate(
        "scalability.claims",
        numbers=table.n.nunique(),
        off=off.max(),
        checked=len(off),
        least=table.n.min(),
        most=table.n.max(),
        growth=against(*ends, on=["method", "metric"]).ratio,
        largest_gap=errors.saved.abs().max(),
        gaps_theory=np.sqrt(variances.ratio_theory) - 1,
        off_in_expectation=off[papers & (table.metric == MAE_E)].max(),
        with_zero=sum(low <= 0 <= high for low, high in intervals),
        pairs=len(intervals),
        ratios=variances.ratio,
        ratios_theory=variances.ratio_theory,
    )


def _paired(frame: pd.DataFrame, metric: str) -> list[tuple[FloatArray, FloatArray]]:
    """Mean absolute errors of all replications: the baseline's and those of each local method."""
    by_setting = {
        key: rows[metric].to_numpy(dtype=float) for key, rows in frame.groupby(["n", "method"])
    }
    return [
        (by_setting[n, "baseline"], by_setting[n, method])
        for n in frame.n.unique()
        for method in _LOCAL
    ]


def _reductions(pairs: pd.DataFrame) -> list[Row]:
    rows = []
    for (method, metric), (low, high) in paper.SCALABILITY_REDUCTIONS.items():
        found = select(pairs, method=method, metric=metric)
        rows += evaluate(
            "scalability.reduction",
            method=method,
            metric=metric,
            low=low,
            high=high,
            numbers=len(found),
            found=found,
        )
    return rows


def _interval(frame: pd.DataFrame) -> list[Row]:
    ends = [paired_interval(base - ours)[0] for base, ours in _paired(frame, MAE_VAR)]
    facts = {"clear": sum(end > 0 for end in ends), "pairs": len(ends), "lowest_end": min(ends)}
    return evaluate("scalability.interval", **facts)


def _counts(frame: pd.DataFrame) -> list[Row]:
    """Records, requests, draw sizes and evaluations, per provider where they grow with n."""
    first = frame[frame.method != "blocks"].groupby(["method", "n"], as_index=False).first()
    fresh, pooled = (select(first, method=m).set_index("n") for m in ("baseline", "pooled"))
    allocated = [np.array(sizes) for sizes in select(frame, method="stratified").draw_sizes]
    whole = all(sizes.sum() == TARGET * len(sizes) for sizes in allocated)
    return evaluate(
        "scalability.counts",
        records=", ".join(str(one) for one in sorted(set(first.records // first.n))),
        fewer=1 - pooled.requests / fresh.requests,
        requests_as_told=all(fresh.requests == 4 * fresh.index)
        and all(pooled.requests == pooled.index),
        sizes=np.concatenate(allocated),
        sums="128 n" if whole else "another sum",
        fresh_cost=fresh.evaluations / fresh.index,
        pooled_cost=pooled.evaluations / pooled.index,
    )


def _table(table: pd.DataFrame) -> list[Row]:
    """Compare every number of Table IV with ours."""
    rows = []
    for found in rows_of(paper.SCALABILITY.merge(table, on=["n", "method", "metric"])):
        # Both runs vary around the theory of their own sources, which differ at small n.
        near = abs(found.theirs - found.ours) <= 3 * np.sqrt(2) * found.error
        rows += evaluate(
            "scalability.table",
            **found._asdict() | {"theory": Measured(found.theory, found.error)},
            near=near,
            times=found.theirs / found.ours,
            remark="" if near else "; the sources are not the paper's",
        )
    return rows


def _beyond(table: pd.DataFrame) -> list[Row]:
    """Compare disjoint blocks of the same pools with pooled games."""
    pooled, blocks = (select(table, method=method) for method in ("pooled", "blocks"))
    rows = []
    for metric, found in against(pooled, blocks, on=["metric", "n"]).groupby("metric", sort=False):
        change = {"ours": _change(found.saved), "theory": _change(found.saved_theory)}
        facts = {"metric": metric, "saved_theory": found.saved_theory, **change}
        rows += evaluate("scalability.blocks", **facts)
    return rows


def _change(saved: pd.Series[float]) -> str:
    """Return reductions as text: "lower", or "higher" if all are negative."""
    return f"{percent(-saved)} higher" if saved.max() < 0 else f"{percent(saved)} lower"
