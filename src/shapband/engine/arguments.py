"""A valuation's arguments, checked and completed before any source is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from shapband._typing import BoolArray, IntArray
from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget, check_budget
from shapband.checks import (
    check_kind,
    check_number,
    check_whole,
    concerning,
    error_line,
    steady_repr,
    written,
)
from shapband.engine.folds import choose_folds, enough_games
from shapband.engine.interactions import (
    check_gives_interactions,
    check_interactions,
    interaction_solver,
)
from shapband.engine.kinds import check_kinds
from shapband.engine.leaving import LeftOut, describe, without
from shapband.engine.presence import check_by_round, check_participation, present_counts
from shapband.engine.replays import choose_replays
from shapband.engine.shortcuts import EVERYBODY, Averaging, choose_averaging, why_certain
from shapband.errors import InvalidInput, ShapbandError
from shapband.estimate.stopping import StoppingRule
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY, Index, check_index
from shapband.providers import Group, Provider, check_providers
from shapband.records.batch import Schema
from shapband.sampling.base import Sampling
from shapband.sampling.design import Design
from shapband.sampling.participation import AVERAGED, DRAWN, Participation, who_is_present
from shapband.sampling.replays import Replays
from shapband.sampling.validation import Validation
from shapband.seeds import Seeds, seeds_of
from shapband.solvers.base import Solver
from shapband.solvers.default import default_group_solver, default_solver
from shapband.solvers.exact import Exact
from shapband.solvers.known import Known
from shapband.utilities.base import Utility

# With averages over who is present, `Exact` is the default up to this many providers. This is more
# than without averages, because one average replaces 5 to 20 games.
_AVERAGED_UP_TO = 14


@dataclass(frozen=True, eq=False)
class Arguments:
    """Everything that determines a valuation; made by `check_arguments`."""

    providers: tuple[Provider, ...]
    utility: Utility
    sampling: Sampling
    solver: Solver
    n_games: int
    seeds: Seeds
    budget: Budget
    stop: StoppingRule | None = None
    chunk_size: int | None = None
    keep_games: int | None = None
    concurrency: int = CONCURRENCY
    timeout: float = TIMEOUT
    index: Index = SHAPLEY
    reason: str = ""  # why the library chose the solver; empty if the user named one
    sampling_reason: str = ""  # why the library chose the sampling, likewise
    certain: str = ""  # why all games are equal; empty if anything in them is random
    grouping: Grouping | None = None
    participation: Participation | None = None
    averaging: Averaging = EVERYBODY
    validation: Validation | None = None  # whether errors cover the choice of validation rows
    rows_kept: tuple[IntArray, ...] = ()  # validation rows that are left without each fold
    interactions: bool = False
    held_out: float | None = None  # fraction of every provider's records that scores models
    by_round: bool = False
    replays: Replays | None = None  # what differs when games are played again
    left_out: tuple[LeftOut, ...] = ()  # providers without whom the valuation goes on

    @property
    def fold_games(self) -> int:
        """Number of games, from the first on, that are solved again without each fold."""
        return 0 if self.validation is None else self.validation.games

    @property
    def draws_presence(self) -> bool:
        """Whether every game draws who takes part; if not, games use the records of everybody."""
        drawn = self.participation is not None and not self.averaging.averages
        return drawn and self.rounds == 0

    @property
    def rounds(self) -> int:
        """Rounds of training in a game, if participation is drawn for each of them; else 0."""
        per_round = self.participation is not None and self.participation.per == "round"
        return self.utility.rounds if per_round else 0

    def present(self, games: range) -> BoolArray:
        """Whose records consecutive games use: (n_games, n)."""
        drawn = self.participation if self.draws_presence else None
        return who_is_present(drawn, self.seeds, self.names, games)

    @property
    def most_present(self) -> int:
        """Largest number of providers in a game."""
        if self.participation is None:
            return len(self.providers)
        return max(present_counts(self.participation, self.names, self.utility))

    @property
    def names(self) -> tuple[str, ...]:
        """The providers' names, in the order of all arrays."""
        return tuple(provider.name for provider in self.providers)

    @property
    def setup(self) -> dict[str, str]:
        """Utility, value of the empty coalition, index, sampling and solver as strings.

        "model" and "score" name the utility's model and score for readers, if they are known.
        "target" is the column with the targets, if the sources name one and the same.
        "presence" says whether presence was averaged over or drawn, and why. "chosen" is the
        reason why the library chose the solver, if the user named none. "utility_chosen" is the
        reason for the utility, if `utility_for` chose it, and "sampling_chosen" the reason for the
        sampling, if the user named none. "validation" says which part of the records was held out,
        if the user gave a fraction. "training" says what is random in the fit of a model.
        "left_out" names providers that failed, and says what follows for the values.
        """
        scored = self.utility.empty_name or ("a dummy model" if self.utility.baseline else "")
        source = f" ({scored})" if scored else ""
        setup = {
            "utility": type(self.utility).__name__,
            **_named_model(self.utility),
            **_named_target(self.providers),
            "empty": f"v(∅) = {float(self.utility.empty):.6g}{source}",
            "index": steady_repr(self.index),
            "sampling": steady_repr(self.sampling),
            "solver": steady_repr(self.solver),
            **_told(self.participation, self.averaging),
        }
        if self.held_out is not None:
            setup["validation"] = held_out_words(self.held_out)
        reasons = {
            "training": self.utility.training,
            "utility_chosen": self.utility.chosen,
            "sampling_chosen": self.sampling_reason,
            "chosen": self.reason,
            "certain": self.certain,
            "left_out": describe(self.left_out),
        }
        return setup | {word: reason for word, reason in reasons.items() if reason}

    def completed(self, design: Design, **known: Any) -> Design:
        """Complete the design that the sampling began; `known` has facts about the records."""
        estimand = design.estimand
        if self.participation is not None:
            estimand = f"{estimand}, {self.participation.estimand}"
        if self.left_out:
            names = ", ".join(repr(one.name) for one in self.left_out)
            estimand = f"{estimand}, without {names}"
        return replace(
            design,
            estimand=estimand,
            participation=self.participation,
            averaged=self.averaging.averages,
            grouping=self.grouping,
            rounds=self.rounds,
            replays=self.replays,
            setup={**design.setup, **self.setup},
            validation=self.validation,
            **known,
        )


def check_arguments(
    providers: Sequence[Provider | Group],
    utility: Utility,
    *,
    sampling: Sampling,
    n_games: int,
    seed: int | None,
    solver: Solver | None = None,
    index: Index | None = None,
    budget: Budget | None = None,
    stop: StoppingRule | None = None,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    participation: Participation | None = None,
    fixed_validation: bool = False,
    validation_groups: Any = None,
    sampling_reason: str = "",
    interactions: bool = False,
    held_out: float | None = None,
    by_round: bool = False,
    variance_parts: bool = False,
    left_out: Sequence[LeftOut] = (),
    locate: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Arguments:
    """Check all arguments of a valuation before any source is asked, and fill in the defaults.

    The arguments are the same as in `value`; `sampling_reason` says why the library chose the
    sampling, `held_out` is the fraction if `validation` was one, `left_out` are providers that are
    not asked, and `locate` returns a context that adds the position of an argument, such as the key
    in a configuration file, to its errors.
    """
    with locate("providers"):
        checked, grouping = check_providers(without(providers, left_out))
    names = [provider.name for provider in checked]
    with locate("participation"):
        check_participation(participation, names)
    check_kinds(utility, sampling, solver, stop)
    with locate("participation"):
        present = present_counts(participation, names, utility)
    weighing = check_index(SHAPLEY if index is None else index, len(checked))
    players = _player_sizes(names, grouping)
    _check_grouped(grouping, players, weighing, participation)
    check_interactions(interactions, names, players, weighing, participation)
    check_by_round(by_round, utility, players)
    replays = choose_replays(variance_parts, utility, participation)
    chosen, reason = solver, ""
    if chosen is None:
        averages = choose_averaging(participation, sampling, Exact(), weighing, names).averages
        if averages and len(names) <= _AVERAGED_UP_TO and utility.mergeable:
            chosen = Exact()
            reason = "the values of all coalitions give the average over who is present"
        elif interactions:
            chosen, reason = interaction_solver(max(present), utility)
        elif max(players) > 1:
            chosen, reason = default_group_solver(players)
        else:
            chosen, reason = default_solver(max(present), utility, sampling, weighing)
    if chunk_size is not None:
        check_whole("chunk_size", chunk_size, 1, ", or None to let the library choose")
    if keep_games is not None:
        check_whole("keep_games", keep_games, 0, ", or None for as many as fit in 40 MB")
    check_whole("concurrency", concurrency, 1)
    with locate("solver"):
        _check_any_index(chosen, weighing)
        if interactions:
            check_gives_interactions(chosen)
        if isinstance(chosen, Known) and not utility.knows_values:
            raise InvalidInput(
                f"Known: {type(utility).__name__} does not know its Shapley values: use another "
                "solver, or None to let the library choose"
            )
        if max(players) > 1:
            chosen.check_groups(players)
        else:
            for size in present:
                (chosen if size == len(checked) else chosen.for_size(size)).check(size)
    with locate("sampling"):
        sampling.check(checked)
    with locate("utility"):
        _check_utility(utility, checked)
        _check_draw_sizes(utility, sampling, checked)
    check_kind("fixed_validation", fixed_validation, bool, "True or False")
    folds = choose_folds(utility, len(checked), validation_groups, fixed=fixed_validation)
    certain = why_certain(checked, utility, sampling, chosen, participation)
    if certain:
        check_whole("n_games", n_games, 1)
    else:
        check_whole("n_games", n_games, 2, " (a variance needs two games)")
    given = Arguments(
        providers=checked,
        utility=utility,
        sampling=sampling,
        solver=chosen,
        n_games=int(n_games),
        seeds=seeds_of(seed),
        budget=check_budget(budget),
        stop=stop,
        chunk_size=chunk_size,
        keep_games=keep_games,
        concurrency=concurrency,
        timeout=_check_timeout(timeout),
        index=weighing,
        reason=reason,
        sampling_reason=sampling_reason,
        certain=certain,
        grouping=grouping,
        participation=participation,
        averaging=choose_averaging(participation, sampling, chosen, weighing, names),
        validation=folds[0],
        rows_kept=folds[1],
        interactions=interactions,
        held_out=held_out,
        by_round=by_round,
        replays=replays,
        left_out=tuple(left_out),
    )
    return replace(given, validation=enough_games(given.validation, given.present))


def held_out_words(fraction: float) -> str:
    """Say which part of the records was held out; a run is compared by these words."""
    return f"{fraction!r} of every provider's records"


def _player_sizes(names: Sequence[str], grouping: Grouping | None) -> list[int]:
    """Number of providers of every player of the game between groups."""
    if grouping is None:
        return [1] * len(names)
    return [len(members) for members in grouping.players(names).values()]


def _check_grouped(
    grouping: Grouping | None,
    players: Sequence[int],
    index: Index,
    participation: Participation | None,
) -> None:
    """Refuse arguments for which Owen values of groups, or their moments, are not implemented."""
    if max(players) > 1 and index != SHAPLEY:
        raise InvalidInput(
            f"index: groups share their Shapley value among their members; received {index!r}: "
            "leave index out, or value the providers without groups"
        )
    if grouping is not None and participation is not None:
        raise InvalidInput(
            "participation: with groups everybody must take part: leave participation out, or "
            "value the providers without groups"
        )


def _named_model(utility: Utility) -> dict[str, str]:
    """Name the model and the score of a utility, if it names them for values of its own class."""
    named = {"model": utility.model_name, "score": utility.score_name}
    return {word: name for word, name in named.items() if name and utility.knows_model}


def _named_target(providers: Sequence[Provider]) -> dict[str, str]:
    """Name the column with the targets, if the sources that know it agree."""
    known = {one.source.target for one in providers if isinstance(one.source.target, str)}
    return {"target": known.pop()} if len(known) == 1 else {}


def _told(participation: Participation | None, averaging: Averaging) -> dict[str, str]:
    if participation is None:
        return {}
    told = {"participation": repr(participation)}
    if averaging.reason:
        way = AVERAGED if averaging.averages else DRAWN
        told["presence"] = f"{way}, because {averaging.reason}"
    return told


def _check_any_index(solver: Solver, index: Index) -> None:
    if index != SHAPLEY and not solver.any_index:
        owner = type(solver).__name__
        raise InvalidInput(
            f"{owner} computes Shapley values only; received the index {index!r}: use Exact, "
            f"Permutation or BalancedPermutation, or set {owner}.any_index = True if its solve "
            "follows games.index"
        )


def _check_draw_sizes(utility: Utility, sampling: Sampling, providers: Sequence[Provider]) -> None:
    """Check that the utility can use the draws, if their sizes are known before records are."""
    sizes = sampling.sizes(providers)
    if sizes is None:
        return
    for provider, size in zip(providers, sizes.tolist(), strict=True):
        with concerning(f"provider {provider.name!r}"):
            utility.check_draw_size(size)


def _check_utility(utility: Utility, providers: Sequence[Provider]) -> None:
    """Check the attributes of a utility, and let it check the providers."""
    owner = type(utility).__name__
    check_number(f"{owner}.empty", utility.empty)
    check_whole(f"{owner}.failures", utility.failures, 0)
    if not (utility.schema is None or isinstance(utility.schema, Schema)):
        raise InvalidInput(
            f"{owner}.schema must be a Schema(n_features) or None; received "
            f"{written(utility.schema)}"
        )
    try:
        utility.check(providers)
    except ShapbandError:
        raise
    except Exception as cause:
        raise InvalidInput(
            f"{owner} must accept or refuse the providers, but its check failed "
            f"({error_line(cause)})"
        ) from cause


def _check_timeout(timeout: float) -> float:
    if check_number("timeout", timeout) <= 0:
        raise InvalidInput(f"timeout must be above 0 seconds; received {timeout!r}")
    return float(timeout)
