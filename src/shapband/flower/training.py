"""One training of a coalition, as the strategy of the user does it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from shapband._typing import BoolArray
from shapband.checks import check_kind
from shapband.errors import EvaluationError
from shapband.flower.coalition import CoalitionGrid

# The global generators and the level of the log belong to the process, so threads take turns.
TURNS = threading.RLock()
_LOG = "flwr"


@dataclass(frozen=True, eq=False)
class Plan:
    """What all trainings have in common.

    Attributes
    ----------
    strategy : returns a new strategy
    initial : the initial model
    num_rounds : rounds of training
    train_config, evaluate_config : the configurations that `Strategy.start` takes
    """

    strategy: Callable[[], Strategy]
    initial: ArrayRecord
    num_rounds: int
    train_config: ConfigRecord = field(default_factory=ConfigRecord)
    evaluate_config: ConfigRecord = field(default_factory=ConfigRecord)

    def train(
        self,
        grid: CoalitionGrid,
        members: Sequence[str | int],
        present: BoolArray | None,
        after: Callable[[ArrayRecord], None] | None = None,
    ) -> ArrayRecord:
        """Train the members, and return the final model.

        Parameters
        ----------
        grid : shows the members
        present : (num_rounds, n_members) who is present in each round; None if all are
        after : called with the model after each round
        """
        strategy = check_kind("strategy()", self.strategy(), Strategy, "a Strategy of Flower")
        if present is not None:
            _show_present(strategy, grid, members, present)

        def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
            if after is not None and server_round > 0:
                after(arrays)
            return None

        # A strategy may change what it is given, such as the round in a configuration.
        result = strategy.start(
            grid,
            deepcopy(self.initial),
            num_rounds=self.num_rounds,
            train_config=deepcopy(self.train_config),
            evaluate_config=deepcopy(self.evaluate_config),
            evaluate_fn=evaluate,
        )
        # Without an update in any round the result is empty, and the initial model stays.
        return result.arrays if len(result.arrays) else self.initial


def _show_present(
    strategy: Strategy, grid: CoalitionGrid, members: Sequence[str | int], present: BoolArray
) -> None:
    """Have the strategy see only the members present in each round.

    If nobody is present the strategy is not asked, because it would wait for nodes; it receives no
    replies, and the model stays.
    """
    train, evaluate = strategy.configure_train, strategy.configure_evaluate

    def shown(server_round: int) -> bool:
        if not 1 <= server_round <= len(present):
            raise EvaluationError(
                f"the strategy trains in round {server_round}, but num_rounds is {len(present)}"
            )
        row = present[server_round - 1]
        grid.show([member for member, there in zip(members, row, strict=True) if there])
        return bool(row.any())

    def configure_train(
        server_round: int, arrays: ArrayRecord, config: ConfigRecord, seen: Grid
    ) -> Iterable[Message]:
        return train(server_round, arrays, config, seen) if shown(server_round) else []

    def configure_evaluate(
        server_round: int, arrays: ArrayRecord, config: ConfigRecord, seen: Grid
    ) -> Iterable[Message]:
        return evaluate(server_round, arrays, config, seen) if shown(server_round) else []

    replaced: dict[str, Any] = {
        "configure_train": configure_train,
        "configure_evaluate": configure_evaluate,
    }
    vars(strategy).update(replaced)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the lines that flwr logs in every round out of the log; errors stay."""
    log = logging.getLogger(_LOG)
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
