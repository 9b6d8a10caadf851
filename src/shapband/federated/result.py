"""The result of `value_recorded`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import one_line, printable
from shapband.codec import decode, encode, lock_arrays
from shapband.errors import InvalidInput
from shapband.federated.measured import Measured, measured_for
from shapband.printing import Printed, PrintsTable, Table, with_digits

if TYPE_CHECKING:
    import pandas as pd

Method: TypeAlias = Literal["OR", "MR", "one-round"]
METHODS = ("OR", "MR", "one-round")
_FORMAT = 1
_WORDS = {
    "OR": "rebuilt once, at the end (OR)",
    "MR": "rebuilt in every round (MR)",
    "one-round": "one round with all local steps",
}


@dataclass(frozen=True, eq=False, repr=False)
class RecordedValuation(PrintsTable):
    """Values of federated clients from the updates of one training run.

    There is one run, and so one draw of every client's data: the values have no standard error
    over draws. `measured` says how far the method was from exact values in a study, and `bias`
    how far it is here, if coalitions were retrained.

    Attributes
    ----------
    names : the clients, in the order of all arrays
    method : "OR", "MR" or "one-round"
    values : (n,) Shapley values of the rebuilt scores; they sum to the rebuilt score of everybody
        minus `start`
    solver_error : (n,) standard error of the solver, 0 if all coalitions were scored
    rounds_present : (n,) rounds in which each client was present
    n_rounds : rounds of the run
    start : score of the initial model, which is the value of nobody
    weights : how clients are averaged, by "records" or "even"
    departures : rounds after which the next recorded model is not the average of the updates
    solver : the solver, as it is written in Python
    seed : of the solver and of the coalitions that were retrained
    evaluations : models scored
    by_round : (n_rounds, n) parts of `values`; None unless the method is "MR"
    skipped : positions of the rounds that `truncation` skipped
    truncation : largest change of the score in a round that is skipped; None if none is
    bias : (n,) estimated difference between `values` and exact values; None without a check
    bias_error : (n,) standard error of `bias`, 0 if all coalitions were retrained
    retrained : coalitions that were retrained

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> rounds = [sb.RecordedRound([np.zeros(1)], {"north": ([np.ones(1)], 60)})]
    >>> sb.value_recorded(rounds, lambda parameters: parameters[0][0], method="MR")
    <RecordedValuation: MR, 1 client, 1 round>
    """

    names: tuple[str, ...]
    method: Method
    values: FloatArray
    solver_error: FloatArray
    rounds_present: IntArray
    n_rounds: int
    start: float
    weights: str
    departures: int
    solver: str
    seed: int
    evaluations: int
    by_round: FloatArray | None = None
    skipped: tuple[int, ...] = ()
    truncation: float | None = None
    bias: FloatArray | None = None
    bias_error: FloatArray | None = None
    retrained: int = 0

    def __post_init__(self) -> None:
        lock_arrays(self)

    @property
    def corrected(self) -> FloatArray | None:
        """(n,) `values` − `bias`, unbiased for exact values of this run; None without a check."""
        return None if self.bias is None else self.values - self.bias

    @property
    def corrected_error(self) -> FloatArray | None:
        """(n,) standard error of `corrected`."""
        if self.bias_error is None:
            return None
        return np.hypot(self.bias_error, self.solver_error)

    @property
    def participation(self) -> float:
        """Share of the clients that were present, averaged over rounds."""
        return float(self.rounds_present.mean()) / self.n_rounds

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Errors of this method in the study, for its rounds and participation, by family."""
        truncated = self.truncation is not None
        return measured_for(self.method, self.n_rounds, self.participation, truncated=truncated)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per client."""
        import pandas as pd

        columns = {
            "value": self.values,
            "solver_error": self.solver_error,
            "rounds_present": self.rounds_present,
        }
        if self.bias is not None:
            columns |= {"bias": self.bias, "bias_error": self.bias_error}
            columns |= {"corrected": self.corrected, "corrected_error": self.corrected_error}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="client"))

    def to_json(self) -> str:
        """Return the result as JSON; no digits are lost."""
        return json.dumps({"format": _FORMAT, **encode(self)}, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> RecordedValuation:
        """Make a result from the string that `to_json` returned."""
        try:
            document = json.loads(text)
            if not isinstance(document, dict) or document.pop("format", None) != _FORMAT:
                raise ValueError(f"this is not a RecordedValuation of format {_FORMAT}")
            found = decode(RecordedValuation, document)
            _check_shapes(found)
        except (ValueError, TypeError, RecursionError) as cause:
            raise InvalidInput(f"RecordedValuation.from_json: {one_line(cause)}") from cause
        return found

    def __repr__(self) -> str:
        return f"<RecordedValuation: {self.method}, {_counted(self)}>"

    def _printed(self) -> Printed:
        headline = f"{_counted(self)}, {_WORDS[self.method]}"
        return Printed([headline], self._table(), list(self._notes()))

    def _table(self) -> Table:
        header = ["client", "value", "rounds"]
        columns = [with_digits(self.values, self._digits()), self._presence()]
        if self.solver_error.any():
            header.insert(2, "± solver")
            columns.insert(1, with_digits(self.solver_error, self.solver_error))
        if self.bias is not None and self.bias_error is not None:
            errors = self.bias_error
            header += ["bias", "± std. error", "corrected"]
            corrected = self.values - self.bias
            columns += [with_digits(numbers, errors) for numbers in (self.bias, errors, corrected)]
        rows = zip([printable(name) for name in self.names], *columns, strict=True)
        order = np.argsort(-self.values, kind="stable")
        listed = list(rows)
        return tuple(header), [listed[at] for at in order]

    def _digits(self) -> FloatArray:
        """Show three digits of the largest value: more would be below the error of any method."""
        return np.full(len(self.names), max(float(np.abs(self.values).max()) / 20, 1e-12))

    def _presence(self) -> list[str]:
        return [f"{present:,} of {self.n_rounds:,}" for present in self.rounds_present]

    def _notes(self) -> Iterator[str]:
        total = float(self.values.sum())
        sums = with_digits([total, self.start + total, self.start], [abs(total) / 20] * 3)
        yield "sum:     {} = score {} of everybody's model − {} of the initial model".format(
            *(text.strip() for text in sums)
        )
        if self.skipped:
            yield (
                f"skipped: {len(self.skipped):,} of {self.n_rounds:,} rounds, in which the score "
                f"changed by at most {self.truncation:g}; their values are 0"
            )
        if self.departures:
            yield (
                f"models:  {self.departures:,} of {self.n_rounds - 1:,} recorded models are not "
                "the averages of the updates before"
            )
            yield (
                f'         (weights="{self.weights}"): pass the weights of the run; a server that '
                "does more than"
            )
            yield "         average, as with momentum, is not rebuilt"
        yield from self._error_notes()
        yield "draws:   one run, so there is no standard error over draws of data"

    def _error_notes(self) -> Iterator[str]:
        if self.retrained:
            yield f"bias:    estimated from {self.retrained:,} coalitions that were retrained"
            return
        yield "bias:    not known here, because no coalition was retrained (check=20)"
        if self.measured:
            yield "study:   difference to exact values, in percent of the mean value:"
            for one in self.measured:
                yield f"         {one}"


def _counted(found: RecordedValuation) -> str:
    n, rounds = len(found.names), found.n_rounds
    return f"{n:,} client{'s' * (n != 1)}, {rounds:,} round{'s' * (rounds != 1)}"


def _check_shapes(found: RecordedValuation) -> None:
    """Check that the arrays of a result that was read belong together."""
    n = len(found.names)
    rows = (found.values, found.solver_error, found.rounds_present, found.bias, found.bias_error)
    fits = n > 0 and all(row is None or row.shape == (n,) for row in rows)
    fits &= (found.bias is None) == (found.bias_error is None) and found.n_rounds > 0
    fits &= found.by_round is None or found.by_round.shape == (found.n_rounds, n)
    if not fits:
        raise ValueError("the arrays of the document do not belong to one result")
