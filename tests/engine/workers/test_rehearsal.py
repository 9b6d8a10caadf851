"""Kernels are compiled in the process that calls `value`, before tasks are sent to others."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from tests.conftest import linear_providers

import shapband as sb
from shapband.engine import chunks
from shapband.engine.workers.remote import RemoteWorkers, perform_sealed, seal


class Nearby(RemoteWorkers):
    """Does every task when it is submitted, as another process would, and notes it."""

    n_jobs = 2

    def __init__(self, log):
        super().__init__()
        self.log = log

    def ship(self, job):
        return seal(job, "the job")

    def submit(self, shipped, task):
        self.log.append("sent")
        return perform_sealed(shipped.token, shipped.place, task)

    def result(self, handle):
        return handle

    def cancel(self, handle):
        pass


@pytest.fixture
def log(monkeypatch):
    """The games that are solved, and when tasks are sent."""
    seen = []
    solve = chunks.Job._solved

    def noted(job, chunk, utility, solver):
        seen.append((type(solver.at(chunk.indices.start)).__name__, len(chunk.indices)))
        return solve(job, chunk, utility, solver)

    monkeypatch.setattr(chunks.Job, "_solved", noted)
    monkeypatch.setattr(chunks, "_rehearsed", set())
    return seen


def wine(solver):
    task = sb.datasets.wine()
    given = {"sampling": sb.Fresh(20), "n_games": 12, "seed": 0, "chunk_size": 4}
    return task.providers, task.utility, {**given, "solver": solver}


def test_one_game_is_solved_here_before_the_first_task_is_sent(log):
    providers, utility, given = wine(sb.Permutation(3))
    found = sb.value(providers, utility, workers=Nearby(log), **given)
    assert log[:2] == [("Permutation", 1), "sent"]
    assert log[2:] == [("Permutation", 4), "sent", ("Permutation", 4), "sent", ("Permutation", 4)]
    assert np.array_equal(found.games, sb.value(providers, utility, **given).games)


def test_a_second_valuation_of_the_kind_is_not_rehearsed(log):
    providers, utility, given = wine(sb.Permutation(3))
    sb.value(providers, utility, workers=Nearby(log), **given)
    log.clear()
    sb.value(providers, utility, workers=Nearby(log), **given)
    assert log[0] == "sent"
    log.clear()
    sb.value(providers, utility, workers=Nearby(log), **{**given, "solver": sb.Exact()})
    assert log[:2] == [("Exact", 1), "sent"]


def test_every_candidate_of_a_trial_is_rehearsed(log):
    providers, rows = linear_providers(14, 60, 3)
    utility = sb.LinearUtility(*rows)
    given = {"sampling": sb.Fresh(10), "n_games": 9, "seed": 1}
    sb.value(providers, utility, workers=Nearby(log), **given)
    before = [log[at - 1] for at, one in enumerate(log) if one == "sent"]
    assert ("Arcs", 1) in before
    assert ("BalancedPermutation", 1) in before


def test_games_with_absent_providers_are_rehearsed_without_them(log):
    providers, utility, given = wine(sb.Permutation(3))
    given["participation"] = sb.Independent(0.6)
    found = sb.value(providers, utility, workers=Nearby(log), **given)
    assert log[:2] == [("Permutation", 1), "sent"]
    assert np.array_equal(found.games, sb.value(providers, utility, **given).games)


def test_black_boxes_are_not_rehearsed(log):
    task = sb.datasets.wine()
    utility = sb.EstimatorUtility(Ridge(), task.X_val, task.y_val)
    sb.value(
        task.providers[:3], utility, sampling=sb.Fresh(20), n_games=2, seed=0, workers=Nearby(log)
    )
    assert log[0] == "sent"
