"""value_recorded(): values of clients from the updates of one training run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from shapband.checks import check_kind, check_number, check_whole, written
from shapband.errors import InvalidInput
from shapband.federated.checking import Differences, Retrain, checking_solver
from shapband.federated.pairs import FEWEST
from shapband.federated.playing import SolverFor, one_game, play_once, play_rounds, solve
from shapband.federated.rebuilding import Score
from shapband.federated.recording import Recording, check_rounds
from shapband.federated.result import METHODS, Method, RecordedValuation
from shapband.federated.rounds import RecordedRound
from shapband.seeds import Seeds
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.solvers.strata import Strata

_ENUMERATED = 12  # clients up to which all coalitions are scored if no solver is given
_PER_CLIENT = 40  # coalitions that `Strata` scores for each client if there are more


def value_recorded(
    rounds: Sequence[RecordedRound],
    score: Score,
    *,
    method: Method,
    weights: Literal["records", "even"] = "records",
    truncation: float | None = None,
    names: Sequence[str] | None = None,
    solver: Solver | None = None,
    check: int | None = None,
    retrain: Retrain | None = None,
    seed: int | None = None,
) -> RecordedValuation:
    """Value federated clients from the updates of one training run, without training again.

    The exact value of a client needs the score of every coalition's own training. Here the model of
    a coalition is rebuilt from updates that its members made while they trained with everybody. The
    values are Shapley values of the rebuilt scores, and differ from exact ones; the result states
    how much they differed in a study, and `check` estimates by how much they do here.

    - ``"OR"``, one reconstruction: the initial model plus, over all rounds, the average of the
      updates of the coalition's present members (Song et al. 2019). One game.
    - ``"MR"``, multi-round reconstruction: in each round the recorded global model plus the average
      update of the coalition. The values of all rounds are added (Song et al. 2019). Only clients
      that are present in a round have a value in it; with sampled clients this is the federated
      Shapley value, FedSV (Wang et al. 2020). `truncation` gives a round no value if the score of
      its global model changes little, as the truncation between rounds of GTG-Shapley does (Liu et
      al. 2022).
    - ``"one-round"``: a single round in which every client trains from the initial model, alone,
      for as many steps as the run has in all its rounds. Such updates have to be recorded apart
      from the run. They need one more message to each client, and the values were much nearer to
      exact ones in the study.

    Parameters
    ----------
    rounds : all rounds of the run, in order, from the initial model on; for ``"one-round"`` the
        one round described above
    score : function of a list of arrays, as in `RecordedRound.parameters`, that returns the score
        of a model, larger for better models. It must give the same score for the same model
    method : see above
    weights : how the run averaged its clients, and coalitions are averaged: by their numbers of
        records, or evenly
    truncation : for ``"MR"``: rounds in which the score of everybody's model changes by no more
        than this are skipped
    names : all clients, also those who were never present, whose value is 0; by default the clients
        of the rounds, in the order in which they appear
    solver : how many coalitions are scored; by default all of them up to 12 clients, and
        `Strata` with 40 coalitions per client for more
    check : number of coalitions to retrain, at least 9 or all of them
    retrain : function of a coalition, a tuple of names, that trains its model and returns the
        score. It must train as the recorded run did. It is called at most `check` times, never for
        nobody
    seed : of the solver and of the coalitions that are retrained; random by default

    References
    ----------
    Song, Tong and Wei, Profit allocation for federated learning, IEEE Big Data 2019.
    Wang, Rausch, Zhang, Jia and Song, A principled approach to data valuation for federated
    learning, 2020, arXiv:2009.06192.
    Liu, Chen, Yu, Liu and Cui, GTG-Shapley: efficient and accurate participant contribution
    evaluation in federated learning, ACM TIST 2022.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> start = [np.zeros(1)]
    >>> rounds = [sb.RecordedRound(start, {"north": ([np.array([1.0])], 60),
    ...                                    "south": ([np.array([0.5])], 20)})]
    >>> found = sb.value_recorded(rounds, lambda parameters: -(parameters[0][0] - 1.0) ** 2,
    ...                           method="OR")
    >>> found.names, found.values.tolist()
    (('north', 'south'), [0.6171875, 0.3671875])
    """
    _check_choice("method", method, METHODS)
    _check_choice("weights", weights, ("records", "even"))
    recording = check_rounds(rounds, names, even=weights == "even")
    check_kind("score", score, Callable, "a function of a list of arrays that returns a number")
    _check_truncation(truncation, method)
    if method == "one-round":
        _check_one_round(recording)
    solver_for = _check_solver(solver, recording, method)
    n = len(recording.names)
    checker = _check_check(check, retrain, n)
    seeds = Seeds.fresh() if seed is None else Seeds(check_whole("seed", seed, 0, most=None))
    if method == "MR":
        played = play_rounds(recording, score, solver_for, truncation, seeds)
    else:
        played = play_once(recording, score, solver_for, seeds)
    bias, bias_error, retrained = None, None, 0
    if retrain is not None and checker is not None:
        differences = Differences(recording.names, retrain, played.rebuilt)
        # The number of the game differs from all others, and so do its random coalitions.
        game = one_game(differences, recording.names, len(recording.rounds), seeds)
        solved = solve(game, checker)
        bias, bias_error = -solved.values[0], np.sqrt(solved.noise[0])
        retrained = solved.evaluations
    return RecordedValuation(
        names=recording.names,
        method=method,
        values=played.values,
        solver_error=np.sqrt(played.noise),
        rounds_present=recording.present.sum(axis=0),
        n_rounds=len(recording.rounds),
        by_round=played.by_round,
        skipped=played.skipped,
        truncation=truncation,
        start=played.start,
        weights=weights,
        departures=recording.departures,
        solver=repr(solver_for(n)),
        seed=seeds.seed,
        evaluations=played.evaluations,
        bias=bias,
        bias_error=bias_error,
        retrained=retrained,
    )


def _check_choice(name: str, choice: object, known: Sequence[str]) -> None:
    if choice not in known:
        listed = ", ".join(repr(one) for one in known)
        raise InvalidInput(f"{name} must be one of {listed}; received {written(choice)}")


def _check_truncation(truncation: float | None, method: Method) -> None:
    if truncation is None:
        return
    check_number("truncation", truncation, least=0)
    if method != "MR":
        raise InvalidInput(
            f"truncation skips rounds of method 'MR'; received method {method!r}, which has no "
            "value of a round: leave truncation out"
        )


def _check_one_round(recording: Recording) -> None:
    """Check that there is one round, in which every client trained."""
    if len(recording.rounds) != 1:
        raise InvalidInput(
            "method 'one-round' takes a single round, in which every client trains from the "
            "initial model for as many steps as the run has in all rounds; received "
            f"{len(recording.rounds)} rounds: record that round, or use 'OR' or 'MR'"
        )
    for name in recording.names:
        if name not in recording.rounds[0].updates:
            raise InvalidInput(
                f"method 'one-round' needs the update of every client; {written(name)} has none: "
                "record it, or leave the client out of `names`"
            )


def _check_solver(solver: Solver | None, recording: Recording, method: Method) -> SolverFor:
    """Check that all games can be solved, and return the solver for each number of clients."""
    if solver is None:
        return _default_solver
    check_kind("solver", solver, Solver, "a solver, such as sb.Exact() or sb.Strata(500)")
    n = len(recording.names)
    solver.check(n)
    sizes = set(recording.present.sum(axis=1).tolist()) - {0, n} if method == "MR" else set()
    for size in sorted(sizes):
        solver.for_size(size).check(size)
    return lambda size: solver if size == n else solver.for_size(size)


def _default_solver(n: int) -> Solver:
    return Exact() if n <= _ENUMERATED else Strata(_PER_CLIENT * n)


def _check_check(check: int | None, retrain: Retrain | None, n: int) -> Solver | None:
    """Check both arguments of a check, and return the solver of the game of differences."""
    if (check is None) != (retrain is None):
        missing, given = ("retrain", "check") if retrain is None else ("check", "retrain")
        raise InvalidInput(
            f"{given} is given without {missing}: pass check=20, the number of coalitions to "
            "retrain, with retrain=, a function of a tuple of names that returns a score"
        )
    if check is None:
        return None
    check_kind("retrain", retrain, Callable, "a function of a tuple of names")
    least = min(FEWEST, 2**n - 1)
    return checking_solver(check_whole("check", check, least, f" for {n} clients"), n)
