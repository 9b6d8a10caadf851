"""Draws dealt from shuffles: how much they save, and whether their errors and variances hold."""

import numpy as np
import pytest

import shapband as sb
from coverage_study.dealing import DealtTask, independent, rotated, saving, tasks

MOST = {"least squares": 0.75}  # of the squared error of independent draws; others 0.6


@pytest.mark.parametrize("task", tasks(20, forests=False), ids=lambda task: task.title)
def test_dealt_draws_have_smaller_errors(task: DealtTask) -> None:
    few = task._replace(n_games=600)
    found = saving(few, 11)
    assert found.ratio - 2 * found.error < MOST.get(task.title, 0.6)
    control = saving(few, 12, independent)
    assert abs(control.ratio - 1) < 4 * np.sqrt(2 / 100)


def test_draws_that_meet_every_other_draw_have_larger_errors() -> None:
    """What is left after dealing is due to the records within a draw, so new draws are better."""
    found = saving(tasks(20, forests=False)[0], 13, rotated)
    assert found.ratio - 4 * found.error > 1


@pytest.mark.long
@pytest.mark.parametrize("task", tasks(20, forests=True), ids=lambda task: task.title)
def test_dealt_draws_save_what_the_page_says(task: DealtTask) -> None:
    found = saving(task, 3)
    assert found.ratio - 2 * found.error < MOST.get(task.title, 0.6)
    assert abs(saving(task, 4, independent).ratio - 1) < 4 * np.sqrt(2 * 6 / task.n_games)


def repeated(task: DealtTask, n_games: int, repeats: int) -> list[sb.Valuation]:
    sampling = sb.Pooled(6 * task.n_boot, task.n_boot, replace=False)
    return [
        sb.value(
            task.providers,
            task.utility,
            sampling=sampling,
            n_games=n_games,
            seed=seed,
            fixed_validation=True,
        )
        for seed in range(repeats)
    ]


@pytest.mark.parametrize(
    "title",
    [
        "least squares",
        pytest.param("naive Bayes", marks=pytest.mark.long),
        pytest.param("linear discriminant", marks=pytest.mark.long),
    ],
)
def test_errors_and_variances_hold_on_finite_stocks(title: str) -> None:
    """Five providers and 120 repetitions: a mean squared error is known to about 9 %."""
    task = next(one for one in tasks(20, forests=False) if one.title == title)
    truth = sb.value(
        task.providers, task.utility, sampling=sb.Fresh(task.n_boot), n_games=20_000, seed=10**6
    )
    found = repeated(task, 200, 120)
    square = np.mean([(one.expectation - truth.expectation) ** 2 for one in found])
    reported = np.mean([one.standard_error**2 for one in found])
    assert 0.9 - 0.09 < np.sqrt(reported / square) < 1.15 + 0.09
    independent = np.mean(truth.variance) / 200
    assert np.sqrt(independent / square) > 1.15  # the control: errors as if games were independent
    variance = np.mean([one.variance / truth.variance for one in found])
    assert abs(variance - 1) < 0.03
    within = [shuffles_variance(one) / truth.variance for one in found]
    assert np.mean(within) > 1.05  # the control: the variance within shuffles is too large


def shuffles_variance(valuation: sb.Valuation) -> np.ndarray:
    """Variance of games about the mean of their shuffle."""
    whole = valuation.games[: len(valuation.games) // 6 * 6].reshape(-1, 6, len(valuation.names))
    return np.asarray(whole.var(axis=1, ddof=1).mean(axis=0))
