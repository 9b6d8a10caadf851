"""Classifiers by their definitions in NumPy: logits of the validation rows, in float64.

Every function takes the records `X`, the class of each, the number of classes and the validation
rows, and returns logits (n_rows, n_classes), up to a constant of each row. Classes without records
have the logit -inf.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import AnyArray, FloatArray

SMALLEST = 1e-4  # documented: smaller singular values do not count in discriminant analysis


def frequencies(class_of: AnyArray, n_classes: int, n_rows: int) -> FloatArray:
    """Logits of a model that knows only how often each class occurs."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.bincount(class_of, minlength=n_classes))
    return np.tile(logs, (n_rows, 1))


def naive_bayes(
    X: FloatArray, class_of: AnyArray, n_classes: int, rows: FloatArray, *, var_smoothing: float
) -> FloatArray:
    """Gaussian naive Bayes, as scikit-learn's `GaussianNB` defines it."""
    logits = frequencies(class_of, n_classes, len(rows))
    extra = var_smoothing * max(_variance(column) for column in X.T)
    held = np.unique(class_of)
    logits -= logits[:, held[:1]]
    if extra == 0:
        return logits
    for f, column in enumerate(X.T):
        of_class = [column[class_of == c] for c in held]
        means = np.array([own.mean() if np.ptp(own) else own[0] for own in of_class])
        variances = np.array([_variance(own) for own in of_class]) + extra
        if (means == means[0]).all() and (variances == variances[0]).all():
            continue  # the same for all classes, so that logits would only be larger
        logits[:, held] -= 0.5 * np.log(variances / variances[0])  # without units
        logits[:, held] -= 0.5 * ((rows[:, f, None] - means) / np.sqrt(variances)) ** 2
    return logits


def _variance(column: FloatArray) -> float:
    return 0.0 if np.ptp(column) == 0 else float(((column - column.mean()) ** 2).mean())


def discriminant(X: FloatArray, class_of: AnyArray, n_classes: int, rows: FloatArray) -> FloatArray:
    """Linear discriminant analysis, as scikit-learn's solver "svd" with a covariance over n."""
    logits = frequencies(class_of, n_classes, len(rows))
    held = np.unique(class_of)
    means = np.array([X[class_of == c].mean(axis=0) for c in held])
    within = X - means[np.searchsorted(held, class_of)]
    for c in held:
        within[np.ix_(class_of == c, np.ptp(X[class_of == c], axis=0) == 0)] = 0.0
    largest = np.abs(within).max(axis=0)
    vary = largest > 0
    if not vary.any():
        return logits - logits[:, held[:1]]
    unit = largest[vary] * np.sqrt(((within[:, vary] / largest[vary]) ** 2).mean(axis=0))
    _, singular, directions = np.linalg.svd(
        within[:, vary] / unit / np.sqrt(len(X)), full_matrices=False
    )
    kept = singular > SMALLEST
    transform = directions[kept].T / singular[kept]
    centre = means[0]
    projected = (rows - centre)[:, vary] / unit @ transform
    of_means = (means - centre)[:, vary] / unit @ transform
    logits[:, held] += projected @ of_means.T - 0.5 * (of_means**2).sum(axis=1)
    return logits - logits[:, held[:1]]  # relative to the first class, which decides ties
