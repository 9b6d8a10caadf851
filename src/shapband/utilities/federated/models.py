"""The models of federated training: their layers, losses and first parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_whole, written
from shapband.errors import InvalidInput
from shapband.utilities.federated.rules import check_word
from shapband.utilities.networks.training import first_weights

FederatedModel = Literal["linear", "logistic", "softmax", "network"]
SQUARED, LOGISTIC, SOFTMAX = range(3)  # losses, by the numbers that kernels know
_HIDDEN = (32,)  # units of the hidden layers of a network if none are given


@dataclass(frozen=True, eq=False)
class Model:
    """A model that all clients train.

    Attributes
    ----------
    name : "linear", "logistic", "softmax" or "network"
    hidden : numbers of units of the hidden layers
    seed : of the first weights of a network
    """

    name: str
    hidden: tuple[int, ...]
    seed: int

    @staticmethod
    def checked(owner: str, name: str, hidden: Any, seed: object) -> Model:
        """Check the arguments of a utility."""
        check_word(f"{owner}: model", name, get_args(FederatedModel))
        known = check_whole(f"{owner}: seed", seed, 0, most=2**32 - 1)
        if name == "network":
            return Model(name, _check_hidden(owner, hidden), known)
        if hidden is not None:
            raise InvalidInput(
                f'{owner}: hidden is for model="network"; received {written(hidden)} for '
                f'model="{name}": leave it out'
            )
        return Model(name, (), known)

    @property
    def is_classifier(self) -> bool:
        """Whether targets are labels."""
        return self.name != "linear"

    def check_labels(self, owner: str, n_labels: int) -> None:
        """Check the number of labels in the validation rows."""
        if self.name == "logistic" and n_labels != 2:
            remedy = 'use model="softmax"' if n_labels > 2 else "validate on both labels"
            raise InvalidInput(
                f'{owner}: model="logistic" needs two labels in y_val; received {n_labels}: '
                f"{remedy}"
            )
        if self.is_classifier and n_labels < 2:
            raise InvalidInput(
                f'{owner}: model="{self.name}" needs two or more labels in y_val; received '
                f"{n_labels}: validate on all labels"
            )

    def loss(self, n_labels: int) -> int:
        """Return the number of the loss."""
        if self.name == "linear":
            return SQUARED
        return SOFTMAX if self.name == "softmax" or n_labels > 2 else LOGISTIC

    def units(self, n_features: int, n_labels: int) -> IntArray:
        """Return the numbers of features, of hidden units and of outputs."""
        outputs = n_labels if self.loss(n_labels) == SOFTMAX else 1
        return np.array([n_features, *self.hidden, outputs], dtype=np.int64)

    def initial(self, units: IntArray) -> FloatArray:
        """Return the first parameters: zeros, or random weights of a network.

        They are, for each layer, the matrix (outputs, inputs + 1) with the intercepts last.
        """
        size = int(((units[:-1] + 1) * units[1:]).sum())
        if not self.hidden:
            return np.zeros(size)
        drawn, parts, at = first_weights(units, self.seed), [], 0
        for wide, high in zip(units[:-1].tolist(), units[1:].tolist(), strict=True):
            # `first_weights` has the matrix (inputs, outputs) row by row, then the intercepts.
            layer = drawn[at : at + (wide + 1) * high].reshape(wide + 1, high)
            parts.append(layer.T.ravel())
            at += (wide + 1) * high
        return np.concatenate(parts)


def _check_hidden(owner: str, hidden: Any) -> tuple[int, ...]:
    """Check the numbers of hidden units."""
    if hidden is None:
        return _HIDDEN
    if isinstance(hidden, str) or not isinstance(hidden, Sequence | np.ndarray) or not len(hidden):
        raise InvalidInput(
            f"{owner}: hidden must be a sequence with the number of units of every hidden layer, "
            f"such as (32,); received {written(hidden)}"
        )
    return tuple(check_whole(f"{owner}: hidden", units, 1) for units in hidden)
