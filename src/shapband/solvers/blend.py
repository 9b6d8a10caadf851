"""Shares of two surrogates in their blend, by how well they predict folds they were not fitted to.

A share is needed for each fold. It must not depend on the values of that fold, because these values
correct the blend. So the surrogates are fitted without two folds: their predictions of one of the
two give the share for the other. Each fold is left out together with two other folds in turn: the
folds at a distance of three. The coalitions of a size are in consecutive folds, so if a size has
only two or three coalitions, some of them are still in the fit.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray

FOLDS_APART = 3  # distance of the two folds that are left out together


def left_out_together(n_folds: int) -> IntArray:
    """Pairs of folds, (n_folds, 2): each with the one at a distance of three."""
    first = np.arange(n_folds)
    return np.column_stack([first, (first + FOLDS_APART) % n_folds])


def shares(
    first: FloatArray, second: FloatArray, folds: IntArray, weights: FloatArray
) -> FloatArray:
    """Share of the second surrogate for each fold, between 0 and 1, by least squares: (n_folds,).

    Parameters
    ----------
    first, second : (n_rows, n_folds) residuals around two surrogates, fitted without the folds of
        each pair in `left_out_together`
    folds : (n_rows,) from 0 to n_folds - 1; -1 for rows that are never left out; 4 folds, or more
        than 6
    weights : (n_rows,) of squared residuals

    Examples
    --------
    >>> wrong, right = np.ones((8, 4)), np.zeros((8, 4))
    >>> shares(wrong, right, np.arange(8) % 4, np.ones(8)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    n_folds = first.shape[1]
    products, squares = np.zeros(n_folds), np.zeros(n_folds)
    for fit, pair in enumerate(left_out_together(n_folds)):
        change = first[:, fit] - second[:, fit]
        weighted = weights * change
        for found, predicted in (pair, pair[::-1]):
            at = folds == predicted
            # Not `@`, whose last bits may depend on the number of threads.
            products[found] += (weighted * first[:, fit])[at].sum()
            squares[found] += (weighted * change)[at].sum()
    return np.clip(products / np.where(squares > 0, squares, 1.0), 0.0, 1.0)
