"""Work and memory grow linearly with the number of providers, from the sources to the report."""

import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import shapband as sb
from shapband.estimate import simulate

FEW, MANY = 600, 1800
SAMPLINGS = {"fresh": sb.Fresh(6), "pooled": sb.Pooled(10, 6)}


def providers_of(n):
    rng = np.random.default_rng(0)
    return [
        sb.Provider(f"p{at}", sb.ArraySource(rng.normal(size=(12, 2)), rng.normal(5, 1, 12)))
        for at in range(n)
    ]


def play(providers, sampling="fresh"):
    return sb.value(
        providers, sb.AdditiveUtility(), sampling=SAMPLINGS[sampling], n_games=12, seed=0
    )


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """Simulated probabilities need not be accurate here."""
    monkeypatch.setattr(simulate, "_DRAWS", 2000)


@pytest.fixture(scope="module")
def valuations():
    return [play(providers_of(n)) for n in (FEW, MANY)]


STEPS = {
    "print": str,
    "notebook": lambda valuation: valuation._repr_html_(),
    "frame": lambda valuation: valuation.to_frame(),
    "intervals": lambda valuation: valuation.interval(simultaneous=True),
    "json": lambda valuation: sb.Valuation.from_json(valuation.to_json()),
    "ranks": lambda valuation: str(valuation.ranks()),
    "top": lambda valuation: valuation.top(5),
    "shares": lambda valuation: valuation.shares(),
    "difference": lambda valuation: valuation.difference("p0", "p1"),
    "distribution": lambda valuation: str(valuation.distribution()),
    "payouts": lambda valuation: str(sb.payouts(valuation, 1000)),
    "compare": lambda valuation: sb.compare(valuation, valuation),
    "convergence": lambda valuation: valuation.plot.frame("convergence"),
}


def calls(step):
    """Number of calls of functions, in Python and in C."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        step()
    finally:
        sys.setprofile(before)
    return count


def peak(step):
    tracemalloc.start()
    try:
        step()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("measure", [calls, peak])
def test_a_valuation_is_linear_in_the_providers(sampling, measure):
    play(providers_of(20), sampling)  # loads modules and compiled kernels
    few, many = (providers_of(n) for n in (FEW, MANY))
    used = [measure(lambda: play(one, sampling)) for one in (few, many)]  # noqa: B023
    assert used[1] < 1.1 * MANY / FEW * used[0]


@pytest.mark.parametrize("measure", [calls, peak])
@pytest.mark.parametrize("step", STEPS)
def test_results_are_linear_in_the_providers(valuations, step, measure):
    STEPS[step](valuations[0])  # loads modules
    used = [measure(lambda: STEPS[step](one)) for one in valuations]  # noqa: B023
    # The blocks of draws and of pairs take up to 60 MB, for any number of providers.
    room = 60e6 if measure is peak and step in ("ranks", "top", "payouts") else 0
    assert used[1] < 1.15 * MANY / FEW * used[0] + room


@pytest.mark.long
def test_the_report_is_linear_in_the_providers(valuations, tmp_path):
    path = tmp_path / "report.html"
    valuations[0].report(path)
    few, many = (calls(lambda: one.report(path)) for one in valuations)  # noqa: B023
    assert many < 1.15 * MANY / FEW * few


class CountedName(str):
    """A name that counts how often names are compared or hashed."""

    __slots__ = ()
    used = 0

    def __eq__(self, other):
        CountedName.used += 1
        return str.__eq__(self, other)

    def __hash__(self):
        CountedName.used += 1
        return str.__hash__(self)


def with_counted_names(valuation):
    names = tuple(CountedName(name) for name in valuation.names)
    return replace(valuation, design=replace(valuation.design, names=names))


@pytest.mark.parametrize("step", ["compare", "print", "frame", "json", "ranks", "payouts"])
def test_every_name_is_looked_up_a_few_times(valuations, step):
    used = []
    for one in valuations:
        counted = with_counted_names(one)
        CountedName.used = 0
        STEPS[step](counted)
        used.append(CountedName.used)
    # Names are also sorted, so that comparisons grow as n log n.
    assert used[1] < 1.3 * MANY / FEW * used[0] + 100


def test_a_search_through_all_names_would_be_noticed(valuations):
    names = with_counted_names(valuations[0]).names
    CountedName.used = 0
    assert all(name in set(names) for name in names[:50])
    assert CountedName.used >= 50 * FEW
