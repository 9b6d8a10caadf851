"""The answer of a valuation, word for word, for chances that are given instead of simulated."""

import pandas as pd
import pytest
from markupsafe import Markup

import shapband as sb
from shapband.errors import InvalidInput
from shapband.report.answer import Refused, answer, attempt
from shapband.report.page import page_of
from tests.report.made_up import made_up
from tests.report.outlining import NAMES, plain

NORTH = "<strong><bdi>north</bdi></strong> has the largest expected Shapley value, "


def first_sentence(chances):
    found = answer(plain(), chances)
    assert all(isinstance(one, Markup) for one in found)
    return found[0].replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ([0.95, 0.0, 0.05], ": this is true with a probability of 95 %."),
        (
            [0.949, 0.0, 0.051],
            ", but this is not certain: it is the largest with a probability of 95 %, and "
            "<bdi>west</bdi> with 5 %.",
        ),
        (
            [0.6, 0.3, 0.1],
            ", but this is not certain: it is the largest with a probability of 60 %, and "
            "<bdi>south</bdi> with 30 %; 1 more is possible.",
        ),
        (
            [0.2, 0.75, 0.05],
            ", but this is not certain: it is the largest with a probability of 20 %, and "
            "<bdi>south</bdi> with 75 %.",
        ),
    ],
)
def test_how_certain_the_largest_is(chances, words):
    found = first_sentence(pd.Series(chances, index=NAMES))
    assert found == f"{NORTH}3.032 ± 0.095{words}"


def test_several_others_may_be_the_largest():
    valuation = made_up(5, 400)
    chances = pd.Series([0.2] * 5, index=valuation.names)
    assert answer(valuation, chances)[0].endswith("; 3 more are possible.")


def test_a_certainty_that_is_not_known():
    found = first_sentence(Refused("This needs more games."))
    assert found == f"{NORTH}3.032 ± 0.095; how certain this is, is not known."


def test_a_question_that_is_refused_gives_the_reason_as_a_sentence():
    def refuse():
        raise InvalidInput("ranks: this needs games: play more")

    found = attempt(refuse)
    assert isinstance(found, Refused)
    assert found == "This needs games: play more."
    assert attempt(lambda: 3) == 3


def test_payouts_of_another_valuation_are_refused():
    for payouts, message in {
        sb.payouts(made_up(3, names=NAMES), 10): "must be made from this valuation",
        3: "must be what sb.payouts returns; received 3",
    }.items():
        with pytest.raises(InvalidInput) as refused:
            page_of(plain(), payouts=payouts)
        assert str(refused.value) == f"report: payouts {message}"
