"""Who takes part in which games: the laws of presence, and their addresses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.kernels.rows import uniforms
from shapband.sampling.participations import from_plain, to_plain
from shapband.seeds import Seeds

NAMES = ["north", "south", "east", "west"]
ROUNDS = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]])
BY_NAME = {"north": 0.9, "south": 0.5, "east": 1.0, "west": 0.1}
LAWS = [
    sb.Independent(0.8),
    sb.Independent(BY_NAME),
    sb.Cohort(2),
    sb.MarkovChain(0.1, 0.95),
    sb.MarkovChain(0.9, 0.2),
    sb.MarkovChain(BY_NAME, 0.5),
    sb.Trace(ROUNDS),
]
N_GAMES = 20_000


def present(law, games, names=NAMES, seed=3):
    return law.present(Seeds(seed), names, games)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_presence_does_not_depend_on_how_games_are_cut(law):
    whole = present(law, range(500))
    parts = [present(law, range(start, min(start + 7, 500))) for start in range(0, 500, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(present(law, range(499, 500)), whole[499:])


@pytest.mark.parametrize("law", [law for law in LAWS if law.__class__ is not sb.Trace], ids=repr)
def test_presence_goes_by_name_and_seed(law):
    whole, turned = present(law, range(300)), present(law, range(300), NAMES[::-1])
    np.testing.assert_array_equal(turned[:, ::-1], whole)
    assert (present(law, range(300), seed=4) != whole).any()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_rates_and_persistence_are_those_of_many_games(law):
    """Tolerance: five standard errors of the mean of a chain."""
    found, p, rho = present(law, range(N_GAMES)), law.rates(NAMES), law.persistence(NAMES)
    error = np.sqrt(p * (1 - p) / N_GAMES * (1 + np.abs(rho)) / (1 - np.abs(rho)))
    assert (np.abs(found.mean(axis=0) - p) <= 5 * error + 1e-4).all()
    for column, expected in zip(found.T, rho, strict=True):
        if law.recorded or column.all():
            continue
        lag = np.corrcoef(column[1:], column[:-1])[0, 1]
        assert abs(lag - expected) < 5 / np.sqrt(N_GAMES)


def test_a_wrong_rate_would_be_noticed():
    found = present(sb.Independent(0.8), range(N_GAMES)).mean(axis=0)
    assert (np.abs(found - 0.82) > 5 * np.sqrt(0.16 / N_GAMES)).all()


def chain_by_hand(seed, name, n_games, join, stay):
    """Follow the chain from the first game on."""
    numbers = uniforms(Seeds(seed).words("participation", name, range(n_games), 1)[:, 0])
    states = [numbers[0] < join / (1 + join - stay)]
    for number in numbers[1:]:
        states.append(number < (stay if states[-1] else join))
    return np.array(states)


@pytest.mark.parametrize(
    ("join", "stay"),
    [(0.1, 0.95), (0.9, 0.2), (0.3, 0.3), (0.001, 0.999), (0.999, 0.001), (0.5, 1)],
)
def test_a_chain_is_that_of_its_definition(join, stay):
    law = sb.MarkovChain(join, stay)
    expected = chain_by_hand(3, "north", 3000, join, stay)
    np.testing.assert_array_equal(present(law, range(3000))[:, 0], expected)
    late = present(law, range(2990, 3000))[:, 0]  # found by looking back
    np.testing.assert_array_equal(late, expected[2990:])


def test_cohorts_have_exactly_k_members_and_all_are_equally_likely():
    found = present(sb.Cohort(2), range(6000))
    assert (found.sum(axis=1) == 2).all()
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 6
    assert (np.abs(counts - 1000) < 5 * np.sqrt(6000 * 1 / 6 * 5 / 6)).all()


def test_a_trace_repeats_its_rounds():
    np.testing.assert_array_equal(
        present(sb.Trace(ROUNDS), range(7)), ROUNDS[[0, 1, 2, 0, 1, 2, 0]]
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_of_rounds_goes_by_its_columns(library):
    turned = library.DataFrame({name: ROUNDS[:, NAMES.index(name)] for name in NAMES[::-1]})
    law = sb.Trace(turned)
    law.check(NAMES)
    np.testing.assert_array_equal(present(law, range(3)), ROUNDS)
    np.testing.assert_array_equal(law.rates(NAMES), ROUNDS.mean(axis=0))


def test_a_simulated_trace_is_what_a_valuation_would_see():
    chain = sb.MarkovChain(0.2, 0.9)
    trace = chain.simulate(NAMES, n_rounds=50, seed=3)
    np.testing.assert_array_equal(trace.to_numpy(), present(chain, range(50)))
    np.testing.assert_array_equal(present(sb.Trace(trace), range(50)), trace.to_numpy())


@pytest.mark.parametrize("law", [*LAWS, sb.Trace(pd.DataFrame(ROUNDS, columns=NAMES))], ids=repr)
def test_a_stored_participation_is_the_same(law):
    again = from_plain(to_plain(law))
    assert repr(again) == repr(law)
    np.testing.assert_array_equal(present(again, range(100)), present(law, range(100)))


@pytest.mark.parametrize(
    ("law", "counts"),
    [
        (sb.Independent(0.8), [1, 2, 3, 4]),
        (sb.Independent(1.0), [4]),
        (sb.Independent({**BY_NAME, "north": 1.0}), [2, 3, 4]),
        (sb.Cohort(3), [3]),
        (sb.MarkovChain(0.5, 0.5), [1, 2, 3, 4]),
        (sb.Trace(np.vstack([ROUNDS, [[0, 0, 0, 0]]])), [2, 3]),
    ],
    ids=repr,
)
def test_the_numbers_of_providers_in_a_game_are_known(law, counts):
    assert list(law.counts(NAMES)) == counts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Independent(1.2), "probability must lie between 0 and 1; received 1.2"),
        (lambda: sb.Independent(0), "never takes part is worth 0: leave it out"),
        (lambda: sb.Independent("often"), "must be a finite number; received 'often'"),
        (lambda: sb.Independent(float("nan")), "must be a finite number"),
        (lambda: sb.Independent(True), "must be a finite number; received True"),
        (lambda: sb.Independent({}), "is empty: give a probability for each"),
        (lambda: sb.Independent({"north": -1}), r"probability\['north'\] must lie between"),
        (lambda: sb.Independent({1: 0.5}), "must be by the names of providers; received 1"),
        (lambda: sb.Cohort(0), "k must be a whole number of at least 1; received 0"),
        (lambda: sb.Cohort(2.5), "k must be a whole number"),
        (lambda: sb.MarkovChain(0.0, 0.5), "join must be above 0"),
        (lambda: sb.MarkovChain(0.5, 1.5), "stay must lie between 0 and 1"),
        (lambda: sb.Trace([1, 0, 1]), r"must be a table of rounds .* the shape \(3,\)"),
        (lambda: sb.Trace([[1, 0], [1]]), "lines of the same length"),
        (lambda: sb.Trace(np.empty((0, 3))), "at least one of each"),
        (lambda: sb.Trace([[1, 2]]), "must be true or 1"),
        (lambda: sb.Trace([[1, np.nan]]), "must be true or 1"),
        (lambda: sb.Trace([["yes", "no"]]), "must be true or 1"),
        (lambda: sb.Trace([[1, 0], [1, 0]]), "column 1 never takes part: leave it out"),
        (lambda: sb.Trace(pd.DataFrame({"a": [0, 0]})), "column 'a' never takes part"),
    ],
)
def test_odd_settings_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (sb.Independent({**BY_NAME, "sout": 0.5}), "no provider 'sout': did you mean 'south'"),
        (sb.Independent({"north": 0.5}), "there is none for provider 'south': add it"),
        (sb.MarkovChain(0.5, {"north": 0.5}), "MarkovChain: stay: there is none for .*'south'"),
        (sb.MarkovChain(1, 0), "every other game, which is not random: use a Trace"),
        (sb.Cohort(5), "at most the number of providers, 4; received 5"),
        (sb.Trace([[1, 0], [1, 1]]), "one column for each of the 4 providers; received 2"),
        (sb.Trace(pd.DataFrame({"nort": [1]})), "no provider 'nort': did you mean 'north'"),
    ],
    ids=repr,
)
def test_laws_of_other_providers_are_refused(law, message):
    with pytest.raises(InvalidInput, match=message):
        law.check(NAMES)


def test_a_law_says_what_it_is():
    assert repr(sb.Independent({"a": 0.5})) == "Independent({'a': 0.5})"
    assert repr(sb.Independent(BY_NAME)) == "Independent(4 probabilities)"
    assert repr(sb.MarkovChain(0.25, {"a": 1})) == "MarkovChain(join=0.25, stay={'a': 1})"
    assert sb.Independent(BY_NAME).estimand.endswith("with probability 0.1 to 1")


@pytest.mark.parametrize(
    ("rounds", "shape"),
    [([], "(0,)"), ([1, 0], "(2,)"), (np.empty((0, 3)), "(0, 3)"), (pd.DataFrame(), "(0, 0)")],
)
def test_a_trace_without_rounds_or_providers_is_refused_with_its_shape(rounds, shape):
    with pytest.raises(InvalidInput) as refused:
        sb.Trace(rounds)
    assert str(refused.value).endswith(f"with at least one of each; received the shape {shape}")
