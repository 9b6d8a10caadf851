"""Losses of many, or of weighted, nearest neighbours of coalitions, from their neighbour lists.

At one validation point the records of all providers are sorted once, and a record is represented by
its rank. A provider is the set of its records' ranks, stored as the bits of a few words. A
coalition is the union of its members' sets, and its k nearest records are the k lowest bits. So the
work grows with k and not with its square.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from shapband.kernels.compiled.class_scores import TIE
from shapband.kernels.compiled.neighbor_blocks import (
    OPTIONS,
    block_width,
    loss_of,
    rank_records,
    records_held,
)

_WORD = 64


@intrinsic
def _lowest_bit(typingctx, word):
    """Position of the lowest set bit of a nonzero word."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def _bits(typingctx, word):
    """Number of set bits of a word."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


def neighbor_losses(summary, walk, n_rows, y_val, classify, k, weighted):
    """Return the losses of coalitions of one game, and how many neighbours they have: (n_rows,).

    Parameters
    ----------
    summary : (n, 2, length, m) neighbour lists, whose length is k or all records of a draw
    walk : the coalitions, see `shapband.kernels.walks.Walk`; the loss of all others is 0
    weighted : whether neighbours count by the inverse of their distance
    """
    return _losses(summary, *walk, n_rows, y_val, classify, k, weighted)


@njit(**OPTIONS)
def _losses(summary, sizes, joins, rows, n_rows, y_val, classify, k, weighted):
    n, _, length, m = summary.shape
    held = records_held(summary)
    width = block_width(m)
    ranks = np.empty((n * length, width), np.int32)
    targets, factors = np.zeros((width, n * length + 1)), np.zeros((width, n * length))
    words = (n * length + _WORD - 1) // _WORD
    sets, union = np.zeros((n, width, words), np.uint64), np.zeros((width, words), np.uint64)
    members = np.empty(n, np.int64)
    prediction, near = np.zeros(width), np.zeros(min(n * length, k))
    loss, found = np.zeros(n_rows), np.zeros(n_rows, np.int64)
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        rank_records(summary, start, truth.size, ranks, targets)
        _fill_sets(summary, start, truth.size, held, ranks, sets, factors)
        labels = _different(targets, truth.size) if classify else np.zeros(0)
        voters = _voters(targets, truth.size, labels, words)
        votes = np.empty(labels.size)
        for step in range(sizes.size):
            size, row = sizes[step], rows[step]
            members[size] = joins[step]
            if row < 0:
                continue
            # Sets of all members are united anew: to keep unions would take more memory than the
            # cache holds, and reading it would take longer.
            found[row] = min(_unite(sets, members[: size + 1], held, union), k)
            if found[row] == 0:
                continue
            for p in range(truth.size):
                used = _keep_lowest(union[p], found[row])
                nearest = union[p, :used]
                if weighted and classify:
                    prediction[p] = _weighted_vote(nearest, voters[p], factors[p], labels, votes)
                elif weighted:
                    prediction[p] = _weighted_mean(nearest, targets[p], factors[p])
                elif classify:
                    prediction[p] = _vote(nearest, voters[p], labels)
                else:
                    prediction[p] = _sum(nearest, targets[p], near)
            divisor = 1.0 if weighted else float(found[row])
            loss[row] += loss_of(prediction, divisor, truth, classify)
    loss /= m
    return loss, found


@njit(**OPTIONS)
def _fill_sets(summary, start, block, held, ranks, sets, factors):
    """Write the ranks of every provider's records as bits, and the inverse distances by rank."""
    n, _, length, _ = summary.shape
    sets[:] = 0
    for i in range(n):
        for r in range(held[i]):
            for p in range(block):
                rank = ranks[i * length + r, p]
                sets[i, p, rank // _WORD] |= np.uint64(1) << np.uint64(rank % _WORD)
                factors[p, rank] = 1.0 / np.sqrt(summary[i, 0, r, start + p])


@njit(**OPTIONS)
def _different(targets, block):
    """The different labels of a block, in ascending order."""
    labels, count = np.empty(16), 0
    for p in range(block):
        for target in targets[p]:
            place = 0
            while place < count and labels[place] != target:
                place += 1
            if place == count:
                if count == labels.size:
                    labels = np.concatenate((labels, np.empty(count)))
                labels[count] = target
                count += 1
    return np.sort(labels[:count])


@njit(**OPTIONS)
def _voters(targets, block, labels, words):
    """The sets of ranks with each label: (block, n_labels, words)."""
    voters = np.zeros((block, labels.size, words), np.uint64)
    if labels.size:
        for p in range(block):
            for rank in range(targets.shape[1] - 1):
                place = np.searchsorted(labels, targets[p, rank])
                voters[p, place, rank // _WORD] |= np.uint64(1) << np.uint64(rank % _WORD)
    return voters


@njit(**OPTIONS)
def _unite(sets, members, held, union):
    """Write the union of the members' sets; return the number of their records."""
    found = 0
    union[:] = 0
    flat = union.ravel()
    for i in members:
        found += held[i]
        _add_set(sets[i].ravel(), flat)
    return found


@njit(**OPTIONS)
def _add_set(own, union):
    for w in range(union.size):
        union[w] |= own[w]


@njit(**OPTIONS)
def _keep_lowest(words, count):
    """Remove all but the `count` lowest set bits; return how many words hold them."""
    for w in range(words.size):
        here = _bits(words[w])
        if here >= count:
            rest = words[w]
            for _ in range(count):
                rest &= rest - np.uint64(1)
            words[w] ^= rest
            return w + 1
        count -= here
    return words.size


@njit(**OPTIONS)
def _sum(words, targets, near):
    """Sum of the targets of the ranks in a set, in pairs as in `neighbors`."""
    count = 0
    for w in range(words.size):
        word = words[w]
        while word:
            near[count] = targets[w * _WORD + _lowest_bit(word)]
            word &= word - np.uint64(1)
            count += 1
    total = 0.0
    for r in range(0, count - 1, 2):
        total += near[r] + near[r + 1]
    return total + near[count - 1] if count % 2 else total


@njit(**OPTIONS)
def _weighted_mean(words, targets, factors):
    """Mean of the targets of a set by inverse distance; records at distance 0 decide alone."""
    total, weights = 0.0, 0.0
    decided = _decided(words, factors)
    for w in range(words.size):
        word = words[w]
        while word:
            rank = w * _WORD + _lowest_bit(word)
            word &= word - np.uint64(1)
            factor = factors[rank]
            if decided:
                factor = 1.0 if factor == np.inf else 0.0
            total += factor * targets[rank]
            weights += factor
    return total / weights


@njit(**OPTIONS)
def _vote(words, voters, labels):
    """Label with the most votes in a set; the smallest label in a tie."""
    best, most = 0, -1
    for c in range(labels.size):
        votes = 0
        for w in range(words.size):
            votes += _bits(words[w] & voters[c, w])
        if votes > most:
            best, most = c, votes
    return labels[best]


@njit(**OPTIONS)
def _weighted_vote(words, voters, factors, labels, votes):
    """Label with the largest sum of inverse distances; the smallest label in a tie.

    Sums that differ only by rounding are tied. Records at distance 0 decide alone.
    """
    most = 0.0
    decided = _decided(words, factors)
    for c in range(labels.size):
        votes[c] = 0.0
        for w in range(words.size):
            word = words[w] & voters[c, w]
            while word:
                factor = factors[w * _WORD + _lowest_bit(word)]
                word &= word - np.uint64(1)
                if decided:
                    votes[c] += factor == np.inf
                else:
                    votes[c] += factor
        most = max(most, votes[c])
    best = 0
    while votes[best] < (1.0 - TIE) * most:
        best += 1
    return labels[best]


@njit(**OPTIONS)
def _decided(words, factors):
    """Whether the nearest record of a set is at distance 0."""
    for w in range(words.size):
        if words[w]:
            return factors[w * _WORD + _lowest_bit(words[w])] == np.inf
    return False
