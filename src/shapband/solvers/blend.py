"""Shares of two surrogates in their blend, by how well they predict folds they were not fitted to.

A share is needed for each fold. It must not depend on the values of that fold, because these values
correct the blend. So the surrogates are fitted without two folds: their predictions of one of the
two give the share for the other. Each fold is left out together with two others in turn, those at a
distance of three. The coalitions of a size are in consecutive folds, so if a size has only two or
three coalitions, some of them are still in the fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shapband._typing import BoolArray, FloatArray, IntArray

FOLDS_APART = 3  # distance of the two folds that are left out together

Residuals = Callable[[BoolArray], FloatArray]  # rows left out of a fit, to residuals of all rows


def shares(
    first: Residuals, second: Residuals, folds: IntArray, n_folds: int, weights: FloatArray
) -> FloatArray:
    """Share of the second surrogate for each fold, between 0 and 1, by least squares: (n_folds,).

    Parameters
    ----------
    folds : (n_rows,) from 0 to n_folds - 1; -1 for rows that are never left out
    n_folds : 4, or more than 6
    weights : (n_rows,) of squared residuals

    Examples
    --------
    >>> folds = np.arange(8) % 4
    >>> wrong, right = (lambda _: np.ones(8)), (lambda _: np.zeros(8))
    >>> shares(wrong, right, folds, 4, np.ones(8)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    products, squares = np.zeros(n_folds), np.zeros(n_folds)
    for fold in range(n_folds):
        pair = fold, (fold + FOLDS_APART) % n_folds
        left_out = (folds == pair[0]) | (folds == pair[1])
        one = first(left_out)
        change = one - second(left_out)
        weighted = weights * change
        for found, predicted in (pair, pair[::-1]):
            at = folds == predicted
            # Not `@`, whose last bits may depend on the number of threads.
            products[found] += (weighted * one)[at].sum()
            squares[found] += (weighted * change)[at].sum()
    return np.clip(products / np.where(squares > 0, squares, 1.0), 0.0, 1.0)
