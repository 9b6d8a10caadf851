"""Federated averaging for all coalitions of a game at once.

In every round each member starts from the parameters of its coalition and makes its local steps;
their weighted mean becomes the parameters of the coalition. The kernels train the coalitions that
share a client together. Every coalition is computed alone in the order of the clients, so its bits
depend neither on the other coalitions nor on the number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband import kernels
from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray
from shapband.utilities.federated.rules import Rules

_SPARE = 4  # rows of zeros after the records, because kernels read records in blocks of four


class Records(NamedTuple):
    """The records of all clients in one game.

    Attributes
    ----------
    X : (n, most, d) features, followed by rows of zeros
    targets : (n, most) targets, or classes from 0
    counts : (n,) numbers of records
    """

    X: FloatArray
    targets: FloatArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains the coalitions of games.

    Attributes
    ----------
    rules : rounds, aggregation and momentum
    units : numbers of features, of the units of hidden layers, and of outputs
    initial : (n_parameters,) parameters with which every coalition begins
    local : number of the loss, number of local steps, learning rate, proximal strength
    """

    rules: Rules
    units: IntArray
    initial: FloatArray
    local: tuple[int, int, float, float]

    def updates(self, records: Records) -> FloatArray:
        """Return the parameters of every client after the local steps of round 1: (n, P)."""
        n = len(records.counts)
        updates, nobody = np.zeros((n, len(self.initial))), records.counts == 0
        start, alone = np.repeat(self.initial[None], n, axis=0), np.eye(n, dtype=np.uint8)
        alone[nobody] = 0
        self._add(start, alone, np.ones(n), records, 0, updates)
        updates[nobody] = self.initial
        return updates

    def rounds(
        self, records: Records, first: FloatArray, inside: MemberArray, present: BoolArray
    ) -> Iterator[FloatArray]:
        """Train coalitions; return their parameters (m, P) after each round.

        Parameters
        ----------
        first : (n, P) the clients' parameters after round 1, see `updates`
        inside : (m, n) a coalition in each row, 1 for members
        present : (rounds, n) who is present in each round
        """
        shares, has_records = self.rules.shares(records.counts), records.counts > 0
        current = np.repeat(self.initial[None], len(inside), axis=0)
        last_change = np.zeros_like(current)
        for round_, here in enumerate(present):
            members = inside * (here & has_records)
            sums = np.zeros_like(current)
            if round_ == 0:  # all coalitions start from the same parameters
                kernels.load("federated").add_known(members, shares, first, sums)
            else:
                self._add(current, members, shares, records, round_, sums)
            current = self._moved(current, sums, members @ shares, last_change)
            yield current

    def means(self, updates: FloatArray, shares: FloatArray, members: MemberArray) -> FloatArray:
        """Return the parameters of coalitions after one round: (m, P).

        Parameters
        ----------
        updates : (n, P) the clients' parameters after their local steps
        shares : (n,) weight of each client
        members : (m, n) 1 for members that are present
        """
        current = np.repeat(self.initial[None], len(members), axis=0)
        sums, no_change = np.zeros((2, *current.shape))
        kernels.load("federated").add_known(members, shares, updates, sums)
        return self._moved(current, sums, members @ shares, no_change)

    def _moved(
        self, current: FloatArray, sums: FloatArray, total: FloatArray, last_change: FloatArray
    ) -> FloatArray:
        """Return the parameters of coalitions after a round; nothing changes without a member.

        Parameters
        ----------
        current : (m, P) parameters before the round
        sums : (m, P) parameters of the members, times their shares
        total : (m,) shares of the members
        last_change : (m, P) change in the last round, which is replaced
        """
        some = total > 0.0
        mean = sums[some] / total[some, None]
        moved = current.copy()
        if self.rules.momentum == 0.0:
            moved[some] = mean
        else:
            last_change[some] *= self.rules.momentum
            last_change[some] += mean - current[some]
            moved[some] += last_change[some]
        return moved

    def _add(
        self,
        current: FloatArray,
        members: MemberArray,
        shares: FloatArray,
        records: Records,
        round_: int,
        sums: FloatArray,
    ) -> None:
        """Add the members' parameters after their local steps, times their shares, to `sums`."""
        counts = self.rules.counts(records.counts)
        begin = self.rules.begin(round_, records.counts)
        kernels.load("federated").add_updates(
            current,
            members,
            shares,
            records.X,
            records.targets,
            begin,
            counts,
            self.units,
            self.local,
            sums,
        )


def joined_records(summaries: Sequence[FloatArray]) -> Records:
    """Join the records of all clients of one game.

    Parameters
    ----------
    summaries : (n_records, 1 + d) targets and features of each client; a row whose target is NaN
        only fills the array
    """
    counts = np.array([int((~np.isnan(one[:, 0])).sum()) for one in summaries])
    n, d = len(summaries), summaries[0].shape[1] - 1
    most = int(counts.max()) + _SPARE
    X, targets = np.zeros((n, most, d)), np.zeros((n, most))
    for place, (one, count) in enumerate(zip(summaries, counts.tolist(), strict=True)):
        X[place, :count], targets[place, :count] = one[:count, 1:], one[:count, 0]
    return Records(X, targets, counts)
