"""A provider that fails for good is named, and left out if the user says so beforehand."""

import numpy as np
import pytest

import shapband as sb
from shapband.errors import ProviderFailed, ProviderLeftOut, SourceError
from tests.access.flaky import Flaky, X, first, near

ROWS = np.random.default_rng(8).normal(size=(50, X.shape[1]))
ONCE = sb.Retry(attempts=2, wait=0.001)


def after(n):
    """Works for n calls, then never again."""

    def fault(number):
        if number >= n:
            raise ConnectionError("refused")

    return fault


def value(sources, leave_out_failing=True, **options):
    providers = [sb.Provider(name, source, ONCE) for name, source in sources.items()]
    options = {"sampling": sb.Fresh(5), "n_games": 24, "seed": 1, **options}
    utility = options.pop("utility", sb.LinearUtility(ROWS, ROWS.sum(axis=1)))
    return sb.value(providers, utility, leave_out_failing=leave_out_failing, **options)


def test_by_default_the_valuation_stops_and_names_the_provider():
    with pytest.raises(ProviderFailed) as error:
        value({"a": near(), "b": Flaky(after(9))}, leave_out_failing=False)
    assert error.value.provider == "b"
    assert str(error.value) == "provider 'b': ConnectionError: refused (attempt 2 of 2)"
    assert isinstance(error.value, SourceError)


@pytest.mark.parametrize("works", [0, 9, 17])
@pytest.mark.parametrize("sampling", [sb.Fresh(5), sb.Pooled(40, 10)])
def test_the_valuation_is_the_one_of_the_others_and_nothing_is_bought_twice(works, sampling):
    a, c = Flaky(concurrent=4), Flaky(shift=2.0)
    pooled = isinstance(sampling, sb.Pooled)
    b = Flaky(after(0 if pooled else works))
    with pytest.warns(ProviderLeftOut, match="provider 'b'.*begins anew without it"):
        found = value({"a": a, "b": b, "c": c}, sampling=sampling)
    alone = value({"a": near(), "c": near(2.0)}, sampling=sampling)
    assert found.names == ("a", "c")
    np.testing.assert_array_equal(found.games, alone.games)
    np.testing.assert_array_equal(found.variance, alone.variance)
    for name, source in {"a": a, "c": c}.items():
        wanted = alone.access.by_provider[name]
        used = found.access.by_provider[name]
        assert (used.requests, used.records) == (wanted.requests, wanted.records)
        assert sum(source.draws) == wanted.requests
    assert found.estimand == f"{alone.estimand}, without 'b'"
    assert "left out: provider 'b': ConnectionError: refused (attempt 2 of 2). All" in str(found)
    if not pooled:  # what was paid to the provider that failed stays in the report
        assert found.access.by_provider["b"].requests <= works
        assert found.access.requests == 48 + found.access.by_provider["b"].requests
    assert sb.Valuation.from_json(found.to_json()).access.requests == found.access.requests


def test_without_a_failure_nothing_changes():
    sources = {"a": near(), "b": Flaky(first(1, ConnectionError("busy")), shift=1.0)}
    found = value(sources)
    np.testing.assert_array_equal(found.games, value({"a": near(), "b": near(1.0)}).games)
    assert "left out" not in str(found)


def test_several_providers_may_fail_and_groups_may_lose_members():
    providers = [
        sb.Group("east", [sb.Provider("a", near(), ONCE), sb.Provider("b", Flaky(after(9)), ONCE)]),
        sb.Group("west", [sb.Provider("c", Flaky(after(4)), ONCE)]),
        sb.Provider("d", near(1.0)),
    ]
    with pytest.warns(ProviderLeftOut):
        found = sb.value(
            providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=24, seed=None,
            leave_out_failing=True,
        )  # fmt: skip
    assert found.names == ("a", "d")
    assert found.estimand.endswith(("without 'c', 'b'", "without 'b', 'c'"))


def test_the_last_provider_cannot_be_left_out():
    with pytest.warns(ProviderLeftOut), pytest.raises(ProviderFailed):
        value({"a": Flaky(after(3)), "b": Flaky(after(3))})


def test_a_provider_that_another_argument_names_cannot_be_left_out():
    presence = sb.Independent({"a": 0.5, "b": 0.5})
    with pytest.raises(ProviderFailed) as error:
        value({"a": near(), "b": Flaky(after(3))}, participation=presence)
    assert any("it cannot be left out: " in note for note in error.value.__notes__)


def test_the_budget_covers_what_was_paid_to_a_provider_that_failed():
    budget = sb.Budget(requests=40)
    with pytest.warns(ProviderLeftOut):
        found = value({"a": Flaky(), "b": Flaky(after(8)), "c": Flaky()}, budget=budget)
    assert found.access.requests <= 40
    assert found.n_games >= 12


def test_a_callback_hears_of_the_providers_that_are_left():
    seen = []
    with pytest.warns(ProviderLeftOut):
        value({"a": near(), "b": Flaky(after(9)), "c": near()}, callback=seen.append, chunk_size=4)
    assert {one.names for one in seen} == {("a", "b", "c"), ("a", "c")}
    assert all(len(one.names) == len(one.estimate.expectation) for one in seen)
