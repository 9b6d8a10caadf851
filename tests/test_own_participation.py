"""A participation of the user's own works like those of the library, also in a run."""

from dataclasses import dataclass

import numpy as np
import pytest

import shapband as sb
from shapband.app.cli.views import shown
from shapband.errors import ConformanceError, InvalidInput, RunError
from shapband.sampling.participation import uniform_numbers


class Weekdays(sb.Participation):
    """Providers that are away from a fifth of the games, at random."""

    estimand = "by providers with free days"

    def check(self, names):
        if len(names) > 100:
            raise InvalidInput("Weekdays: at most 100 providers")

    def present(self, seeds, names, games):
        numbers = [uniform_numbers(seeds, name, games) for name in names]
        return np.stack(numbers, axis=1) < 0.8

    def counts(self, names):
        return range(1, len(names) + 1)

    def rates(self, names):
        return np.full(len(names), 0.8)


@dataclass(frozen=True)
class Often(Weekdays):
    rate: float

    def present(self, seeds, names, games):
        numbers = [
            [seeds.generator("participation", name, game).random() for game in games]
            for name in names
        ]
        return self.rate > np.array(numbers).T

    def rates(self, names):
        return np.full(len(names), self.rate)


def value(participation, run=None, watch_for=None):
    rng = np.random.default_rng(0)
    sources = [sb.ArraySource(rng.normal(size=(30, 1)), rng.normal(size=30)) for _ in range(3)]
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]
    utility = sb.FunctionUtility(Mean(watch_for))
    return sb.value(
        providers,
        utility,
        sampling=sb.Fresh(5),
        n_games=12,
        seed=0,
        participation=participation,
        run=run,
        chunk_size=2,
    )


class Mean:
    """The mean target; it fails at a call, like a model that cannot be fitted."""

    left = None  # of the class, so that a resumed run has the same utility

    def __init__(self, left):
        type(self).left = left

    def __call__(self, X, y):
        if type(self).left is not None:
            type(self).left -= 1
            if type(self).left < 0:
                raise ValueError("enough")
        return float(y.mean() ** 2)


@pytest.mark.parametrize("participation", [Weekdays(), Often(0.5)])
def test_a_participation_of_ones_own_works_with_a_run(tmp_path, participation):
    run, whole = tmp_path / "run", value(participation)
    with pytest.raises(sb.errors.EvaluationError):
        value(participation, run, watch_for=30)
    status = sb.load(run).status
    assert status.state == "interrupted"
    assert status.done >= 2
    assert status.valuation is None
    assert "class of your own" in " ".join(shown(run, as_json=False).split())
    found = value(participation, run)
    np.testing.assert_array_equal(found.games, whole.games)
    np.testing.assert_array_equal(sb.load(run).valuation.games, whole.games)
    sb.load(run).verify()


def test_other_settings_of_ones_own_are_refused(tmp_path):
    value(Often(0.5), tmp_path / "run")
    with pytest.raises(RunError, match="participation changed"):
        value(Often(0.6), tmp_path / "run")


def test_a_subclass_of_a_participation_is_not_read_as_its_parent(tmp_path):
    @dataclass(frozen=True, repr=False)
    class Never(sb.Independent):
        """Nobody is present in the games from 4 on."""

        def present(self, seeds, names, games):
            table = super().present(seeds, names, games)
            return table & (np.array(games)[:, None] < 4)

    with pytest.raises(sb.errors.EvaluationError):
        value(Never(0.9), tmp_path / "run", watch_for=14)
    assert sb.load(tmp_path / "run").status.valuation is None


@pytest.mark.parametrize("own", [Weekdays(), Often(0.3)])
def test_a_sound_participation_passes_its_check(own):
    sb.testing.check_participation(own)


class WrongRates(Weekdays):
    def rates(self, names):
        return np.full(len(names), 0.7)


class WrongCounts(Weekdays):
    def counts(self, names):
        return [len(names)]


class ByOrder(Weekdays):
    def present(self, seeds, names, games):
        names = [f"place {place}" for place in range(len(names))]
        return super().present(seeds, names, games)


class ByChunk(Weekdays):
    def present(self, seeds, names, games):
        return super().present(seeds, names, range(len(games)))


class ByCall(Weekdays):
    def present(self, seeds, names, games):
        return np.random.default_rng().random((len(games), len(names))) < 0.8


class Numbers(Weekdays):
    def present(self, seeds, names, games):
        return super().present(seeds, names, games).astype(float)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (WrongRates, "rates must be the probabilities"),
        (WrongCounts, "counts must hold, from 1 to"),
        (ByOrder, "must not depend on the order of providers"),
        (ByChunk, "must not depend on the games that are asked for together"),
        (ByCall, "must not depend on what was asked before"),
        (Numbers, "must give a bool array"),
    ],
)
def test_the_check_of_a_participation_names_the_broken_rule(broken, said):
    with pytest.raises(ConformanceError, match=said):
        sb.testing.check_participation(broken())


def test_a_table_that_is_not_of_bools_is_refused_before_it_is_used():
    with pytest.raises(InvalidInput, match="must give a bool array"):
        value(Numbers())
