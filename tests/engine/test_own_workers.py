"""Workers of the user's own that lose, repeat or invent answers are refused."""

import pytest
from tests.conftest import linear_providers

import shapband as sb


class Own(sb.Workers):
    n_jobs = 1

    def __init__(self, give):
        self.give = give

    def map(self, job, tasks, n_tasks):
        return self.give([job(task) for task in tasks])


def valued(give):
    providers, validation = linear_providers(n=3)
    return sb.value(
        providers, sb.LinearUtility(*validation), sampling=sb.Fresh(8), n_games=17, seed=0,
        chunk_size=5, workers=Own(give),
    )  # fmt: skip


def test_a_list_of_answers_is_enough():
    assert valued(list).n_games == valued(iter).n_games == 17


@pytest.mark.parametrize(
    "give",
    [
        lambda answers: answers[:-1],
        lambda answers: answers[:1] + answers[2:],
        lambda answers: [*answers[:2], None, *answers[3:]],
        lambda answers: [],
        lambda answers: answers[::-1],
        lambda answers: [*answers[:3], *answers[2:]],
        lambda answers: [1.0] * len(answers),
    ],
)
def test_answers_that_are_not_those_of_the_tasks_are_refused(give):
    with pytest.raises(sb.errors.EvaluationError, match=r"Own\.map must yield the answer of every"):
        valued(give)
