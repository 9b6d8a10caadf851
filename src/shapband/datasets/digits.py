"""The digits task: one provider per class of handwritten digits, and a small neural network."""

from __future__ import annotations

import numpy as np

from shapband.datasets.task import Task
from shapband.providers import Provider
from shapband.sources.arrays import ArraySource
from shapband.utilities.networks.network import NetworkUtility

_SPLIT_SEED = 42
_NETWORK_SEED = 314159


def digits() -> Task:
    """Return the digits task: 1,797 images of 64 pixels, provider i owns the digit i.

    A coalition is worth the accuracy of a network (128, 64), trained by L-BFGS on its images, on
    a stratified test set of 30 %. Data: scikit-learn's copy of the UCI set Optical
    Recognition of Handwritten Digits.

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.digits()
    >>> len(task.providers), len(task.y_val)
    (10, 540)
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_val, y_train, y_val = train_test_split(
        X / 16.0, y, test_size=0.3, stratify=y, random_state=_SPLIT_SEED
    )
    providers = tuple(
        Provider(f"digit {d}", ArraySource(X_train[y_train == d], y_train[y_train == d]))
        for d in range(10)
    )
    y_val = np.asarray(y_val, dtype=np.float64)
    utility = NetworkUtility(
        X_val, y_val, (128, 64), alpha=1e-4, max_iter=300, seed=_NETWORK_SEED, empty=0.0
    )
    return Task("digits", providers, utility, X_val, y_val)
