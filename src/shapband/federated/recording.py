"""The rounds of one training run, checked together, as vectors and matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.checks import check_kind, nearest, written
from shapband.errors import InvalidInput
from shapband.federated.rounds import Parameters, RecordedRound

# A recorded model counts as the average of the updates before it if it differs by less than this
# share of the step, or by less than this share of the model, which float32 and summation need.
_OF_STEP, _OF_MODEL = 1e-3, 1e-6


@dataclass(frozen=True, eq=False)
class Recording:
    """One training run.

    Attributes
    ----------
    rounds : in the order of training; the arrays of all models have the same shapes
    names : the clients, also those who were never present
    even : whether members are averaged evenly, instead of by their numbers of records
    """

    rounds: tuple[RecordedRound, ...]
    names: tuple[str, ...]
    even: bool

    @cached_property
    def template(self) -> Parameters:
        """Arrays with the shapes and dtypes of rebuilt models.

        The dtypes are those of the initial model, unless it has whole numbers, such as zeros, where
        clients sent fractions.
        """
        sent = [one for each in self.rounds for one, _ in each.updates.values()]
        arrays = []
        for at, first in enumerate(self.rounds[0].parameters):
            whole = first.dtype.kind != "f"
            fractions = whole and any(one[at].dtype.kind == "f" for one in sent)
            arrays.append(first.astype(np.float64) if fractions else first)
        return tuple(arrays)

    @cached_property
    def present(self) -> AnyArray:
        """(n_rounds, n) whether each client was present in each round."""
        return np.array([[name in one.updates for name in self.names] for one in self.rounds])

    def start(self, at: int) -> FloatArray:
        """The global model at the start of a round: (n_parameters,)."""
        return flat(self.rounds[at].parameters)

    def weights(self, at: int) -> FloatArray:
        """Weights of the clients in the average of a round: (n,), 0 for absent clients."""
        updates = self.rounds[at].updates
        records = [updates[name][1] if name in updates else 0.0 for name in self.names]
        return np.sign(records) if self.even else np.array(records)

    def updates(self, at: int) -> FloatArray:
        """What each client changed in the global model of a round: (n, n_parameters).

        Rows of absent clients are 0.
        """
        start = self.start(at)
        found = np.zeros((len(self.names), len(start)))
        for row, name in zip(found, self.names, strict=True):
            if name in self.rounds[at].updates:
                row += flat(self.rounds[at].updates[name][0]) - start
        return found

    @property
    def departures(self) -> int:
        """Rounds after which the next recorded model is not the average of the updates."""
        return sum(not self._follows(at) for at in range(len(self.rounds) - 1))

    def _follows(self, at: int) -> bool:
        start, following, weights = self.start(at), self.start(at + 1), self.weights(at)
        step = weights @ self.updates(at) / max(weights.sum(), np.finfo(float).tiny)
        apart = float(np.linalg.norm(following - start - step))
        size = float(np.linalg.norm(following))
        return apart <= _OF_STEP * float(np.linalg.norm(step)) + _OF_MODEL * size


def flat(arrays: Iterable[AnyArray]) -> FloatArray:
    """Join the arrays of a model to one vector."""
    parts = [np.asarray(array, dtype=np.float64).ravel() for array in arrays]
    return np.concatenate(parts) if parts else np.empty(0)


def shaped(vector: FloatArray, template: Parameters) -> list[AnyArray]:
    """Cut a vector into new arrays with the shapes and dtypes of a model; integers are rounded."""
    arrays, at = [], 0
    for array in template:
        part = vector[at : at + array.size].reshape(array.shape)
        part = part if array.dtype.kind == "f" else np.rint(part)
        arrays.append(np.array(part, dtype=array.dtype))
        at += array.size
    return arrays


def check_rounds(rounds: object, names: Sequence[str] | None, *, even: bool) -> Recording:
    """Check that recorded rounds belong to one run, and that all their numbers are finite."""
    if not isinstance(rounds, Sequence) or isinstance(rounds, str) or not rounds:
        raise InvalidInput(
            "rounds must be a list of at least one RecordedRound; received "
            f"{'an empty list' if isinstance(rounds, list | tuple) else type(rounds).__name__}"
        )
    for at, one in enumerate(rounds):
        check_kind(f"rounds[{at}]", one, RecordedRound, "a RecordedRound")
    shapes = [array.shape for array in rounds[0].parameters]
    if sum(array.size for array in rounds[0].parameters) == 0:
        raise InvalidInput("rounds[0]: the model must have at least one parameter; it has none")
    for at, one in enumerate(rounds):
        _check_model(f"rounds[{at}]: the global model", one.parameters, shapes)
        for name, (arrays, _) in one.updates.items():
            _check_model(f"rounds[{at}]: the model of client {written(name)}", arrays, shapes)
    return Recording(tuple(rounds), _check_names(rounds, names), even)


def _check_model(which: str, arrays: Sequence[AnyArray], shapes: Sequence[tuple[int, ...]]) -> None:
    found = [array.shape for array in arrays]
    if found != list(shapes):
        raise InvalidInput(
            f"{which} has arrays of the shapes {found}, but the initial model has {shapes}: all "
            "models of a run must have the same arrays in the same order"
        )
    for at, array in enumerate(arrays):
        if not np.isfinite(array).all():
            raise InvalidInput(
                f"{which} has NaN or infinite numbers in array {at}: a model that diverged "
                "cannot be averaged; leave this client out of the round, or this round and all "
                "later ones out of `rounds`"
            )


def _check_names(rounds: Sequence[RecordedRound], names: Sequence[str] | None) -> tuple[str, ...]:
    """All clients: those given, or else those recorded, in the order in which they appear."""
    recorded = tuple(dict.fromkeys(name for one in rounds for name in one.updates))
    if names is None:
        if not recorded:
            raise InvalidInput(
                "rounds: nobody was present in any round, so there are no clients to value: pass "
                "their names as `names`"
            )
        return recorded
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidInput(f"names must be a list of strings; received {written(names)}")
    given = tuple(names)
    if not all(isinstance(name, str) and name for name in given) or len(set(given)) < len(given):
        raise InvalidInput(f"names must be different non-empty strings; received {written(given)}")
    missing = [name for name in recorded if name not in given]
    if missing or not given:
        which = written(missing[0]) if missing else "any client"
        hint = nearest(missing[0], given) if missing and given else "pass all clients"
        raise InvalidInput(f"names lacks {which}, who is in the recorded rounds: {hint}")
    return given
