"""The number of bootstrap records of each provider, from the variability of the pools."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_number, check_row, check_whole
from shapband.errors import InvalidInput
from shapband.records.batch import Batch

_NOTHING = 1e-300  # a sum of weights below this counts as 0, because dividing by it would overflow
_SAME_QUOTA = 9  # decimals to which remainders are compared, so that rounding errors break no ties


def allocate(scores: ArrayLike, n_pool: int, n_boot: int, alpha: float) -> IntArray:
    """Allocate ``n * n_boot`` records to n providers by their variability scores (Algorithm 4).

    Every provider gets the floor ``max(1, n_boot // 2)``. The rest is divided in proportion to
    the scores scaled to [0, 1], up to the cap ``max(floor, int(alpha * n_pool))``; what exceeds
    the cap goes to the others. The largest remainders are rounded up; ties go to the higher
    score, then to the earlier provider. Equal scores get `n_boot` each.

    Parameters
    ----------
    scores : (n,) finite numbers
    n_pool, n_boot, alpha : as in `Stratified`

    Returns
    -------
    (n,) integers that sum to ``n * n_boot``.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.theory.allocate([1.0, 2.0, 3.0], n_pool=250, n_boot=60, alpha=0.5).tolist()
    [30, 60, 90]
    """
    checked = check_row("allocate: scores", scores)
    if len(checked) == 0:
        raise InvalidInput("allocate: scores is empty: pass one number for each provider")
    check_whole("allocate: n_pool", n_pool, 1)
    check_whole("allocate: n_boot", n_boot, 1)
    floor, cap = allocation_bounds(n_pool, n_boot, alpha)
    n = len(checked)
    spread = np.ptp(checked)
    if spread == 0:
        return np.full(n, n_boot, dtype=np.int64)
    scaled = (checked - checked.min()) / spread
    quotas = floor + _share_out(scaled, float(n * (n_boot - floor)), float(cap - floor))
    return _round_to_total(quotas, scaled, n * n_boot)


def allocation_bounds(n_pool: int, n_boot: int, alpha: float) -> tuple[int, int]:
    """Return floor and cap of an allocation, after checking that the cap allows the total."""
    if not 0 < check_number("alpha", alpha, " in (0, 1]") <= 1:
        raise InvalidInput(f"alpha must lie in (0, 1]; received {alpha!r}")
    floor = max(1, n_boot // 2)
    cap = max(floor, math.floor(alpha * n_pool))
    if cap < n_boot:
        raise InvalidInput(
            f"the cap of {cap} records per provider (alpha={alpha} of n_pool={n_pool}) is below "
            f"n_boot={n_boot}, so the total cannot be allocated: raise alpha or n_pool, or lower "
            "n_boot"
        )
    return floor, cap


def variability_scores(pools: Sequence[Batch]) -> FloatArray:
    """Sum each pool's feature variances, in units of the variances over all pools.

    Features that are constant over all pools, and columns that are not numeric, are left out.
    If no feature is left, all scores are 0.
    """
    tables = [_numeric_columns(pool) for pool in pools]
    together = np.concatenate(tables)
    overall = _variances(together)
    kept = overall > 0
    scores = [np.sum(_variances(table)[kept] / overall[kept]) for table in tables]
    return np.array(scores, dtype=np.float64)


def _variances(table: FloatArray) -> FloatArray:
    """Variance of every column over its non-missing values; exactly 0 if they are all equal."""
    there = ~np.isnan(table)
    count = np.maximum(there.sum(axis=0), 1)
    deviations = table - np.where(there, table, 0.0).sum(axis=0) / count
    spread = np.where(there, deviations, 0.0)
    # Rounding makes the computed variance of a constant column slightly positive.
    low = np.where(there, table, np.inf).min(axis=0, initial=np.inf)
    high = np.where(there, table, -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray(np.where(high > low, (spread**2).sum(axis=0) / count, 0.0))


def _numeric_columns(pool: Batch) -> FloatArray:
    if not pool.is_frame:
        return pool.numeric()
    import narwhals as nw

    frame = nw.from_native(pool.X, eager_only=True)
    columns = [
        frame[name].cast(nw.Float64).to_numpy()
        for name in frame.columns
        if frame[name].dtype.is_numeric()
    ]
    return np.column_stack(columns) if columns else np.empty((len(pool), 0))


def _share_out(weights: FloatArray, total: float, cap: float) -> FloatArray:
    """Divide `total` in proportion to the weights, with no share above `cap`."""
    shares = np.zeros_like(weights)
    open_ = np.ones(len(weights), dtype=bool)
    rest = total
    while rest > 0 and open_.any():
        pull = np.where(open_, weights, 0.0)
        if pull.sum() < _NOTHING:  # only providers with the lowest score are left
            pull = open_.astype(np.float64)
        proposal = pull * (rest / pull.sum())
        over = open_ & (proposal >= cap)
        if not over.any():
            return np.where(open_, proposal, shares)
        shares[over] = cap
        open_ &= ~over
        rest = total - shares.sum()
    return shares


def _round_to_total(quotas: FloatArray, scores: FloatArray, total: int) -> IntArray:
    """Round down, then add the missing records to the largest remainders."""
    rounded = np.round(quotas, _SAME_QUOTA)
    whole = np.floor(rounded).astype(np.int64)
    remainders = np.round(rounded - whole, _SAME_QUOTA)
    first = np.lexsort((np.arange(len(quotas)), -scores, -remainders))
    whole[first[: total - int(whole.sum())]] += 1
    return whole
