"""Gram matrices of standardised records, packed: the summaries of least squares.

A summary is the lower triangle of Z'Z followed by Z'y, where Z is a column of ones and the features
and y the targets, both standardised by the validation rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray
from shapband.draws import Draws
from shapband.intake.arrays import float_targets


class Centre(NamedTuple):
    """What standardises records: feature by feature (x - mean) * inv_scale, and y - y_mean."""

    mean: FloatArray
    inv_scale: FloatArray
    y_mean: float


def gram_summaries(
    draws: Sequence[Draws], features: Sequence[FloatArray], centre: Centre
) -> FloatArray:
    """Return the summaries of consecutive games: (n_games, n, n_sums).

    Parameters
    ----------
    draws : one for each provider
    features : (n_rows, d) of the batch of each of the draws
    """
    gram = kernels.load("linear").gram_summaries
    p = len(centre.mean) + 1
    summaries = np.empty((draws[0].choice.n_games, len(draws), p * (p + 3) // 2))
    for place, (drawn, X) in enumerate(zip(draws, features, strict=True)):
        y = float_targets(drawn.batch.y)
        gram(X, y, np.ascontiguousarray(drawn.rows), *centre, summaries, place)
    return summaries


def standardised(drawn: Draws, X: FloatArray, centre: Centre) -> FloatArray:
    """Return the standardised features and targets of each game: (n_games, size, d + 1)."""
    rows, y = drawn.rows, float_targets(drawn.batch.y)
    features = (X[rows] - centre.mean) * centre.inv_scale
    return np.concatenate([features, y[rows][:, :, None] - centre.y_mean], axis=2)


def gram_of(records: FloatArray) -> FloatArray:
    """Return the summary of standardised records (n_records, d + 1): (n_sums,)."""
    p = records.shape[1]
    X, y = np.ascontiguousarray(records[:, :-1]), np.ascontiguousarray(records[:, -1])
    summary = np.empty((1, 1, p * (p + 3) // 2))
    standard = np.zeros(p - 1), np.ones(p - 1), 0.0
    every = np.arange(len(records))[None]
    kernels.load("linear").gram_summaries(X, y, every, *standard, summary, 0)
    return np.asarray(summary[0, 0])


class Form(NamedTuple):
    """The validation error beta'A beta - 2 b'beta + c of coefficients beta, and what is penalised.

    Attributes
    ----------
    A, b, c : moments of the validation rows, A packed
    penalty : summary that ridge regression adds to that of a coalition
    """

    A: FloatArray
    b: FloatArray
    c: float
    penalty: FloatArray


def make_form(moments: FloatArray, variance: float, ridge: FloatArray) -> Form:
    """Make the form from the summary of the validation rows, divided by their number.

    `ridge` (d,) holds the weight of the squared coefficient of each standardised feature.
    """
    p = len(ridge) + 1
    penalty = np.zeros(len(moments))
    diagonal = np.arange(2, p + 1) * np.arange(3, p + 2) // 2 - 1
    penalty[diagonal] = ridge
    return Form(moments[:-p].copy(), moments[-p:].copy(), variance, penalty)
