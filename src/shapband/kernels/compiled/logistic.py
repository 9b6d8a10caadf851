"""Scores of the logistic regressions of every coalition of providers.

A provider's summary has a row of label codes, NaN beyond its records, and a row for each feature.
A coalition's classes are the codes that occur in it; a coalition of one class predicts that class.

*Starts.* Newton's method starts from coefficients of larger coalitions. In a table, the fits of all
larger coalitions are known. If i, j and k are outside S, then
b(S) = b(S+i) + b(S+j) + b(S+k) - b(S+i+j) - b(S+i+k) - b(S+j+k) + b(S+i+j+k)
up to a third difference, which is small. Along a permutation the start is the fit of the next
larger prefix, and for chosen coalitions that of all providers. A coalition that lacks a class of
its game starts from the frequencies of its classes.

*Table.* Coalitions are solved in descending order of their masks, in blocks that share their
providers from LOW_BITS on, so that only the fits of one block are in memory.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import score_of, score_of_odds, score_room
from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.newton import fit, linear_forms, make_room, start_cold

LOW_BITS = 12


@njit(**OPTIONS)
def _distinct(codes):
    """The different codes of a game in ascending order."""
    found = np.unique(codes)
    last = found.shape[0]
    # NaN is sorted to the end.
    while last > 0 and np.isnan(found[last - 1]):
        last -= 1
    return found[:last]


@njit(**OPTIONS)
def _read_game(summary):
    """Codes of the classes, records of each provider in each class, class of each record."""
    n, _, most = summary.shape
    classes = _distinct(summary[:, 0].copy())
    tally = np.zeros((n, classes.shape[0]), np.int64)
    class_of = np.zeros((n, most), np.int64)
    for i in range(n):
        for r in range(most):
            if not np.isnan(summary[i, 0, r]):
                class_of[i, r] = np.searchsorted(classes, summary[i, 0, r])
                tally[i, class_of[i, r]] += 1
    return classes, tally, class_of


@njit(**OPTIONS)
def _gather(summary, game, inside, place, room):
    """Write the columns and classes of a coalition's records; `place` renumbers its classes."""
    _, tally, class_of = game
    columns, targets = room[0], room[1]
    n, p, _ = summary.shape
    filled = 0
    for i in range(n):
        if not inside[i]:
            continue
        count = tally[i].sum()
        for f in range(1, p):
            for r in range(count):
                columns[f, filled + r] = summary[i, f, r]
        for r in range(count):
            columns[0, filled + r] = 1.0
        for k in range(targets.shape[0]):
            for r in range(count):
                targets[k, filled + r] = 1.0 if place[class_of[i, r]] == k + 1 else 0.0
        filled += count
    for r in range(filled, (filled + LANES - 1) // LANES * LANES):
        columns[:, r] = 0.0
        targets[:, r] = 0.0
    return filled


@njit(**OPTIONS)
def _score(classes, place, beta, p, validation, codes, n_labels, score, room):
    """Score of a fit; `place` is negative for classes that the coalition does not have."""
    odds = room[1]
    flat = validation.reshape(-1)
    stride = validation.shape[1]
    if n_labels == 2 and classes.shape[0] == 2 and classes[0] == 0.0 and classes[1] == 1.0:
        linear_forms(flat, stride, stride, p, beta, 0, odds, 0)
        return score_of_odds(codes, score, room)
    rows = codes.shape[0]
    others = 0
    logits = np.full((n_labels + classes.shape[0], rows), -np.inf)
    for k in range(classes.shape[0]):
        if place[k] < 0:
            continue
        if classes[k] >= 0.0:
            at = int(classes[k])
        else:
            at = n_labels + others
            others += 1
        if place[k] == 0:
            logits[at] = 0.0
            continue
        linear_forms(flat, stride, stride, p, beta, (place[k] - 1) * p, odds, 0)
        for r in range(rows):
            logits[at, r] = odds[r]
    return score_of(logits[: n_labels + others], codes, n_labels, score, room)


@njit(**OPTIONS)
def _value(summary, game, inside, warm, beta, ridge, validation, codes, n_labels, score, rooms):
    """Score of one coalition; beta is its start if warm, and its fit if it has all classes.

    Returns the score, NaN without records, and whether beta has its fit.
    """
    classes, tally, _ = game
    fit_room, score_place = rooms
    p = summary.shape[1]
    place = np.full(classes.shape[0], -1, np.int64)
    present = 0
    for k in range(classes.shape[0]):
        for i in range(inside.shape[0]):
            if inside[i] and tally[i, k] > 0:
                place[k] = present
                present += 1
                break
    if present == 0:
        return np.nan, False
    complete = present == classes.shape[0]
    if present > 1:
        count = _gather(summary, game, inside, place, fit_room)
        if not (warm and complete):
            start_cold(count, p, present, fit_room, beta)
        fit(count, p, present, ridge, beta, fit_room)
    found = _score(classes, place, beta, p, validation, codes, n_labels, score, score_place)
    return found, complete and present > 1


@njit(**OPTIONS)
def _make_rooms(summary, game, codes):
    classes, tally, _ = game
    room = make_room(tally.sum(), summary.shape[1], max(classes.shape[0], 2))
    return room, score_room(codes)


@njit(**OPTIONS)
def _predict(found, mask, low, beta):
    """Start of a coalition from the fits of up to seven larger ones."""
    absent = np.empty(3, np.int64)
    count = 0
    for i in range(low):
        if not mask >> i & 1 and count < 3:
            absent[count] = 1 << i
            count += 1
    beta[:] = 0.0
    for part in range(1, 1 << count):
        larger, sign = mask, -1.0
        for i in range(count):
            if part >> i & 1:
                larger |= absent[i]
                sign = -sign
        for j in range(beta.shape[0]):
            beta[j] += sign * found[larger, j]


@njit(**OPTIONS)
def logistic_table(summaries, ridge, validation, codes, n_labels, score):
    """Scores (g, 2**n) of every coalition, by bitmask; NaN for the empty one."""
    games, n, p, _ = summaries.shape
    low = min(n, LOW_BITS)
    last = (1 << low) - 1
    table = np.empty((games, 1 << n))
    inside = np.zeros(n, np.uint8)
    for g in range(games):
        game = _read_game(summaries[g])
        rooms = _make_rooms(summaries[g], game, codes)
        size = (max(game[0].shape[0], 2) - 1) * p
        found = np.zeros((1 << low, size))
        tops = np.zeros((1 << (n - low), size))
        beta = np.zeros(size)
        for high in range((1 << (n - low)) - 1, -1, -1):
            for mask in range(last, -1, -1):
                coalition = high << low | mask
                for i in range(n):
                    inside[i] = coalition >> i & 1
                warm = coalition < (1 << n) - 1
                if mask < last:
                    _predict(found, mask, low, beta)
                elif warm:
                    # The lowest high provider outside the coalition.
                    beta[:] = tops[high | (high + 1)]
                table[g, coalition], fitted = _value(
                    summaries[g], game, inside, warm, beta, ridge, validation, codes, n_labels,
                    score, rooms,
                )
                if fitted:
                    found[mask] = beta
                    if mask == last:
                        tops[high] = beta
    return table


@njit(**OPTIONS)
def logistic_rows(summaries, ridge, validation, codes, n_labels, score, inside, of_game):
    """Scores (n_rows,) of coalitions given as rows of members; NaN without members."""
    _, n, p, _ = summaries.shape
    result = np.empty(inside.shape[0])
    everybody = np.ones(n, np.uint8)
    at = 0
    while at < inside.shape[0]:
        g = of_game[at]
        game = _read_game(summaries[g])
        rooms = _make_rooms(summaries[g], game, codes)
        size = (max(game[0].shape[0], 2) - 1) * p
        whole, beta = np.zeros(size), np.zeros(size)
        _value(
            summaries[g], game, everybody, False, whole, ridge, validation, codes, n_labels,
            score, rooms,
        )
        while at < inside.shape[0] and of_game[at] == g:
            beta[:] = whole
            result[at], _ = _value(
                summaries[g], game, inside[at], True, beta, ridge, validation, codes, n_labels,
                score, rooms,
            )
            at += 1
    return result


@njit(**OPTIONS)
def logistic_prefixes(summaries, ridge, validation, codes, n_labels, score, orders, first):
    """Scores (g, T, n) of every prefix of the orders; repeated sets are copied from `first`."""
    games, permutations, n = orders.shape
    p = summaries.shape[2]
    result = np.empty(orders.shape)
    inside = np.zeros(n, np.uint8)
    for g in range(games):
        game = _read_game(summaries[g])
        rooms = _make_rooms(summaries[g], game, codes)
        size = (max(game[0].shape[0], 2) - 1) * p
        whole, beta = np.zeros(size), np.zeros(size)
        for t in range(permutations):
            inside[:] = 1
            beta[:] = whole
            for k in range(n - 1, -1, -1):
                if k < n - 1:
                    inside[orders[g, t, k + 1]] = 0
                if first[g, t, k] != t:
                    result[g, t, k] = result[g, first[g, t, k], k]
                    continue
                warm = k < n - 1
                result[g, t, k], _ = _value(
                    summaries[g], game, inside, warm, beta, ridge, validation, codes, n_labels,
                    score, rooms,
                )
                if not warm:
                    whole[:] = beta
    return result
