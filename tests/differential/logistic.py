"""Logistic regression at its optimum: in float64, and in 60 digits.

Both minimise the sum of the log losses plus the squared coefficients over 2 C by Newton's method.
The float64 one has coefficients for every class, as scikit-learn; the exact one has differences to
the first class, so that they share no formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np

from shapband._typing import AnyArray, FloatArray
from tests.differential.exact import Matrix

MOST_STEPS = 1000
MOST_EXACT_STEPS = 1500  # logits grow by about 1 in a step, up to 700 at the weakest penalties


def logistic(
    X: FloatArray, class_of: AnyArray, n_classes: int, rows: FloatArray, *, C: float
) -> FloatArray:
    """Logits (n_rows, n_classes) in float64; NaN if the optimum was not found."""
    held, place = np.unique(class_of, return_inverse=True)
    logits = np.full((len(rows), n_classes), -np.inf)
    logits[:, held] = 0.0
    vary = np.ptp(X, axis=0) > 0
    if len(held) == 1:
        return logits
    middle = X.mean(axis=0)
    spread = np.where(vary, np.abs(X - middle).max(axis=0), 1.0)
    Z = ((X - middle) / spread)[:, vary]
    # For two classes scikit-learn penalises their difference, which is 2 w for -w and w.
    share = 2.0 if len(held) == 2 else 1.0
    ridge = share / C / spread[vary] ** 2
    weights, intercepts = _minimise(Z, np.eye(len(held))[place], ridge)
    logits[:, held] = ((rows - middle) / spread)[:, vary] @ weights + intercepts
    return logits


def _minimise(Z: FloatArray, true: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (d, K) and intercepts (K,), the first of which is 0."""
    n, d = Z.shape
    K = true.shape[1]
    penalty = np.repeat(ridge, K)
    beta = np.concatenate([np.zeros(d * K), np.log(true.sum(axis=0)[1:] / true.sum(axis=0)[0])])
    # Column (f, k) of a record's design is z_f for class k; the last K - 1 are intercepts.
    design = np.zeros((n, K, d * K + K - 1))
    for k in range(K):
        design[:, k, k : d * K : K] = Z
        if k:
            design[:, k, d * K + k - 1] = 1.0

    def objective(b: FloatArray) -> float:
        eta = design @ b
        top = eta.max(axis=1)
        logs = np.log(np.exp(eta - top[:, None]).sum(axis=1)) + top
        loss = (logs - (eta * true).sum(axis=1)).sum()
        return float(loss + 0.5 * (penalty * b[: d * K] ** 2).sum())

    for _ in range(MOST_STEPS):
        eta = design @ beta
        p = np.exp(eta - eta.max(axis=1)[:, None])
        p /= p.sum(axis=1)[:, None]
        # 1 - p of the true class as the sum of the others, which may be as small as 1e-300.
        others = np.where(true > 0, 0.0, p).sum(axis=1)
        errors = np.where(true > 0, -others[:, None], p)
        gradient = np.einsum("nk,nkj->j", errors, design)
        gradient[: d * K] += penalty * beta[: d * K]
        half = design - np.einsum("nk,nkj->nj", p, design)[:, None]
        root = (np.sqrt(p)[:, :, None] * half).reshape(n * K, -1)
        hessian = root.T @ root
        hessian[np.diag_indices(d * K)] += penalty
        unit = 1.0 / np.sqrt(np.diag(hessian))
        if not np.isfinite(unit).all():
            break
        step = -unit * np.linalg.lstsq(hessian * np.outer(unit, unit), unit * gradient)[0]
        change = np.ptp(design @ step, axis=1).max()
        if not np.isfinite(change):
            break
        share, before = min(1.0, 1e8 / max(change, 1e-9)), objective(beta)
        while share * change > 0.5 and objective(beta + share * step) > before:
            share /= 2
        beta = beta + share * step
        if change < 1e-7:  # the error of the last step is about the square of its change
            return beta[: d * K].reshape(d, K), np.concatenate([[0.0], beta[d * K :]])
    return np.full((d, K), np.nan), np.full(K, np.nan)


def exact_logistic(
    X: Matrix, class_of: Sequence[int], n_classes: int, rows: Matrix, *, C: float
) -> Matrix:
    """Logits of the optimum: logits[row][class]."""
    held = sorted(set(class_of))
    logits: Matrix = [[-mp.inf] * n_classes for _ in rows]
    d = len(rows[0])
    vary = [f for f in range(d) if any(x[f] != X[0][f] for x in X)]
    middle = [mp.fsum(x[f] for x in X) / len(X) for f in vary]
    spread = [max(abs(x[f] - m) for x in X) for f, m in zip(vary, middle, strict=True)]

    def standard(one: Sequence[Any]) -> list[Any]:
        return [mp.mpf(1)] + [
            (one[f] - m) / s for f, m, s in zip(vary, middle, spread, strict=True)
        ]

    ridge = [1 / (mp.mpf(C) * s * s) for s in spread]
    Z, place = [standard(x) for x in X], [held.index(c) for c in class_of]
    # A weak penalty alone decides between dependent features, so its digits must be there, too.
    weak = max([0, *(-mp.log10(r) for r in ridge)])
    with mp.extradps(int(1.5 * weak)):
        beta = _exact_minimum(Z, place, len(held), ridge, _float_start(Z, place, len(held), ridge))
    for r, row in enumerate(rows):
        z = standard(row)
        for k, c in enumerate(held):
            logits[r][c] = (
                mp.fsum(a * b for a, b in zip(beta[k - 1], z, strict=True)) if k else mp.mpf(0)
            )
    return logits


def _float_start(Z: Matrix, place: Sequence[int], K: int, ridge: Sequence[Any]) -> Matrix:
    """The optimum in float64, or else the logits of the class frequencies."""
    floats = np.array([[float(z) for z in row[1:]] for row in Z]).reshape(len(Z), -1)
    share = 2.0 if K == 2 else 1.0
    with np.errstate(all="ignore"):
        weights, intercepts = _minimise(
            floats, np.eye(K)[list(place)], share * np.array([float(r) for r in ridge])
        )
    if np.isfinite(weights).all():
        found = np.column_stack([intercepts, weights.T])
        return [[mp.mpf(float(b)) for b in row] for row in found[1:] - found[0]]
    counts = [place.count(k) for k in range(K)]
    logs = [mp.log(mp.mpf(count) / counts[0]) for count in counts]
    return [[log] + [mp.mpf(0)] * len(ridge) for log in logs[1:]]


def _exact_minimum(
    Z: Matrix, place: Sequence[int], K: int, ridge: Sequence[Any], beta: Matrix
) -> Matrix:
    """Coefficients of classes 1 .. K - 1, the intercept first, as differences to class 0."""
    p, free = len(Z[0]), K - 1
    if free == 0:
        return beta
    # With three classes or more, sum_k |w_k|² is least if the w_k sum to 0 for each feature.
    together = mp.mpf(0) if K == 2 else 1 / mp.mpf(K)

    def forms(b: Matrix) -> Matrix:
        return [[mp.mpf(0)] + [mp.fdot(row, z) for row in b] for z in Z]

    def objective(b: Matrix, eta: Matrix) -> Any:
        loss = mp.fsum(
            mp.log(mp.fsum(mp.exp(e) for e in row)) - row[k]
            for row, k in zip(eta, place, strict=True)
        )
        for f, r in enumerate(ridge, start=1):
            own = [row[f] for row in b]
            loss += r * (mp.fsum(w * w for w in own) - together * mp.fsum(own) ** 2) / 2
        return loss

    for _ in range(MOST_EXACT_STEPS):
        eta = forms(beta)
        chances = []
        for row in eta:
            top = max(row)
            parts = [mp.exp(e - top) for e in row]
            chances.append([part / mp.fsum(parts) for part in parts])
        gradient, hessian = mp.matrix(free * p, 1), mp.matrix(free * p)
        for k in range(free):
            for i in range(p):
                gradient[k * p + i] = mp.fsum(
                    (c[k + 1] - (t == k + 1)) * z[i]
                    for c, z, t in zip(chances, Z, place, strict=True)
                )
                if i:
                    all_of = mp.fsum(beta[m][i] for m in range(free))
                    gradient[k * p + i] += ridge[i - 1] * (beta[k][i] - together * all_of)
            for m in range(k, free):
                weight = [c[k + 1] * ((k == m) - c[m + 1]) for c in chances]
                for i in range(p):
                    weighted = [w * z[i] for w, z in zip(weight, Z, strict=True)]
                    for j in range(i, p):
                        entry = mp.fsum(w * z[j] for w, z in zip(weighted, Z, strict=True))
                        if i == j and i:
                            entry += ridge[i - 1] * ((k == m) - together)
                        for a, b in ((k * p + i, m * p + j), (k * p + j, m * p + i)):
                            hessian[a, b] = hessian[b, a] = entry
        unit = [1 / mp.sqrt(hessian[i, i]) for i in range(free * p)]
        for i in range(free * p):
            gradient[i] *= -unit[i]
            for j in range(free * p):
                hessian[i, j] *= unit[i] * unit[j]
        step = mp.lu_solve(hessian, gradient)
        moves = [[step[k * p + i] * unit[k * p + i] for i in range(p)] for k in range(free)]
        change = max(max(row) - min(row) for row in forms(moves))
        share, before = min(mp.mpf(1), 10**8 / max(change, mp.mpf(1))), objective(beta, eta)
        while share * change > 0.5:
            tried = _plus(beta, moves, share)
            if objective(tried, forms(tried)) <= before:
                break
            share /= 2
        beta = _plus(beta, moves, share)
        if change < mp.mpf("1e-16"):
            return beta
    raise ArithmeticError("the exact optimum was not found")


def _plus(beta: Matrix, moves: Matrix, share: Any) -> Matrix:
    return [
        [b + share * m for b, m in zip(row, move, strict=True)]
        for row, move in zip(beta, moves, strict=True)
    ]
