"""A coalition is worth the score of the model that its clients train with Flower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from shapband._facts import facts, name_of
from shapband._typing import BoolArray, FloatArray, IntArray
from shapband.checks import check_kind, check_number, check_whole, error_line, nearest
from shapband.coalitions import members
from shapband.errors import InvalidInput, ShapbandError
from shapband.flower.coalition import CoalitionGrid
from shapband.flower.in_process import InProcessGrid
from shapband.flower.nodes import Clients, node_configs
from shapband.flower.providers import client_providers
from shapband.flower.randomness import seeded
from shapband.flower.training import TURNS, Plan, quiet
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.seeds import Seeds
from shapband.utilities.base import CoalitionFailed, GameSummaries, Utility
from shapband.utilities.rows import Folded
from shapband.utilities.wording import function_words

_LEAST = ("min_train_nodes", "min_evaluate_nodes", "min_available_nodes")
_SEEDED = (
    "random numbers that the strategy and the app draw from the global generators of Python, NumPy "
    "and PyTorch are set from the seed, anew in every game and alike for all coalitions, so the "
    "variance includes the randomness of training"
)
_UNSEEDED = (
    "nodes draw random numbers of their own, which the seed does not repeat, so the variance "
    "includes the randomness of training"
)


@dataclass(frozen=True, eq=False)
class _Game:
    """The draws of one game, with the streams of its random numbers and who is present.

    Attributes
    ----------
    draws : row numbers of each client, or None
    names : the clients
    index, seeds : the number of the game, and the random streams of the valuation
    present : (rounds, n) who is present in each round; None if everybody is
    """

    draws: Sequence[IntArray | None]
    names: tuple[str, ...]
    index: int = 0
    seeds: Seeds | None = None
    present: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.draws)

    def word(self, name: str) -> int:
        """The seed of a client, or of the strategy, in this game."""
        seeds = self.seeds or Seeds(0)
        return int(seeds.words("flower", name, range(self.index, self.index + 1), 1)[0, 0])

    def seed_client(self, name: str, at: int) -> AbstractContextManager[None]:
        """Seed the generators for a client's work on a message: the same in all coalitions."""
        return seeded(self.word(f"client {name}"), at)


class FlowerUtility(Utility):
    """A coalition is worth the score of the model that a Flower app trains with its clients alone.

    Every coalition is trained from the initial model by a new strategy, which sees only the
    coalition's nodes. v(∅) is the score of the initial model. `value` takes the same arguments and
    values the clients; the utility itself is for other functions, such as `sb.plan`, together with
    its `providers`.

    Parameters
    ----------
    app : the ClientApp, which is run in this process, or the grid that a ServerApp receives
    clients : names of the clients, or their node configurations by name, as in `InProcessGrid`;
        with a grid, their node IDs by name
    strategy : a function without arguments that returns a new Strategy. It must start with one
        node, as ``FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)`` does
    initial_arrays : the initial model
    score : a function of the final arrays, such as the accuracy on validation rows
    num_rounds : rounds of training
    records : number of records of each client, from which games draw; the app asks `draw` for the
        rows. None if the app trains on its own records as they are
    empty : value of the empty coalition; None is the score of the initial model
    run_config : `context.run_config` in the app
    train_config, evaluate_config : configurations that `Strategy.start` sends to the clients
    absent_on_error : True takes an exception of a client's app as absence from that round, as
        Flower's strategies do; False ends the valuation with an error that names the client
    deterministic : True promises that the same clients with the same records always train the same
        model. Then one game is enough if there are no draws. The promise is checked with two
        trainings of all clients

    Attributes
    ----------
    providers : the clients as providers of row numbers

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    >>> from flwr.clientapp import ClientApp
    >>> from flwr.serverapp.strategy import FedAvg
    >>> import shapband.flower as sf
    >>> app = ClientApp()
    >>> @app.train()
    ... def train(message, context):
    ...     update = ArrayRecord([np.array([1.0 + context.node_config["partition-id"]])])
    ...     content = RecordDict({"arrays": update, "metrics": MetricRecord({"num-examples": 1})})
    ...     return Message(content, reply_to=message)
    >>> def strategy():
    ...     return FedAvg(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1)
    >>> utility = sf.FlowerUtility(
    ...     app, ["north", "south"], strategy, ArrayRecord([np.zeros(1)]),
    ...     lambda arrays: arrays.to_numpy_ndarrays()[0][0], num_rounds=1)
    >>> utility.evaluate([None, None], [0b00, 0b01, 0b10, 0b11]).tolist()
    [0.0, 1.0, 2.0, 1.5]
    """

    _counters = (*Utility._counters, "_grid", "providers")
    _memory: dict[tuple[int, int], list[float]] | None = None  # scores after rounds, while wanted
    _after: int | None = None  # the round after which models are scored; None is the last

    def __init__(
        self,
        app: ClientApp | Grid,
        clients: Clients | Mapping[str, int],
        strategy: Callable[[], Strategy],
        initial_arrays: ArrayRecord,
        score: Callable[[ArrayRecord], float],
        *,
        num_rounds: int = 3,
        records: Mapping[str, int] | None = None,
        empty: float | None = None,
        run_config: Mapping[str, Any] | None = None,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        absent_on_error: bool = False,
        deterministic: bool = False,
    ) -> None:
        owner = "FlowerUtility"
        check_kind(f"{owner}: app", app, ClientApp | Grid, "a ClientApp or a Grid of Flower")
        check_kind(f"{owner}: initial_arrays", initial_arrays, ArrayRecord, "an ArrayRecord")
        check_kind(f"{owner}: score", score, Callable, "a function of an ArrayRecord")
        wanted = "a function without arguments that returns a Strategy"
        check_kind(f"{owner}: strategy", strategy, Callable, wanted)
        self._app = app if isinstance(app, ClientApp) else None
        self._grid = app if isinstance(app, Grid) else None
        self._configs: Any = (
            _node_ids(clients) if self._app is None else node_configs(owner, clients)
        )
        self._plan = Plan(
            strategy,
            initial_arrays,
            check_whole(f"{owner}: num_rounds", num_rounds, 1),
            train_config or ConfigRecord(),
            evaluate_config or ConfigRecord(),
        )
        self._score = score
        self._run_config = dict(run_config or {})
        self._absent_on_error = check_kind(
            f"{owner}: absent_on_error", absent_on_error, bool, "True or False"
        )
        check_kind(f"{owner}: deterministic", deterministic, bool, "True or False")
        self.rounds = self._plan.num_rounds
        self.providers = client_providers(list(self._configs), records)
        self._draws = records is not None
        self._deterministic = deterministic
        self.uses_records = self._draws or not deterministic
        self.training = "" if deterministic else _SEEDED if self._app is not None else _UNSEEDED
        self._trained_by = _check_strategy(strategy)
        self.score_name = function_words(score)
        self.empty = (
            self._scored(initial_arrays)
            if empty is None
            else check_number(f"{owner}: empty", empty, ", or None")
        )
        self._about = facts(f"{len(self._configs)} clients", f"{num_rounds} rounds", name_of(score))

    @property
    def model_name(self) -> str:  # type: ignore[override]
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        return f"{self._trained_by} over {rounds} of a Flower app"

    def check(self, providers: Sequence[Provider]) -> None:
        for provider in providers:
            if provider.name not in self._configs:
                raise InvalidInput(
                    f"FlowerUtility: provider {provider.name!r} is not among its clients: "
                    f"{nearest(provider.name, list(self._configs))}"
                )
        if self._deterministic:
            names = tuple(provider.name for provider in providers)
            everybody = (1 << len(names)) - 1
            games = [_Game((None,) * len(names), names, index) for index in range(2)]
            one, other = (self._worth(game, everybody) for game in games)
            # Strategies add up replies in a random order, which changes the last digits.
            if not isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
                raise InvalidInput(
                    "FlowerUtility: deterministic must be False, because two trainings of all "
                    f"clients were scored {one!r} and {other!r}"
                )

    def summarise(self, batch: Batch) -> IntArray | None:
        """Return the row numbers of the draw."""
        return np.asarray(batch.X)[:, 0].astype(np.int64) if self._draws else None

    def summary_floats(self, draw_size: int) -> int:
        return draw_size

    def in_games(
        self, games: GameSummaries, names: Sequence[str], indices: range, seeds: Seeds
    ) -> GameSummaries:
        return [
            replace(self._game(summaries), names=tuple(names), index=index, seeds=seeds)
            for index, summaries in zip(indices, games, strict=True)
        ]

    def with_presence(self, games: GameSummaries, present: BoolArray) -> GameSummaries:
        return [
            replace(self._game(summaries), present=mask)
            for summaries, mask in zip(games, present, strict=True)
        ]

    def after_rounds(self) -> Folded:
        whole = copy(self)
        whole._memory = {}
        parts = []
        for after in range(1, self.rounds + 1):
            part = copy(whole)
            part._after = after
            parts.append(part)
        return Folded(whole, parts, whole._memory.clear)

    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:
        game = self._game(summaries)
        return np.array([self._worth(game, coalition) for coalition in coalitions])

    def _game(self, summaries: Any) -> _Game:
        """The game of some summaries; outside of a valuation they belong to the first clients."""
        if isinstance(summaries, _Game):
            return summaries
        return _Game(list(summaries), tuple(self._configs)[: len(summaries)])

    def _worth(self, game: _Game, coalition: int) -> float:
        if coalition == 0:
            return self.empty
        try:
            if self._memory is None:
                return self._trained(game, coalition)[-1]
            scores = self._memory.get((game.index, coalition))
            if scores is None:
                scores = self._memory[game.index, coalition] = self._trained(
                    game, coalition, after_rounds=True
                )
        except ShapbandError as cause:
            raise CoalitionFailed(coalition, str(cause)) from cause
        except (Exception, SystemExit) as cause:
            raise CoalitionFailed(coalition, error_line(cause)) from cause
        return scores[-1 if self._after is None else self._after - 1]

    def _trained(self, game: _Game, coalition: int, *, after_rounds: bool = False) -> list[float]:
        """Train a coalition, and score its model after each round, or after the last."""
        places = list(members(coalition))
        names = [game.names[place] for place in places]
        nodes = names if self._app is not None else [self._configs[name] for name in names]
        drawn = {
            node: rows
            for node, place in zip(nodes, places, strict=True)
            if (rows := game.draws[place]) is not None
        }
        present = None if game.present is None else game.present[:, places]
        scores: list[float] = []

        def keep(arrays: ArrayRecord) -> None:
            scores.append(self._scored(arrays))

        with TURNS, quiet(), seeded(game.word("strategy")):
            grid = CoalitionGrid(
                self._clients(game), nodes, draws=drawn, absent_on_error=self._absent_on_error
            )
            final = self._plan.train(grid, nodes, present, keep if after_rounds else None)
            return scores if after_rounds else [self._scored(final)]

    def _clients(self, game: _Game) -> Grid:
        """A grid of all clients; in this process their random numbers are those of the game."""
        if self._app is None:
            assert self._grid is not None  # noqa: S101  one of the two is given
            return self._grid
        return InProcessGrid(
            self._app, self._configs, run_config=self._run_config, around=game.seed_client
        )

    def _scored(self, arrays: ArrayRecord) -> float:
        """Score a copy of a model, with random numbers that do not depend on it."""
        with TURNS if self._memory is None else nullcontext(), seeded(0):
            return float(self._score(ArrayRecord(dict(arrays))))


def _check_strategy(strategy: Callable[[], Strategy]) -> str:
    """Check that strategies start with a single node, and return the name of their class."""
    with TURNS, quiet():
        made = strategy()
    wanted = "a function that returns a new Strategy of Flower"
    check_kind("FlowerUtility: strategy", made, Strategy, wanted)
    inner = getattr(made, "strategy", made)  # some strategies of Flower surround another one
    needed = [name for name in _LEAST if getattr(inner, name, 0) > 1]
    if needed:
        raise InvalidInput(
            "FlowerUtility: strategy must start with one node, because single clients are trained, "
            f"too; received {', '.join(f'{name}={getattr(inner, name)}' for name in needed)}: use "
            f"{type(inner).__name__}({', '.join(f'{name}=1' for name in needed)}, ...)"
        )
    return type(made).__name__


def _node_ids(clients: Any) -> dict[str, int]:
    """Check the node IDs of clients that a grid knows."""
    known = isinstance(clients, Mapping) and bool(clients)
    if not known or not all(isinstance(name, str) for name in clients):
        raise InvalidInput(
            "FlowerUtility: clients of a grid must be node IDs by name, such as "
            '{"north": 123, "south": 456}'
        )
    return {
        name: check_whole(f"FlowerUtility: clients[{name!r}]", node, 0, most=None)
        for name, node in clients.items()
    }
