"""The wine task: ten providers split by alcohol content, quality predicted by least squares."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files

import numpy as np

from shapband._typing import FloatArray
from shapband.datasets.task import Task
from shapband.errors import ShapbandError
from shapband.providers import Provider
from shapband.sources.arrays import ArraySource
from shapband.utilities.linear import LinearUtility

_FILE = "winequality-white.csv.gz"
_SHA256 = "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836"
_N_VALIDATION = 1469
_ALCOHOL = 10
_N_PROVIDERS = 10


def wine() -> Task:
    """Return the wine task: 4,898 white wines, 11 attributes, quality 3 to 9.

    1,469 wines are set aside for validation; the others are split at the deciles of their
    alcohol content into ten providers of 227 to 450 wines. A coalition is worth 1 / (1 + MSE)
    of least squares. Data: Cortez, Cerdeira, Almeida, Matos and Reis (2009), Modeling wine
    preferences by data mining from physicochemical properties, Decision Support Systems 47(4),
    547-553, CC BY 4.0.

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> [provider.source.size for provider in task.providers]
    [227, 450, 323, 349, 351, 307, 339, 396, 332, 355]
    """
    table = _read()
    X, y = table[:, :-1], table[:, -1]
    # The legacy generator gives the paper's shuffle, with the same provider sizes.
    order = np.random.RandomState(42).permutation(len(table))
    validation, training = order[:_N_VALIDATION], order[_N_VALIDATION:]
    alcohol = X[training, _ALCOHOL]
    edges = np.quantile(alcohol, np.linspace(0, 1, _N_PROVIDERS + 1))
    decile = np.clip(np.searchsorted(edges, alcohol, side="right") - 1, 0, _N_PROVIDERS - 1)
    providers = []
    for i in range(_N_PROVIDERS):
        rows = training[decile == i]
        name = f"alcohol {edges[i]:.1f}-{edges[i + 1]:.1f}"
        providers.append(Provider(name, ArraySource(X[rows], y[rows])))
    X_val, y_val = X[validation], y[validation]
    return Task("wine", tuple(providers), LinearUtility(X_val, y_val), X_val, y_val)


def _read() -> FloatArray:
    packed = files("shapband.datasets").joinpath(_FILE).read_bytes()
    text = gzip.decompress(packed)
    if hashlib.sha256(text).hexdigest() != _SHA256:
        raise ShapbandError("the wine data in this installation is damaged: install again")
    return np.loadtxt(text.decode().splitlines()[1:], delimiter=";")
