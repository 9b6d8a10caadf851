"""What samplings and participations say when they refuse something, word for word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.sampling.participation import who_is_present
from shapband.sampling.participations import OwnClass, from_plain, to_plain
from shapband.seeds import Seeds

NAMES = ["north", "south"]
NAN = float("nan")


class Shapeless(sb.Cohort):
    """A participation of somebody's own that returns what it is made with."""

    def present(self, seeds: Any, names: Any, games: Any) -> Any:
        return np.ones((1, 3))


RULE = "Independent: probability"
ROUNDS = "Trace: rounds must be"
MESSAGES: dict[str, Callable[[], Any]] = {
    f"{RULE} is empty: give a probability for each provider": lambda: sb.Independent({}),
    f"{RULE} must be by the names of providers; received 3": lambda: sb.Independent({3: 0.5}),
    f"{RULE} must be a finite number; received nan": lambda: sb.Independent(NAN),
    f"{RULE}['north'] must be a finite number; received None": (
        lambda: sb.Independent({"north": None})
    ),
    f"{RULE} must lie between 0 and 1; received 1.5": lambda: sb.Independent(1.5),
    f"{RULE} must lie between 0 and 1; received -0.5": lambda: sb.Independent(-0.5),
    f"{RULE} must be above 0, because a provider that never takes part is worth 0: leave it out": (
        lambda: sb.Independent(0)
    ),
    f"{RULE}: there is no provider 'nroth': did you mean 'north'?": (
        lambda: sb.Independent({"nroth": 0.5, "south": 1}).check(NAMES)
    ),
    f"{RULE}: there is no provider 'zzz': leave it out": (
        lambda: sb.Independent({"zzz": 0.5}).check(NAMES)
    ),
    f"{RULE}: there is none for provider 'south': add it": (
        lambda: sb.Independent({"north": 0.5}).check(NAMES)
    ),
    "MarkovChain: join must lie between 0 and 1; received 2": lambda: sb.MarkovChain(2, 0.5),
    "MarkovChain: join must be above 0, because a provider that never takes part is worth 0: leave "
    "it out": lambda: sb.MarkovChain(0, 0.5),
    "MarkovChain: stay must lie between 0 and 1; received 2": lambda: sb.MarkovChain(0.5, 2),
    "MarkovChain: join: there is none for provider 'south': add it": (
        lambda: sb.MarkovChain({"north": 0.5}, 0.5).check(NAMES)
    ),
    "MarkovChain: stay: there is none for provider 'south': add it": (
        lambda: sb.MarkovChain(0.5, {"north": 0.5}).check(NAMES)
    ),
    "MarkovChain: with join=1 and stay=0 a provider is present in every other game, which is not "
    "random: use a Trace": lambda: sb.MarkovChain(1, 0).check(NAMES),
    "Cohort: k must be a whole number of at least 1; received 0": lambda: sb.Cohort(0),
    "Cohort: k must be at most the number of providers, 2; received 3": (
        lambda: sb.Cohort(3).check(NAMES)
    ),
    f"{ROUNDS} a table: lines of the same length": lambda: sb.Trace([[1, 0], [1]]),
    f"{ROUNDS} a table of rounds and providers, with at least one of each; received the shape "
    "(2,)": lambda: sb.Trace([1, 0]),
    f"{ROUNDS} a table of rounds and providers, with at least one of each; received the shape "
    "(1, 0)": lambda: sb.Trace([[]]),
    f"{ROUNDS} true or 1 where a provider was present, and false or 0 where not; received an array "
    "of shape (1, 2) and dtype int64": lambda: sb.Trace([[1, 2]]),
    f"{ROUNDS} true or 1 where a provider was present, and false or 0 where not; received an array "
    "of shape (1, 1) and dtype <U3": lambda: sb.Trace([["yes"]]),
    "Trace: the provider of column 1 never takes part: leave it out of the rounds and of the "
    "providers": lambda: sb.Trace([[1, 0], [1, 0]]),
    "Trace: rounds must have one column for each of the 2 providers; received 1": (
        lambda: sb.Trace([[1]]).check(NAMES)
    ),
    "simulate: n_rounds must be a whole number of at least 1; received 0": (
        lambda: sb.Cohort(1).simulate(NAMES, 0, seed=0)
    ),
    "simulate: seed must be a whole number of at least 0; received -1": (
        lambda: sb.Cohort(1).simulate(NAMES, 3, seed=-1)
    ),
    "Shapeless.present must give a bool array of shape (4, 2), one row per game and one column per "
    "provider; received float64 (1, 3)": (
        lambda: who_is_present(Shapeless(1), Seeds(0), NAMES, range(4))
    ),
    "Pooled: replace must be True or False; received 1": lambda: sb.Pooled(20, 5, replace=1),
    "Pooled: without replacement n_boot=11 must be at most half of n_pool=20, because larger draws "
    "overlap too much to show how other pools would differ: raise n_pool to 22, or lower n_boot": (
        lambda: sb.Pooled(20, 11, replace=False)
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_refused_gets_this_message(message):
    with pytest.raises(InvalidInput) as refused:
        MESSAGES[message]()
    assert str(refused.value) == message


def test_what_is_just_accepted():
    assert sb.Pooled(20, 10, replace=False).n_boot == 10
    assert sb.Cohort(2).check(NAMES) is None
    assert sb.Cohort(2).simulate(NAMES, 1, seed=2**70).to_numpy().tolist() == [[True, True]]
    assert sb.Independent({"north": 1, "south": 1e-9}).check(NAMES) is None
    assert sb.MarkovChain(1, 0.01).check(NAMES) is None


def test_a_participation_of_ones_own_is_known_by_its_name_only():
    own = from_plain(to_plain(Shapeless(1)))
    assert own == OwnClass("Shapeless")
    assert to_plain(own) == {"kind": "own", "name": "Shapeless"}
    assert np.isnan(own.rates(NAMES)).tolist() == [True, True]
    assert own.estimand == "by providers that take part as Shapeless says"
    for question in (
        lambda: own.check(NAMES),
        lambda: own.present(Seeds(0), NAMES, range(2)),
        lambda: own.counts(NAMES),
    ):
        with pytest.raises(InvalidInput) as refused:
            question()
        assert str(refused.value) == (
            "participation: Shapeless is a class of your own, which is not imported when a run is "
            "read"
        )


def test_a_participation_is_shown_by_its_class():
    class Always(sb.Participation):
        def check(self, names):
            """Accept all."""

        def present(self, seeds, names, games):
            return np.ones((len(games), len(names)), dtype=bool)

        def counts(self, names):
            return [len(names)]

        def rates(self, names):
            return np.ones(len(names))

        @property
        def estimand(self):
            return "by all providers"

    assert repr(Always()) == "Always()"
