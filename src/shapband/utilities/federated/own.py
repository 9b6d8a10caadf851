"""Federated training of a model of the user, with plain functions over lists of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from shapband._facts import facts, name_of
from shapband._typing import AnyArray, BoolArray, FloatArray
from shapband.checks import check_kind, check_number, described, error_line, one_line, written
from shapband.coalitions import members
from shapband.errors import InvalidInput
from shapband.records.batch import Batch
from shapband.seeds import Seeds
from shapband.utilities.base import CoalitionFailed, GameSummaries, Utility
from shapband.utilities.federated.presence import split, with_presence
from shapband.utilities.federated.rules import Rules
from shapband.utilities.rows import Folded
from shapband.utilities.wording import function_words, rounds_words

Parameters: TypeAlias = list[AnyArray]
LocalUpdate: TypeAlias = Callable[[Parameters, Any, Any, np.random.Generator], Sequence[Any]]
ScoreOfParameters: TypeAlias = Callable[[Parameters], float]

_OWNER = "FederatedUtility.of"
_OUTSIDE = Seeds(0)  # random streams for training outside of a valuation
_TRAINING = (
    "local_update gets a random generator that follows from the seed, the game, the round and the "
    "client; if it uses it, the variance includes the randomness of training"
)


@dataclass(frozen=True, eq=False)
class _Game(Sequence[Batch]):
    """The draws of one game, with what its random streams are addressed by.

    Attributes
    ----------
    batches : the draws of all clients, with or without who is present
    names : of the clients
    number : of the game in the valuation
    seeds : the random streams of the valuation
    first : parameters of clients after round 1, which are the same in all coalitions
    """

    batches: Sequence[Batch]
    names: Sequence[str]
    number: int
    seeds: Seeds
    first: dict[int, Parameters] = field(default_factory=dict)

    def __getitem__(self, place: Any) -> Any:
        return self.batches[place]

    def __len__(self) -> int:
        return len(self.batches)

    def generator(self, round_: int, place: int) -> np.random.Generator:
        """Return the random numbers of a client in a round (from 0)."""
        return self.seeds.generator(f"training/{round_}", self.names[place], self.number)


# Scores after each round by game and coalition, and the draws of the game, so that no other object
# gets their identity.
_Known: TypeAlias = dict[tuple[object, ...], tuple[Sequence[Batch], list[float]]]


class FederatedFunctionUtility(Utility):
    """A coalition is worth the score of parameters that its members train in rounds.

    It is made by `FederatedUtility.of`, which describes the parameters.
    """

    training = _TRAINING
    _memory: _Known | None = None

    def __init__(
        self,
        initial: Sequence[Any],
        local_update: LocalUpdate,
        score: ScoreOfParameters,
        rules: Rules,
        empty: float | None,
    ) -> None:
        check_kind(
            f"{_OWNER}: local_update",
            local_update,
            Callable,
            "a function local_update(parameters, X, y, rng)",
        )
        check_kind(f"{_OWNER}: score", score, Callable, "a function score(parameters)")
        self._initial = _check_initial(initial)
        self._local_update, self._score, self._rules = local_update, score, rules
        self.rounds, self._round = rules.rounds, rules.rounds  # scored after `_round` rounds
        self.score_name = function_words(score)
        self.empty_name = "the initial model" if empty is None else ""
        self.empty = (
            self._initial_score() if empty is None else check_number(f"{_OWNER}: empty", empty)
        )
        self._about = facts(
            name_of(local_update),
            f"score={name_of(score)}",
            rounds=rules.rounds,
            aggregation=rules.aggregation,
            momentum=rules.momentum,
            records_per=rules.records_per,
            empty=self.empty,
        )

    @property
    def model_name(self) -> str:  # type: ignore[override]
        words = function_words(self._local_update)
        return f"federated training by {words}, {rounds_words(self.rounds)}"

    def summarise(self, batch: Batch) -> Batch:
        """Return the draw, whose size must fit the number of rounds."""
        self.check_draw_size(len(batch))
        return batch

    def check_draw_size(self, size: int) -> None:
        self._rules.check_size(size)

    def with_presence(self, games: GameSummaries, present: BoolArray) -> GameSummaries:
        return with_presence(games, present, self.rounds)

    def in_games(
        self, games: GameSummaries, names: Sequence[str], indices: range, seeds: Seeds
    ) -> GameSummaries:
        return [_Game(games[at], names, number, seeds) for at, number in enumerate(indices)]

    def after_rounds(self) -> Folded:
        whole, parts = copy(self), []
        if whole._memory is None:
            whole._memory = {}
        for round_ in range(1, self.rounds + 1):
            part = copy(whole)
            part._round = round_
            parts.append(part)
        return Folded(whole, parts, whole._memory.clear)

    def evaluate(self, summaries: Sequence[Batch], coalitions: Sequence[int]) -> FloatArray:
        game = summaries
        if not isinstance(game, _Game):
            game = _Game(summaries, [str(place) for place in range(len(summaries))], 0, _OUTSIDE)
        return np.array([self._worth(game, mask) for mask in coalitions], dtype=np.float64)

    def _worth(self, game: _Game, coalition: int) -> float:
        if coalition == 0:
            return self.empty
        if self._memory is None:
            return self._scores(game, coalition)[-1]
        draws, present = split(game.batches, self.rounds)
        key = (id(draws), present.tobytes(), game.number, coalition)
        if key not in self._memory:
            self._memory[key] = draws, self._scores(game, coalition, each_round=True)
        return self._memory[key][1][self._round - 1]

    def _scores(self, game: _Game, coalition: int, *, each_round: bool = False) -> list[float]:
        """Scores of a coalition after all rounds that are wanted, the last one or each."""
        try:
            draws, present = split(game.batches, self.rounds)
            parameters, change = self._initial, [np.zeros(one.shape) for one in self._initial]
            found = []
            for round_ in range(self.rounds if each_round else self._round):
                here = [i for i in members(coalition) if present[round_, i] and len(draws[i])]
                if here:
                    mean = self._mean(game, draws, parameters, here, round_)
                    for last, new, old in zip(change, mean, parameters, strict=True):
                        last *= self._rules.momentum
                        last += new - old
                    parameters = [
                        (old + last).astype(old.dtype)
                        for old, last in zip(parameters, change, strict=True)
                    ]
                if each_round or round_ + 1 == self._round:
                    found.append(self._score_of(parameters))
        except _Refused as refused:
            raise CoalitionFailed(coalition, str(refused)) from refused.__cause__
        return found

    def _mean(
        self,
        game: _Game,
        draws: Sequence[Batch],
        start: Parameters,
        here: Sequence[int],
        round_: int,
    ) -> list[FloatArray]:
        """The mean of the parameters of the members that are present after their local updates."""
        shares = self._rules.shares(np.array([len(draws[i]) for i in here]))
        sums = [np.zeros(one.shape) for one in start]
        for place, share in zip(here, shares.tolist(), strict=True):
            if round_ == 0 and place in game.first:
                updated = game.first[place]
            else:
                updated = self._updated(game, draws[place], start, place, round_)
            if round_ == 0:
                game.first[place] = updated
            for total, own in zip(sums, updated, strict=True):
                total += share * own
        return [total / shares.sum() for total in sums]

    def _updated(
        self, game: _Game, draw: Batch, start: Parameters, place: int, round_: int
    ) -> Parameters:
        """The parameters of a client after its local update."""
        own = draw.copy()  # a local update may change its records in place
        if self._rules.records_per == "round":
            size = len(draw) // self.rounds
            own = draw.take(np.arange(round_ * size, (round_ + 1) * size))
        what = f"local_update for {game.names[place]!r} in round {round_ + 1}"
        try:
            found = self._local_update(
                [one.copy() for one in start], own.X, own.y, game.generator(round_, place)
            )
        except (Exception, SystemExit) as cause:
            raise _Refused(f"{what} failed: {error_line(cause)}") from cause
        return _check_returned(found, self._initial, what)

    def _score_of(self, parameters: Parameters) -> float:
        try:
            found = self._score([one.copy() for one in parameters])
        except (Exception, SystemExit) as cause:
            raise _Refused(f"score failed: {error_line(cause)}") from cause
        try:
            return check_number("the result of score", float(found))
        except (TypeError, ValueError, InvalidInput) as cause:
            raise _Refused(
                f"score must return a finite number; received {written(found)}"
            ) from cause

    def _initial_score(self) -> float:
        """The score of the initial parameters, which is the value of the empty coalition."""
        try:
            return self._score_of(self._initial)
        except _Refused as cause:
            raise InvalidInput(
                f"{_OWNER}: the initial parameters cannot be scored: {one_line(cause)}"
            ) from cause


class _Refused(Exception):
    """A function of the user failed, or returned what cannot be used."""


def _check_initial(initial: Any) -> Parameters:
    """Copy the initial parameters: float32 and float64 arrays as they are, others as float64."""
    rule = f"{_OWNER}: initial must be a list of arrays of finite numbers, such as [weights, bias]"
    if isinstance(initial, str | dict | np.ndarray) or not isinstance(initial, Sequence):
        raise InvalidInput(f"{rule}; received {described(initial)}")
    if not len(initial):
        raise InvalidInput(f"{rule}; received an empty list")
    found = []
    for at, one in enumerate(initial):
        try:
            array = np.array(one)
            kept = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
            found.append(np.array(array, dtype=kept, order="C"))
        except (TypeError, ValueError) as cause:
            raise InvalidInput(f"{rule}; array {at} is not one ({one_line(cause)})") from cause
        if not np.isfinite(found[-1]).all():
            raise InvalidInput(f"{rule}; array {at} holds NaN or infinity")
    return found


def _check_returned(found: Any, initial: Parameters, what: str) -> Parameters:
    """Copy what a local update returned, after a check of shapes and numbers."""
    shapes = ", ".join(str(one.shape) for one in initial)
    if isinstance(found, np.ndarray | str) or not isinstance(found, Sequence):
        raise _Refused(f"{what} must return a list of arrays; received {described(found)}")
    if len(found) != len(initial):
        raise _Refused(
            f"{what} must return {len(initial)} arrays, as many as the initial parameters; "
            f"received {len(found)}"
        )
    copies = []
    for one, expected in zip(found, initial, strict=True):
        try:
            copies.append(np.array(one, dtype=expected.dtype))
        except (TypeError, ValueError, RuntimeError) as cause:
            raise _Refused(f"{what} must return arrays of numbers ({one_line(cause)})") from cause
        if copies[-1].shape != expected.shape:
            raise _Refused(
                f"{what} must return arrays of the shapes {shapes}; received one of shape "
                f"{copies[-1].shape}"
            )
        if not np.isfinite(copies[-1]).all():
            raise _Refused(
                f"{what} returned NaN or infinity: training may diverge, so use smaller steps"
            )
    return copies
