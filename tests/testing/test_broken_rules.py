"""Every rule of the conformance checks catches a class that breaks it, and says which."""

import os
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

import shapband as sb
from shapband.errors import ConformanceError

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10.0)


def caught(check, thing, *said):
    """Check that a thing fails with one sentence that holds these words."""
    with pytest.raises(ConformanceError) as error:
        check(thing)
    message = str(error.value)
    assert "\n" not in message
    assert type(thing).__name__ in message
    assert "must" in message
    for words in said:
        assert words in message
    assert isinstance(error.value, AssertionError)
    assert isinstance(error.value, sb.errors.ShapbandError)


class Rows(sb.FiniteSource):
    """A sound finite source, to be broken in one way each."""

    size = 10
    schema = sb.Schema(2)

    def take(self, rows):
        return X[rows], Y[rows]


class Draws(sb.GenerativeSource):
    def draw(self, size, rng):
        drawn = rng.normal(size=(size, 2))
        return drawn, drawn[:, 0]


class WrongSize(Rows):
    size = 0


class NoSize(Rows):
    size = property(lambda self: self.count)


class WrongSchema(Rows):
    schema = sb.Schema(3)


class NotASchema(Rows):
    schema = 2


class Sorted(Rows):
    def take(self, rows):
        return X[np.sort(rows)], Y[np.sort(rows)]


class Unique(Rows):
    def take(self, rows):
        return X[np.unique(rows)], Y[np.unique(rows)]


class NotRecords(Rows):
    def take(self, rows):
        return X[rows]


class Lists(Rows):
    def take(self, rows):
        return sb.Batch(X[rows].tolist(), Y[rows].tolist())


class OtherLength(Rows):
    def take(self, rows):
        return sb.Batch(X[rows], Y[:1])


class Infinite(Rows):
    def take(self, rows):
        return sb.Batch(X[rows] / 0.0 if len(rows) > 1 else X[rows], Y[rows])


class Failing(Rows):
    def take(self, rows):
        raise ConnectionError("no route")


class ChangesRows(Rows):
    def take(self, rows):
        rows.sort()
        return X[rows], Y[rows]


class Buffered(Rows):
    buffer = np.empty((10, 2))

    def take(self, rows):
        self.buffer[: len(rows)] = X[rows]
        return sb.Batch(self.buffer[: len(rows)], Y[rows])


class Shuffled(Rows):
    def take(self, rows):
        mixed = np.random.default_rng().permutation(10)[rows]
        return X[mixed] + np.random.default_rng().random(), Y[mixed]


class OtherRecords(Rows):
    records = sb.Batch(X + 1.0, Y)


class Bound(Rows):
    waits = True

    def __init__(self):
        self.thread = threading.get_ident()

    def take(self, rows):
        if threading.get_ident() != self.thread:
            raise RuntimeError("created in another thread")
        return super().take(rows)


class GlobalNumbers(Draws):
    def draw(self, size, rng):
        drawn = np.random.default_rng().normal(size=(size, 2))
        return drawn, drawn[:, 0]


class OwnSeed(Draws):
    def draw(self, size, rng):
        return super().draw(size, np.random.default_rng(0))


class TooMany(Draws):
    def draw(self, size, rng):
        return super().draw(size + 1, rng)


class Counting(Draws):
    drawn = 0

    def draw(self, size, rng):
        self.drawn += 1
        return np.full((size, 1), self.drawn), rng.normal(size=size)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Rows, None),
        (Draws, None),
        (WrongSize, "size of its source must be a whole number of at least 1; received 0"),
        (NoSize, "cannot give its size (AttributeError"),
        (WrongSchema, "must give the features of its schema, 3 features; received 2 features"),
        (NotASchema, "must be a Schema(n_features) or None; received 2"),
        (Sorted, "in the order of the rows"),
        (Unique, "gave 3 records where 4 were asked"),
        (NotRecords, "return a Batch(X, y) or a tuple (X, y)"),
        (Lists, None),
        (OtherLength, "y must be one target for each of the 4 records"),
        (Infinite, "NaN or infinite"),
        (Failing, "must give these records; it raised ConnectionError: no route"),
        (ChangesRows, "must not change its rows"),
        (Buffered, None),
        (Shuffled, "must give the same records for the same request"),
        (OtherRecords, "the same records as the attribute records"),
        (Bound, "RuntimeError: created in another thread"),
        (GlobalNumbers, "draw random numbers from rng only"),
        (OwnSeed, "must take its randomness from rng; two different generators"),
        (TooMany, "gave 9 records where 8 were asked"),
        (Counting, "keep no state"),
        (type("Neither", (sb.Source,), {}), "FiniteSource or GenerativeSource"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_sources(source, said):
    if said is None:
        sb.testing.check_source(source())
    else:
        caught(sb.testing.check_source, source(), said)


class Sum(sb.Utility):
    """A sound utility, to be broken in one way each."""

    def summarise(self, batch):
        return float(batch.y.sum())

    def evaluate(self, summaries, coalitions):
        return np.array([sum(summaries[i] for i in sb.extend.members(c)) for c in coalitions])


class NoEmpty(Sum):
    empty = None


class OtherEmpty(Sum):
    empty = 1.0


class FailsAlone(Sum):
    def evaluate(self, summaries, coalitions):
        return np.array([1 / len(sb.extend.members(c)) for c in coalitions])


class FailsToSummarise(Sum):
    def summarise(self, batch):
        return batch.targets


class OneNumber(Sum):
    def evaluate(self, summaries, coalitions):
        return float(super().evaluate(summaries, coalitions)[0])


class OneForAll(Sum):
    def evaluate(self, summaries, coalitions):
        return super().evaluate(summaries, coalitions)[:1]


class Words(Sum):
    def evaluate(self, summaries, coalitions):
        return super().evaluate(summaries, coalitions).astype(str)


class NotFinite(Sum):
    def evaluate(self, summaries, coalitions):
        return np.where(np.array(coalitions) == 5, np.nan, super().evaluate(summaries, coalitions))


class ChangesRecords(Sum):
    def summarise(self, batch):
        batch.y.sort()
        return super().summarise(batch)


class ChangesLater(Sum):
    def summarise(self, batch):
        return batch

    def evaluate(self, summaries, coalitions):
        for batch in summaries:
            batch.X.sort(axis=0)
        return super().evaluate([batch.y.sum() for batch in summaries], coalitions)


class Noisy(Sum):
    def evaluate(self, summaries, coalitions):
        noise = np.random.default_rng().normal(size=len(coalitions)) * (np.array(coalitions) > 0)
        return super().evaluate(summaries, coalitions) + noise


class Ranked(Sum):
    def evaluate(self, summaries, coalitions):
        values = super().evaluate(summaries, coalitions)
        return values - values.min() if len(values) == 1 else values


class RankedWithin(Sum):
    def evaluate(self, summaries, coalitions):
        return super().evaluate(summaries, coalitions) * len(coalitions)


class WrongGames(Sum):
    def summarise_games(self, draws):
        return super().summarise_games(draws)[::-1]


class WrongTable(Sum):
    def evaluate_all(self, games):
        return super().evaluate_all(games) + 1.0


class ShortTable(Sum):
    def evaluate_all(self, games):
        return super().evaluate_all(games)[:1]


class WrongArcs(Sum):
    def evaluate_arcs(self, games, circles, arcs):
        return super().evaluate_arcs(games, circles[:, :, ::-1], arcs)


class WrongValues(sb.AdditiveUtility):
    def exact_values(self, games):
        return super().exact_values(games)[:, ::-1]


class WrongPrefixes(Sum):
    def evaluate_prefixes(self, games, orders, first):
        return super().evaluate_prefixes(games, orders[:, ::-1], first)


class Locked(Sum):
    def __init__(self):
        self.lock = threading.Lock()


class LockedSummary(Sum):
    def summarise(self, batch):
        return threading.Lock(), super().summarise(batch)

    def evaluate(self, summaries, coalitions):
        return super().evaluate([total for _, total in summaries], coalitions)


class Homesick(Sum):
    def __init__(self):
        self.away = 0.0

    def __getstate__(self):
        return {"away": 1.0}

    def evaluate(self, summaries, coalitions):
        away = np.where(np.array(coalitions) > 0, self.away, 0.0)
        return super().evaluate(summaries, coalitions) + away


@pytest.mark.parametrize(
    ("utility", "said"),
    [
        (Sum, None),
        (NoEmpty, "empty must be a finite number; received None"),
        (OtherEmpty, "must give empty=1.0 for the empty coalition; received 0.0"),
        (FailsAlone, "evaluate of the coalition [] must give its value; it raised ZeroDivision"),
        (FailsToSummarise, "summarise must accept a draw; it raised AttributeError"),
        (OneNumber, "an array of numbers of shape (1,); received an array of shape ()"),
        (OneForAll, "an array of numbers of shape (8,); received an array of shape (1,)"),
        (Words, "numbers of shape (1,); received an array of shape (1,) and dtype <U"),
        (NotFinite, "of the coalition [0, 2] must be finite; received nan"),
        (ChangesRecords, "ChangesRecords.summarise must not change the records"),
        (ChangesLater, "ChangesLater.evaluate must not change the records"),
        (Noisy, "must give the same value twice: seed what is random"),
        (Ranked, "must not depend on the order or the number of coalitions"),
        (RankedWithin, "must not depend on the order or the number of coalitions"),
        (WrongGames, "summarise_games must agree with summarise"),
        (WrongTable, "evaluate_all must agree with evaluate"),
        (ShortTable, "must return an array of numbers of shape (2, 8)"),
        (WrongPrefixes, "evaluate_prefixes must agree with evaluate"),
        (WrongArcs, "evaluate_arcs must agree with evaluate"),
        (WrongValues, "exact_values must be the Shapley values of evaluate"),
        (Locked, "Locked must be picklable, without locks"),
        (LockedSummary, "the summaries of LockedSummary must be picklable"),
        (Homesick, "must not change by being pickled"),
        (object, "must be a subclass of Utility"),
    ],
)  # fmt: skip
def test_utilities(utility, said):
    if said is None:
        sb.testing.check_utility(utility())
    else:
        caught(sb.testing.check_utility, utility(), said)


def test_an_estimator_that_fails_is_named_with_its_coalition_and_cause():
    utility = sb.FunctionUtility(lambda x, y: [][len(y)])
    caught(sb.testing.check_utility, utility, "the coalition [0]", "IndexError: list index")


@dataclass(frozen=True)
class Five(sb.Sampling):
    """A sound sampling of fresh draws, to be broken in one way each."""

    def check(self, providers):
        for provider in providers:
            if provider.source.size < 5:
                raise sb.errors.InvalidInput("Five: use larger providers")

    def prepare(self, access):
        return self.games(access, [5] * len(access.providers))

    def games(self, access, sizes):
        n = len(sizes)
        return five_games(np.array(sizes), sb.extend.Cost(n, sum(sizes)), access, self)

    def draws(self, access, games, sizes):
        return access.fetch("draw", games, sizes, "draws")


def five_games(sizes, cost, access, sampling):
    design = sb.Design.of(access, sizes, "fives")
    return FiveGames(access, sampling, design=design, cost=cost)


@dataclass(frozen=True, eq=False)
class FiveGames(sb.Realisation):
    access: sb.Access
    sampling: Five

    def draws(self, games):
        return self.sampling.draws(self.access, games, self.design.draw_sizes.tolist())


class Asking(Five):
    def check(self, providers):
        super().check(providers)
        providers[0].source.take(np.arange(3))


class RefusesOtherwise(Five):
    def check(self, providers):
        if any(provider.source.size < 5 for provider in providers):
            raise KeyError("too small")


class RefusesLate(Five):
    def check(self, providers):
        pass


class Opaque(Five):
    def __repr__(self):
        return object.__repr__(self)


class NoRealisation(Five):
    def prepare(self, access):
        return access


class ListOfSizes(Five):
    def games(self, access, sizes):
        return five_games(sizes, sb.extend.Cost(3, 15), access, self)


class OneCount(Five):
    def prepare(self, access):
        found = super().prepare(access)
        return replace(found, design=replace(found.design, distinct_records=np.array([5.0])))


class OtherSizes(Five):
    def draws(self, access, games, sizes):
        return access.fetch("draw", games, [4, 5, 6], "draws")


class Cheap(Five):
    def games(self, access, sizes):
        return five_games(np.array(sizes), sb.extend.Cost(), access, self)


class BehindTheBack(Five):
    def draws(self, access, games, sizes):
        for provider in access.providers:
            provider.source.take(np.arange(5))
        return super().draws(access, games, sizes)


class ByCalls(Five):
    def draws(self, access, games, sizes):
        return access.fetch("draw", range(len(games)), sizes, "draws")


class ByPlace(Five):
    def draws(self, access, games, sizes):
        renamed = [sb.Provider(f"p{i}", p.source) for i, p in enumerate(access.providers)]
        hidden = sb.Access(renamed, access.seeds, sb.Budget()).fetch("draw", games, sizes, "")
        access._usage |= {
            p.name: access.report.by_provider[p.name] + sb.extend.Usage(len(games), 5 * len(games))
            for p in access.providers
        }
        return hidden


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        (Five, None),
        (Asking, "check must not ask the sources"),
        (RefusesOtherwise, "must return None or raise InvalidInput; it raised KeyError"),
        (RefusesLate, "must be able to draw from providers that its check accepts; it raised"),
        (Opaque, "must have a repr of one line that shows its parameters"),
        (NoRealisation, "prepare must return a Realisation; received Access"),
        (ListOfSizes, "draw_sizes as an array of 3 whole numbers; received [5, 5, 5]"),
        (OneCount, "distinct_records as an array of 3 numbers, or None; received array([5.])"),
        (OtherSizes, "must draw draw_sizes=[5, 5, 5] records; received [{4}, {5}, {6}]"),
        (Cheap, "took 150 records in 30 requests where a game should take Cost(requests=0"),
        (BehindTheBack, "through access.fetch only; they gave 165 records, and access counted 150"),
        (ByCalls, "however games are cut into chunks"),
        (ByPlace, "whatever the order of the providers"),
        (object, "must be a subclass of Sampling"),
    ],
)
def test_samplings(sampling, said):
    if said is None:
        sb.testing.check_sampling(sampling())
    else:
        caught(sb.testing.check_sampling, sampling(), said)


@dataclass(frozen=True)
class Walks(sb.Solver):
    """A sound solver, to be broken in one way each."""

    n_iter: int = 8

    def check(self, n_providers):
        if n_providers > 50:
            raise sb.errors.InvalidInput("Walks: use at most 50 providers")

    def floats_per_game(self, n_providers):
        return 8 * self.n_iter * n_providers

    def solve(self, games):
        return self.walked(games, sb.extend.random_orders(games, self.n_iter), games.utility.empty)

    def walked(self, games, orders, empty):
        values, evaluations = games.prefixes(orders)
        marginals = sb.extend.marginal_contributions(orders, values, empty)
        return sb.Solution(
            marginals.mean(axis=1), sb.extend.variance_of_mean(marginals), evaluations
        )

    def changed(self, games, **changes):
        solution = Walks(self.n_iter).solve(games)
        return sb.Solution(**(vars(solution) | changes))


class RefusesAll(Walks):
    def check(self, n_providers):
        raise sb.errors.InvalidInput("RefusesAll: use another solver")


class RefusesBadly(Walks):
    def check(self, n_providers):
        if n_providers > 50:
            raise MemoryError("too many")


class NoFloats(Walks):
    def floats_per_game(self, n_providers):
        return 0.5


class Plain(Walks):
    def __repr__(self):
        return object.__repr__(self)


class HoldsALock(Walks):
    def __init__(self):
        object.__setattr__(self, "n_iter", 8)
        object.__setattr__(self, "lock", threading.Lock())


class NoSolution(Walks):
    def solve(self, games):
        return np.zeros((len(games.indices), games.n_providers))


class Transposed(Walks):
    def solve(self, games):
        return self.changed(games, values=Walks().solve(games).values.T)


class ShortNoise(Walks):
    def solve(self, games):
        return self.changed(games, noise=np.zeros(games.n_providers))


class Whole(Walks):
    def solve(self, games):
        return self.changed(games, values=np.zeros((len(games.indices), games.n_providers), int))


class NegativeNoise(Walks):
    def solve(self, games):
        return self.changed(games, noise=np.full((len(games.indices), games.n_providers), -1.0))


class NotANumber(Walks):
    def solve(self, games):
        return self.changed(games, values=np.full((len(games.indices), games.n_providers), np.nan))


class NoCount(Walks):
    def solve(self, games):
        return self.changed(games, evaluations=None)


class CountsAll(Walks):
    def solve(self, games):
        return self.changed(games, evaluations=self.n_iter * 2**20)


class ForgetsEmpty(Walks):
    def solve(self, games):
        return self.walked(games, sb.extend.random_orders(games, self.n_iter), 0.0)


class Favours(Walks):
    def solve(self, games):
        values = Walks().solve(games).values
        values[:, 0] += 0.1
        values[:, -1] -= 0.1
        return self.changed(games, values=values)


class MixesGames(Walks):
    def solve(self, games):
        return self.changed(games, values=Walks().solve(games).values[::-1].copy())


class SpreadAsNoise(Walks):
    def solve(self, games):
        return self.changed(games, noise=self.n_iter * Walks().solve(games).noise)


class CallsItExact(Walks):
    def solve(self, games):
        return self.changed(games, noise=np.zeros((len(games.indices), games.n_providers)))


class ByChunk(Walks):
    def solve(self, games):
        rng = np.random.default_rng(0)
        shape = (len(games.indices), self.n_iter, games.n_providers)
        return self.walked(games, np.argsort(rng.random(shape), axis=2), games.utility.empty)


class ByPosition(Walks):
    def solve(self, games):
        keys = [
            games.seeds.generator("orders", "", game).random((self.n_iter, games.n_providers))
            for game in games.indices
        ]
        return self.walked(games, np.argsort(np.array(keys), axis=2), games.utility.empty)


class IgnoresIndex(Walks):
    any_index = True


class WithGroups(Walks):
    def check_groups(self, sizes):
        """Accept them."""

    def solve(self, games):
        return self.grouped(games, sb.extend.random_orders(games, self.n_iter))

    def grouped(self, games, orders):
        solution = self.walked(games, orders, games.utility.empty)
        if games.grouping is None:
            return solution
        values, _ = games.prefixes(orders)
        marginals = sb.extend.marginal_contributions(orders, values, games.utility.empty)
        noise = sb.extend.variance_of_mean(games.grouping.totals(marginals))
        return sb.Solution(**(vars(solution) | {"group_noise": noise}))


class TearsGroupsApart(WithGroups):
    def solve(self, games):
        alone = replace(games, grouping=None)
        return self.grouped(games, sb.extend.random_orders(alone, self.n_iter))


class NoGroupNoise(WithGroups):
    def solve(self, games):
        return self.walked(games, sb.extend.random_orders(games, self.n_iter), games.utility.empty)


class AddsNoise(WithGroups):
    def solve(self, games):
        solution = NoGroupNoise(self.n_iter).solve(games)
        if games.grouping is None:
            return solution
        noise = 10 * games.grouping.totals(solution.noise)
        return sb.Solution(**(vars(solution) | {"group_noise": noise}))


class FailsInGroups(WithGroups):
    def solve(self, games):
        if games.grouping is not None:
            raise KeyError("group")
        return Walks(self.n_iter).solve(games)


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (Walks, None),
        (WithGroups, None),
        (TearsGroupsApart, "must give the Owen values on average"),
        (NoGroupNoise, "group_noise as a float64 array of shape (256, 1)"),
        (AddsNoise, "the variance of the error of a group's sum as group_noise"),
        (FailsInGroups, "of games with groups, which check_groups accepts, must not fail"),
        (RefusesAll, "check must accept some number of providers up to 12"),
        (RefusesBadly, "must return None or raise InvalidInput; it raised MemoryError: too many"),
        (NoFloats, "floats_per_game must return a whole number"),
        (Plain, "must have a repr of one line that shows its parameters"),
        (HoldsALock, "must be picklable, without locks"),
        (NoSolution, "must return a Solution(values, noise, evaluations); received ndarray"),
        (Transposed, "values as a float64 array of shape (256, 1)"),
        (ShortNoise, "noise as a float64 array of shape (256, 1)"),
        (Whole, "received an array of shape (256, 1) and dtype int64"),
        (NegativeNoise, "noise of at least 0"),
        (NotANumber, "finite values"),
        (NoCount, "evaluations as a whole number; received None"),
        (CountsAll, "must count distinct evaluations: it returned"),
        (ForgetsEmpty, "add up to v(N) - v(∅) in each game; received sums that are off by 2.0"),
        (Favours, "of additive games of 2 providers must give the known values on average"),
        (MixesGames, "of additive games of 1 providers must give values that add up"),
        (SpreadAsNoise, "the variance of its own error as noise"),
        (CallsItExact, "the variance of its own error as noise; received 0.0"),
        (ByChunk, "the same bits however games are cut into chunks"),
        (ByPosition, "must not depend on the order of the providers"),
        (IgnoresIndex, "with games.index = Beta(alpha=4.0, beta=1.0) must give the known values"),
        (object, "must be a subclass of Solver"),
    ],
)
def test_solvers(solver, said):
    if said is None:
        sb.testing.check_solver(solver())
    else:
        caught(sb.testing.check_solver, solver(), said)


def test_the_noise_of_one_permutation_may_be_unknown():
    sb.testing.check_solver(Walks(1))


def test_nothing_is_printed_and_nothing_is_left_behind(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sb.testing.check_source(Rows())
    sb.testing.check_solver(Walks())
    assert capsys.readouterr().out == ""
    assert os.listdir(tmp_path) == []


def test_a_source_that_mixes_up_requests_at_the_same_time_is_found():
    class Shared(sb.GenerativeSource):
        waits, concurrent = True, 4

        def draw(self, size, rng):
            self._size, self._drawn = size, rng.normal(size=size)  # for all requests
            time.sleep(0.01)
            return self._drawn[:size], self._drawn[:size]

    with pytest.raises(AssertionError, match=r"at the same time|must give so many records"):
        sb.testing.check_source(Shared())
