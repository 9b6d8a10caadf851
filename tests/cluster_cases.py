"""What every kind of workers in other processes must do; a module gives the fixture `workers`.

Classes and functions are local, so that they travel by value: a cluster does not have the tests.
"""

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import ExtraTreeRegressor

import shapband as sb
from shapband.utilities.joined import RecordsUtility
from tests.conftest import gaussian_providers, linear_providers
from tests.test_invariance import same_bits


def linear_pooled():
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    return providers, utility, {"sampling": sb.Pooled(30, 12), "chunk_size": 4}


def neighbours():
    providers, (X_val, y_val) = linear_providers(n=4)
    utility = sb.NeighborUtility(X_val, y_val, k=3)
    return (
        providers,
        utility,
        {"sampling": sb.Pooled(36, 12, replace=False), "solver": sb.Permutation(5)},
    )


def black_box():
    providers, (X_val, y_val) = linear_providers(n=4)
    utility = sb.EstimatorUtility(Ridge(), X_val, y_val)
    return providers, utility, {"sampling": sb.Pooled(30, 12), "solver": sb.Permutation(4)}


def random_trees():
    """Trees whose random state is not set, some of which fail."""
    providers, (X_val, y_val) = linear_providers(n=3)
    trees = ExtraTreeRegressor(max_features=1)
    utility = sb.EstimatorUtility(make_pipeline(PCA(3), trees), X_val, y_val, failed=0.0)
    return providers, utility, {"sampling": sb.Fresh(2)}


def fresh_from_afar():
    providers = gaussian_providers([0.0, 1.0, 2.0], [1.0, 2.0, 0.5])
    utility = sb.FunctionUtility(lambda X, y: float(np.median(y)))
    return providers, utility, {"sampling": sb.Fresh(9)}


def federated_rounds():
    """Twelve clients of five rounds, who come and go."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 4))
    y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=500) > 0).astype(int)
    rows = [slice(30 * at, 30 * at + 30) for at in range(12)]
    providers = [
        sb.Provider(f"client {at}", sb.ArraySource(X[own], y[own])) for at, own in enumerate(rows)
    ]
    utility = sb.FederatedUtility("logistic", X[360:], y[360:], rounds=5, score="neg_log_loss")
    return (
        providers,
        utility,
        {
            "sampling": sb.Fresh(10),
            "participation": sb.Independent(0.7, per="round"),
            "solver": sb.Strata(48),
            "by_round": True,
            "chunk_size": 4,
        },
    )


CASES = [linear_pooled, neighbours, black_box, random_trees, fresh_from_afar, federated_rounds]


def check_lost_workers(workers, room, losses):
    """Kill the process in its sixth call, in as many processes as there are losses."""
    home = os.getpid()
    calls = []

    def v(X, y):
        calls.append(1)
        if os.getpid() != home:
            time.sleep(0.005)
            if len(calls) > 5 and len(list(room.iterdir())) < losses:
                (room / str(os.getpid())).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return float(np.median(y))

    providers, _ = linear_providers(n=3)
    arguments = {"sampling": sb.Pooled(30, 12), "n_games": 16, "seed": 3}
    one = sb.value(providers, sb.FunctionUtility(v), **arguments)
    calls.clear()
    other = sb.value(providers, sb.FunctionUtility(v), workers=workers, **arguments)
    assert len(list(room.iterdir())) >= losses
    same_bits(other, one)


class Workers:
    """The tests of all workers in other processes."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
    def test_all_give_the_bits_of_one_process(self, case, workers):
        providers, utility, arguments = case()
        arguments |= {"n_games": 18, "seed": 5}
        one = sb.value(providers, utility, **arguments)
        other = sb.value(providers, utility, workers=workers, **arguments)
        same_bits(other, one)
        if one.by_round is not None:
            pd.testing.assert_frame_equal(
                other.by_round.to_frame(), one.by_round.to_frame(), check_exact=True
            )
        assert other.evaluations == one.evaluations
        assert other.failures == one.failures
        assert other.access.records == one.access.records

    def test_a_task_that_raises_gives_the_error_of_one_process(self, workers):
        class Refused(Exception):
            pass

        def v(X, y):
            if len(y) > 12:
                raise Refused("no more than one provider, please")
            return 1.0

        def error(**arguments):
            with pytest.raises(sb.errors.EvaluationError) as caught:
                sb.value(
                    providers,
                    sb.FunctionUtility(v),
                    sampling=sb.Pooled(30, 12),
                    n_games=8,
                    seed=0,
                    **arguments,
                )
            return str(caught.value)

        providers, _ = linear_providers(n=3)
        assert error(workers=workers) == error()
        assert "'site 0', 'site 1'" in error()
        assert "Refused: no more than one provider, please" in error()

    def test_an_exception_of_the_users_own_comes_back_as_it_is(self, workers):
        class Refused(Exception):
            pass

        class Reluctant(sb.Solver):
            def check(self, n_providers):
                pass

            def floats_per_game(self, n_providers):
                return 1

            def solve(self, games):
                raise Refused("not today", 7)

        providers, _ = linear_providers(n=3)
        with pytest.raises(Refused) as caught:
            sb.value(
                providers,
                sb.FunctionUtility(lambda X, y: 1.0),
                sampling=sb.Pooled(30, 12),
                solver=Reluctant(),
                n_games=8,
                seed=0,
                workers=workers,
            )
        assert type(caught.value) is Refused
        assert caught.value.args == ("not today", 7)
        assert "in solve" in str(caught.value.__cause__)  # the trace of the other process

    def test_every_process_opens_the_job_once(self, workers, tmp_path):
        """Every process opens the utility once, however many stages and tasks there are."""
        opened = tmp_path / "opened"

        class Counted(RecordsUtility):
            def score(self, batch):
                time.sleep(0.001)
                return float(np.median(batch.y))

            def __setstate__(self, state):
                self.__dict__.update(state)
                with opened.open("a") as file:
                    file.write(f"{os.getpid()}\n")

            def __getstate__(self):
                return {"weight": 1}

        providers, _ = linear_providers(n=3)
        arguments = {"sampling": sb.Pooled(30, 12), "n_games": 70, "seed": 0}
        stop = sb.Precision(absolute=1e-9)  # never met: three stages
        sb.value(providers, Counted(), stop=stop, workers=workers, **arguments)
        by_process = opened.read_text().split()
        assert len(by_process) == len(set(by_process))
        assert 1 <= len(by_process) <= 2

    def test_tasks_are_made_a_few_ahead(self, workers):
        class Echo:
            def __call__(self, task):
                return task

            def packed(self, task):
                return task

            def rehearse(self, task):
                pass

            def set_up_worker(self):
                pass

        made = []

        def tasks():
            for number in range(60):
                made.append(number)
                yield number

        with workers:
            ahead = 2 * workers.n_jobs + 1
            for done, answer in enumerate(workers.map(Echo(), tasks(), 60)):
                assert answer == done
                assert len(made) - done <= ahead
        assert len(made) == 60


class ClusterWorkers(Workers):
    """Those, and the tests of workers that may be lost."""

    @pytest.mark.parametrize("losses", [1, 2])
    def test_lost_workers_leave_no_trace(self, workers, tmp_path, losses):
        """With two losses every worker that had the job is gone."""
        check_lost_workers(workers, tmp_path, losses)
