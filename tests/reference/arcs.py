"""Values from arcs of circles, with plain loops and a library's least squares."""

import numpy as np

from shapband._typing import FloatArray, IntArray


def solve_arcs(
    orders: IntArray,
    sizes: IntArray,
    values: FloatArray,
    rows: IntArray,
    whole: FloatArray,
    empty: float,
    weights: FloatArray,
    sums: FloatArray,
    ends: tuple[float, float],
    efficient: bool,
) -> FloatArray:
    """Values and noise of games: (2, g, n)."""
    solved = []
    for g in range(len(orders)):
        n = orders.shape[2]
        single, without = np.empty(n), np.empty(n)
        single[orders[g, 0]] = values[rows[g, 0, -2]]
        without[np.roll(orders[g, 0], 1)] = values[rows[g, 0, -1]]
        known = single, without, single - empty, whole[g] - without
        joinings = [
            _joinings(order, chosen, values, places, known, weights)
            for order, chosen, places in zip(orders[g], sizes[g], rows[g], strict=True)
        ]
        found = np.empty(orders[g].shape)
        for r in range(len(orders[g])):
            features, response, weight, owners = joinings[r]
            coefficients = _fitted([one for at, one in enumerate(joinings) if at != r])
            residuals = weight * (response - features @ coefficients)
            total = np.bincount(owners, weights=residuals, minlength=n)
            constant, of_first, of_last = coefficients[2:].reshape(3, 3) @ sums
            total += constant + of_first * known[2] + of_last * known[3]
            total += ends[0] * known[2] + ends[1] * known[3]
            if efficient:
                total += (whole[g] - empty - total.sum()) / n
            found[r] = total
        solved.append([found.mean(axis=0), found.var(axis=0, ddof=1) / len(found)])
    return np.array(solved).transpose(1, 0, 2)


def _joinings(order, sizes, values, rows, known, weights):
    """Features (m, 11), what is explained (m,), its weight and the providers, circle by circle."""
    single, without, first, last = known
    n, count = len(order), len(sizes)

    def arcs(size, row):
        """The value of the arc of each set of positions that is an arc."""
        if size == 1:
            return single[order]
        if size == n - 1:
            return without[np.roll(order, 1)]
        return values[row]

    features, response, weight, owners = [], [], [], []
    for k, size in enumerate(sizes):
        if size == 0:
            continue
        before, joined = arcs(size, rows[k]), arcs(size + 1, rows[count + k])
        for p in range(n):
            others = [start for start in range(n) if (p - start) % n >= size]
            mean = before[others].mean()
            excess = (before[(p + 1) % n] + before[p - size]) / 2 - mean
            basis = np.array([1.0, 1 / (size + 1), size / n])
            i = order[p]
            features.append(
                [*(basis[:2] * excess), *basis, *(basis * first[i]), *(basis * last[i])]
            )
            response.append((joined[p] + joined[p - size]) / 2 - mean)
            weight.append(weights[size])
            owners.append(i)
    return np.array(features), np.array(response), np.array(weight), np.array(owners)


def _fitted(joinings):
    features = np.concatenate([weight[:, None] * one for one, _, weight, _ in joinings])
    response = np.concatenate([weight * one for _, one, weight, _ in joinings])
    length = np.sqrt((features**2).sum(axis=0))
    safe = np.where(length > 0, length, 1.0)
    ridge = np.sqrt(1e-6) * np.eye(features.shape[1])
    rows = np.concatenate([features / safe, ridge])
    target = np.concatenate([response, np.zeros(features.shape[1])])
    return np.linalg.lstsq(rows, target, rcond=None)[0] / safe
