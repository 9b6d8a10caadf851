"""Least squares: kernel against machine speed, `value()` against kernels, many providers."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

import shapband as sb
from benchmarks.games import draws_of, split_wine
from benchmarks.harness import Row, Spread, emit, interleave, number, say
from benchmarks.operations import prefix_operations, table_operations
from shapband.kernels.compiled.linear import gram_summaries, linear_prefixes, linear_table
from shapband.kernels.walks import first_occurrences

SEED = 1
ROUNDS = 25
N_GAMES = 200
DRAW = 60
CACHE_LINE = 64
LENGTH = 1024  # numbers in each of three arrays: 24 kB of a 32 kB first-level cache
PASSES = 20_000
MANY = {"providers": 100, "draw": 20, "permutations": 100, "games": 50}


@njit(fastmath=True)
def _multiply_add(a, b, c, passes):
    for _ in range(passes):
        for i in range(a.size):
            a[i] += b[i] * c[i]


def reference_loop() -> partial[None]:
    """Make ``a += b * c`` over arrays that fit the first-level cache.

    The arrays start on cache lines and at different places of a page, so that no store looks
    like a later load to the processor.
    """
    stagger = LENGTH + 5 * CACHE_LINE // 8
    room = np.zeros(3 * stagger + CACHE_LINE)
    start = -(room.ctypes.data // 8) % (CACHE_LINE // 8)
    arrays = [room[start + k * stagger :][:LENGTH] for k in range(3)]
    arrays[1][:] = 1e-9
    arrays[2][:] = 1.0
    return partial(_multiply_add, *arrays, PASSES)


class Wine:
    """The wine task, and its kernels with the same inputs as in `value()`."""

    def __init__(self) -> None:
        self.task = sb.datasets.wine()
        utility = self.task.utility
        assert isinstance(utility, sb.LinearUtility)
        self.utility = utility
        self.draws = draws_of(self.task.providers, sb.Fresh(DRAW), N_GAMES, SEED)
        self.summaries = self.utility.summarise_games(self.draws)
        self.sums, self.limits, _ = self.utility._about_validation(self.summaries)

    @property
    def p(self) -> int:
        """Number of coefficients."""
        return len(self.utility._form.b)

    def value(self) -> sb.Valuation:
        """Run the whole valuation."""
        return sb.value(
            self.task.providers,
            self.utility,
            sampling=sb.Fresh(DRAW),
            n_games=N_GAMES,
            seed=SEED,
        )

    def summarise(self) -> None:
        """Run the kernel that sums products of records."""
        utility = self.utility
        for place, drawn in enumerate(self.draws):
            batch, rows = drawn.batch, drawn.rows
            gram_summaries(batch.X, batch.y, rows, *utility._centre[1:], self.summaries.sums, place)

    def solve(self) -> np.ndarray:
        """Run the kernel that solves all coalitions."""
        utility = self.utility
        return linear_table(self.sums, self.limits, *utility._form)

    def draw(self) -> list[object]:
        """Choose the rows of all games."""
        return draws_of(self.task.providers, sb.Fresh(DRAW), N_GAMES, SEED)


def kernel_rows() -> list[Row]:
    wine = Wine()
    n = len(wine.task.providers)
    times = interleave(
        {
            "rate": reference_loop(),
            "solve": wine.solve,
            "summarise": wine.summarise,
            "draw": wine.draw,
            "value": wine.value,
        },
        ROUNDS,
    )
    rate = Spread(tuple(LENGTH * PASSES / t for t in times["rate"].samples))
    operations = N_GAMES * table_operations(n, wine.p)
    reached = Spread(tuple(operations / t for t in times["solve"].samples))
    share = reached.over(rate)
    kernels = Spread(
        tuple(
            a + b for a, b in zip(times["solve"].samples, times["summarise"].samples, strict=True)
        )
    )
    whole = times["value"].over(kernels)
    drawing = times["draw"].median / N_GAMES
    solving = times["solve"].median / N_GAMES
    summing = times["summarise"].median / N_GAMES
    rest = times["value"].median / N_GAMES - drawing - solving - summing
    parts = (
        f"solving {solving * 1e6:.0f}, summarising {summing * 1e6:.0f}, drawing "
        f"{drawing * 1e6:.0f} and the rest (checks, Shapley weights, moments) "
        f"{rest * 1e6:.0f} µs a game"
    )
    return [
        Row(
            "the bare least-squares kernel against the operations that it needs",
            f"{table_operations(n, wine.p):,} operations a game at "
            f"{reached.times(1e-9).show('thousand million a second')}; a multiply-add loop in the "
            f"first-level cache makes {rate.times(1e-9).show()}",
            f"{share.times(100).show('%')} of the loop's rate",
            "at least 25 %",
            share.median >= 0.25,
            "the cause has not been looked into.",
        ),
        Row(
            f"the whole of `value()` against its bare kernels, {N_GAMES} wine games",
            f"{times['value'].times(1e3).show('ms')} against {kernels.times(1e3).show('ms')}",
            whole.show("×"),
            "at most 3 ×",
            whole.median <= 3,
            parts,
        ),
        Row(
            f"where the time of `value()` goes, {N_GAMES} wine games",
            "its parts, each timed alone",
            parts,
        ),
    ]


class ManyProviders:
    """100 wine providers with permutations, compared with the kernel and the reference loop."""

    def __init__(self, *, by_alcohol: bool) -> None:
        n, n_iter, n_games = MANY["providers"], MANY["permutations"], MANY["games"]
        providers = split_wine(n, by_alcohol=by_alcohol)
        utility = sb.datasets.wine().utility
        assert isinstance(utility, sb.LinearUtility)
        sampling = sb.Fresh(MANY["draw"])
        value = partial(
            sb.value,
            providers,
            utility,
            sampling=sampling,
            solver=sb.Permutation(n_iter),
            n_games=n_games,
            seed=SEED,
        )
        summaries = utility.summarise_games(draws_of(providers, sampling, n_games, SEED))
        rng = np.random.default_rng(SEED)
        orders = rng.permuted(np.tile(np.arange(n), (n_games, n_iter, 1)), axis=2)
        first = first_occurrences(orders)
        sums, limits, _ = utility._about_validation(summaries)
        kernel = partial(linear_prefixes, sums, limits, orders, first, *utility._form)
        self.left_open = float(np.isnan(kernel()).mean())
        times = interleave({"rate": reference_loop(), "kernel": kernel, "value": value}, 7)
        solved = int((first == np.arange(n_iter)[None, :, None]).sum())
        # The count is linear in permutations and prefixes, so games can be counted together.
        self.operations = prefix_operations(n, len(utility._form.b), n_games * n_iter, solved)
        per_operation = times["rate"].times(1 / (LENGTH * PASSES))
        self.needed = per_operation.times(self.operations)
        self.value, self.kernel = times["value"], times["kernel"]

    @property
    def measured(self) -> str:
        """The times from which the result is computed."""
        return (
            f"`value()` {self.value.show('s')}, the bare kernel {self.kernel.show('s')}, its "
            f"{number(self.operations / 1e6)} million operations {self.needed.show('s')} at the "
            f"rate of the loop; {self.left_open:.1%} of the prefixes are rank-deficient and leave "
            "the kernel"
        )

    @property
    def result(self) -> str:
        """Times as multiples of the time that the operations need in the reference loop."""
        kernel = self.kernel.over(self.needed)
        return f"{self.value.over(self.needed).show('×')}; the kernel alone {kernel.show('×')}"


def many_providers_rows() -> list[Row]:
    say("  many providers")
    split, dealt = ManyProviders(by_alcohol=True), ManyProviders(by_alcohol=False)
    work = (
        f"wine with {MANY['providers']} providers, {MANY['permutations']} permutations × "
        f"{MANY['games']} games"
    )
    ratio, bare = split.value.over(split.needed), split.kernel.over(split.needed)
    random = dealt.value.over(dealt.needed)
    return [
        Row(
            f"{work}, split by alcohol",
            split.measured,
            split.value.show("s"),
            "under 5 s",
            split.value.median < 5,
            "see the next row.",
        ),
        Row(
            f"{work}, split by alcohol, against the operations that the kernel needs",
            "as above",
            split.result,
            "at most 3 ×",
            ratio.median <= 3,
            f"the kernel itself takes {bare.median:.2g} × of the time that its operations need. "
            f"Without rank-deficient prefixes, wines dealt at random, `value()` takes "
            f"{random.median:.2g} ×: the difference is what the answers outside the kernel "
            "cost, and the rest are random orders, the search for repeated prefixes, marginal "
            "contributions and drawing.",
        ),
        Row(f"{work}, dealt at random", dealt.measured, dealt.result),
    ]


if __name__ == "__main__":
    emit([*kernel_rows(), *many_providers_rows()])
