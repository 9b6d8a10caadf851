"""Every method against a slow reference, and cases with known answers."""

import numpy as np
import pytest

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput
from tests.federated.reference import values_by_round, values_once

NAMES = ("a", "b", "c", "d")


def random_rounds(rng, n_rounds=3, names=NAMES, chance=0.7, shapes=((2, 3), (4,), ())):
    """Rounds that are not the averages of each other; some clients are absent."""
    draw = lambda: [rng.normal(size=shape) for shape in shapes]  # noqa: E731
    return [
        sb.RecordedRound(
            draw(),
            {
                name: (draw(), float(rng.integers(1, 100)))
                for name in names
                if rng.random() < chance
            },
        )
        for _ in range(n_rounds)
    ]


def score(parameters):
    """Any smooth function of all parameters, not additive."""
    return float(sum(np.sin(array).sum() + np.tanh(array.sum()) ** 2 for array in parameters))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aggregation", ["records", "evenly"])
def test_or_equals_the_reference(seed, aggregation):
    rounds = random_rounds(np.random.default_rng(seed))
    found = sb.value_recorded(rounds, score, method="OR", aggregation=aggregation, names=NAMES)
    wanted = values_once(rounds, NAMES, score, even=aggregation == "evenly")
    np.testing.assert_allclose(found.values, list(wanted.values()), atol=1e-12)
    assert (found.solver_error == 0).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("truncation", [None, 0.8])
def test_mr_equals_the_reference(seed, truncation):
    rounds = random_rounds(np.random.default_rng(seed), n_rounds=4)
    found = sb.value_recorded(rounds, score, method="MR", names=NAMES, truncation=truncation)
    wanted = values_by_round(rounds, NAMES, score, truncation=truncation)
    np.testing.assert_allclose(found.values, list(wanted.values()), atol=1e-12)
    np.testing.assert_allclose(found.by_round.sum(axis=0), found.values, atol=1e-15)


def test_some_rounds_of_the_cases_above_are_truncated_and_some_are_not():
    skipped = [
        len(
            sb.value_recorded(
                random_rounds(np.random.default_rng(seed), n_rounds=4),
                score, method="MR", names=NAMES, truncation=0.8,
            ).skipped
        )
        for seed in range(6)
    ]  # fmt: skip
    assert 0 < sum(skipped) < 24


def test_methods_agree_on_a_single_round_with_everybody():
    rounds = random_rounds(np.random.default_rng(1), n_rounds=1, chance=1.1)
    kinds = [sb.value_recorded(rounds, score, method=one) for one in ("OR", "MR", "one-round")]
    np.testing.assert_allclose(kinds[0].values, kinds[1].values, atol=1e-12)
    assert kinds[0].values.tolist() == kinds[2].values.tolist()


def test_with_even_weights_and_a_linear_score_the_values_are_known():
    # The mean of k numbers x_i, 0 for nobody: client i gets x_i / n + (x_i − mean of the others)
    # × Σ_{k=2..n} 1/(k n), from the marginal contribution to a random coalition of k − 1 others.
    x = np.array([3.0, -1.0, 4.0, 2.0])
    updates = {name: ([np.array([own])], 10) for name, own in zip(NAMES, x, strict=True)}
    rounds = [sb.RecordedRound([np.zeros(1)], updates)]
    linear = lambda parameters: parameters[0][0]  # noqa: E731
    found = sb.value_recorded(rounds, linear, method="OR", aggregation="evenly")
    others = (x.sum() - x) / 3
    harmonic = sum(1 / k for k in range(2, 5)) / 4
    np.testing.assert_allclose(found.values, x / 4 + (x - others) * harmonic, atol=1e-14)


def test_a_score_that_separates_the_clients_gives_everyone_its_own_part():
    # Each client changes a parameter of its own, and the score counts which of them changed.
    eye = np.eye(4)
    rounds = [
        sb.RecordedRound([np.zeros(4)], {n: ([eye[i]], 5 + i) for i, n in enumerate(NAMES)})
        for _ in range(3)
    ]
    counted = lambda parameters: float((parameters[0] != 0) @ np.array([1.0, 2, 3, 4]))  # noqa: E731
    once = sb.value_recorded(rounds, counted, method="OR")
    by_round = sb.value_recorded(rounds, counted, method="MR")
    np.testing.assert_allclose(once.values, [1, 2, 3, 4], atol=1e-12)
    np.testing.assert_allclose(by_round.values, [3, 6, 9, 12], atol=1e-12)


def test_one_client_gets_the_whole_change():
    rounds = random_rounds(np.random.default_rng(3), names=("only",), chance=1.1)
    found = sb.value_recorded(rounds, score, method="OR")
    wanted = values_once(rounds, ("only",), score)["only"]
    assert found.values.tolist() == pytest.approx([wanted], abs=1e-12)
    assert sb.value_recorded(rounds, score, method="MR").values.shape == (1,)


def test_a_client_that_is_never_present_is_worth_nothing():
    rounds = random_rounds(np.random.default_rng(4), names=NAMES[:3], chance=1.1)
    for method in ("OR", "MR"):
        found = sb.value_recorded(rounds, score, method=method, names=NAMES)
        alone = sb.value_recorded(rounds, score, method=method)
        assert found.values[3] == pytest.approx(0, abs=1e-14)
        np.testing.assert_allclose(found.values[:3], alone.values, atol=1e-12)
        assert found.rounds_present.tolist() == [3, 3, 3, 0]


def test_a_round_with_nobody_changes_nothing():
    rounds = random_rounds(np.random.default_rng(5), chance=1.1)
    empty = sb.RecordedRound(rounds[1].parameters, {})
    for method in ("OR", "MR"):
        with_it = sb.value_recorded([rounds[0], empty, rounds[2]], score, method=method)
        without = sb.value_recorded([rounds[0], rounds[2]], score, method=method)
        np.testing.assert_allclose(with_it.values, without.values, atol=1e-12)


def test_the_values_do_not_depend_on_the_order_of_clients():
    rounds = random_rounds(np.random.default_rng(6))
    turned = NAMES[::-1]
    for method in ("OR", "MR"):
        one = sb.value_recorded(rounds, score, method=method, names=NAMES)
        other = sb.value_recorded(rounds, score, method=method, names=turned)
        np.testing.assert_allclose(one.values, other.values[::-1], atol=1e-13)


def test_many_clients_are_valued_by_a_sample_with_its_error():
    rng = np.random.default_rng(7)
    names = [f"client {i}" for i in range(14)]
    rounds = random_rounds(rng, n_rounds=2, names=names, chance=1.1, shapes=((3,),))
    sampled = sb.value_recorded(rounds, score, method="MR", seed=0)
    exact = sb.value_recorded(rounds, score, method="MR", solver=sb.Exact())
    assert sampled.solver == "Strata(n_evaluations=560)"
    assert (sampled.solver_error > 0).all()
    z = (sampled.values - exact.values) / sampled.solver_error
    assert np.abs(z).max() < 5  # 14 values; 5 standard errors of about 2 × 560 evaluations
    assert sampled.values.sum() == pytest.approx(exact.values.sum())


def test_dtypes_and_shapes_reach_the_score_as_recorded():
    start = [np.zeros((2, 2), dtype=np.float32), np.array(3, dtype=np.int64)]
    own = [np.ones((2, 2), dtype=np.float32), np.array(4, dtype=np.int64)]
    seen = []

    def looking(parameters):
        seen.append([(array.dtype, array.shape, array.flags.writeable) for array in parameters])
        return float(parameters[0].sum())

    rounds = [sb.RecordedRound(start, {"a": (own, 3), "b": (own, 1)})]
    sb.value_recorded(rounds, looking, method="OR")
    wanted = [(np.dtype("f4"), (2, 2), True), (np.dtype("i8"), (), True)]
    assert len(seen) == 4
    assert all(one == wanted for one in seen)


def test_a_server_that_does_more_than_average_is_noticed():
    step = lambda at, moved: sb.RecordedRound(  # noqa: E731
        [np.array([at])], {"a": ([np.array([at + 1.0])], 1), "b": ([np.array([at + moved])], 3)}
    )
    plain = [step(0.0, 3.0), step(2.5, 3.0), step(5.0, 3.0)]
    assert sb.value_recorded(plain, score, method="OR").departures == 0
    assert sb.value_recorded(plain, score, method="OR", aggregation="evenly").departures == 2
    momentum = [step(0.0, 3.0), step(2.5, 3.0), step(6.0, 3.0)]
    found = sb.value_recorded(momentum, score, method="OR")
    assert found.departures == 1
    assert "1 of 2 recorded models are not the averages" in str(found)


def broken(at, name, what):
    rounds = random_rounds(np.random.default_rng(8), chance=1.1, shapes=((2,), (3,)))
    updates = {key: ([*map(np.array, own)], n) for key, (own, n) in rounds[at].updates.items()}
    what(updates[name][0])
    rounds[at] = sb.RecordedRound(rounds[at].parameters, updates)
    return rounds


def put(number):
    def change(arrays):
        arrays[1][2] = number

    return change  # fmt: skip


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_updates_that_are_not_finite_are_refused_with_client_and_round(number):
    called = []
    with pytest.raises(
        InvalidInput, match=r"rounds\[2\]: the model of client 'c' has NaN.*array 1"
    ):
        sb.value_recorded(broken(2, "c", put(number)), called.append, method="OR")
    assert called == []


def test_shapes_that_differ_are_refused_with_client_and_round():
    rounds = broken(1, "b", lambda arrays: arrays.pop())
    with pytest.raises(InvalidInput, match=r"rounds\[1\]: the model of client 'b' has .*\(2,\)\]"):
        sb.value_recorded(rounds, score, method="OR")
    other = random_rounds(np.random.default_rng(8), shapes=((2,), (4,)))
    good = random_rounds(np.random.default_rng(8), shapes=((2,), (3,)))
    with pytest.raises(InvalidInput, match=r"rounds\[1\]: the global model"):
        sb.value_recorded([good[0], other[0]], score, method="MR")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "GTG"}, "method must be one of 'OR', 'MR', 'one-round'; received 'GTG'"),
        ({"aggregation": "size"}, "aggregation must be one of"),
        ({"truncation": 0.1}, "leave truncation out"),
        ({"method": "MR", "truncation": -1}, "truncation must be at least 0"),
        ({"method": "one-round"}, "takes a single round.*received 3 rounds"),
        ({"names": ["a", "b", "c"]}, "names lacks 'd'"),
        ({"names": ["a", "b", "c", "d", "d"]}, "different"),
        ({"names": "abcd"}, "list of strings"),
        ({"solver": "exact"}, "solver must be a solver"),
        ({"solver": sb.BalancedPermutation(6)}, "use 8"),
        ({"check": 20}, "check is given without retrain"),
        ({"retrain": len}, "retrain is given without check"),
        ({"check": 3, "retrain": len}, "at least 9 for 4 clients"),
        ({"seed": -1}, "seed"),
        ({"rounds": []}, "at least one RecordedRound; received an empty list"),
        ({"rounds": [1]}, r"rounds\[0\] must be a RecordedRound; received int"),
        ({"score": 3}, "score must be a function"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_scored(change, words):
    called = []
    arguments = {"rounds": random_rounds(np.random.default_rng(9), chance=1.1)}
    arguments |= {"score": called.append, "method": "OR"} | change
    with pytest.raises(InvalidInput, match=words):
        sb.value_recorded(arguments.pop("rounds"), arguments.pop("score"), **arguments)
    assert called == []


def test_nobody_in_any_round_is_refused_unless_clients_are_named():
    rounds = [sb.RecordedRound([np.zeros(2)], {})]
    with pytest.raises(InvalidInput, match="nobody was present"):
        sb.value_recorded(rounds, score, method="MR")
    assert sb.value_recorded(rounds, score, method="MR", names=["a"]).values.tolist() == [0.0]
    assert sb.value_recorded(rounds, score, method="OR", names=["a"]).values.tolist() == [0.0]


def test_a_score_that_fails_names_the_round_and_the_coalition():
    rounds = random_rounds(np.random.default_rng(10), chance=1.1)
    calls = []

    def failing(parameters):
        calls.append(1)
        if len(calls) == 20:  # of the second round: its global model is the 17th
            raise RuntimeError("out of memory")
        return 0.0

    wanted = r"rounds\[1\]: the coalition \{'a', 'b'\} could not be evaluated.*out of memory"
    with pytest.raises(EvaluationError, match=wanted):
        sb.value_recorded(rounds, failing, method="MR")
    with pytest.raises(EvaluationError, match=r"rounds\[0\]: the global model.*received nan"):
        sb.value_recorded(rounds, lambda _: np.nan, method="OR")


@pytest.mark.parametrize("method", ["OR", "MR", "one-round"])
def test_a_first_model_of_whole_numbers_does_not_round_what_clients_sent(method):
    sent = {"a": ([np.array([0.4, 0.4])], 1), "b": ([np.array([0.3, 0.1])], 1)}
    rounds = [sb.RecordedRound([np.array([0, 0])], sent)]
    found = sb.value_recorded(rounds, lambda parameters: parameters[0].sum(), method=method)
    np.testing.assert_allclose(found.values, [0.5, 0.1], atol=1e-12)


def test_counters_that_all_clients_sent_as_whole_numbers_stay_whole():
    sent = {"a": ([np.array([1])], 1), "b": ([np.array([2])], 1)}
    kinds = set()

    def score(parameters):
        kinds.add(parameters[0].dtype.kind)
        return float(parameters[0][0])

    sb.value_recorded([sb.RecordedRound([np.array([0])], sent)], score, method="OR")
    assert kinds == {"i"}
