"""The answer of a valuation, word for word, for chances that are given instead of simulated."""

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup

import shapband as sb
from shapband.errors import InvalidInput
from shapband.report.answer import Refused, answer, attempt, spread_words
from shapband.report.page import page_of
from tests.conftest import redesigned
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


def spread_of(**options):
    """What the report, the report of one provider and the statement say of the spread."""
    options = {"sampling": sb.Fresh(8), "n_games": 30, "seed": 0} | options
    records = np.arange(40.0)[:, None]
    providers = [
        sb.Provider(name, sb.ArraySource(records, level + np.sin(records[:, 0])))
        for name, level in zip(NAMES, (1.0, 2.0, 4.0), strict=True)
    ]
    valuation = sb.value(providers, sb.AdditiveUtility(), **options)
    line = next(
        line
        for line in sb.payouts(valuation, 10).statement("west").splitlines()
        if line.startswith("spread:")
    )
    return str(spread_words(valuation, 2)), line.partition("(")[2].removesuffix(")"), valuation


@pytest.mark.parametrize(
    ("sampling", "draw"),
    [
        (sb.Fresh(8), "draw of the data"),
        (sb.Pooled(20, 8, replace=False), "draw of the data"),
        (sb.Pooled(20, 8), "draw out of the pools"),
    ],
)
def test_without_participation_the_draws_alone_change_a_value(sampling, draw):
    sentence, statement, valuation = spread_of(sampling=sampling)
    assert sentence.startswith(f"From one {draw} to the next, its value changes by ")
    assert sentence.endswith("; this belongs to the data, and more games do not lower it.")
    assert statement == f"standard deviation from one {draw} to the next"
    assert f"how much the value changes from one {draw} to the next: it is real" in page_of(
        valuation
    )


@pytest.mark.parametrize(
    ("sampling", "draws"),
    [(sb.Fresh(8), "draws of the data"), (sb.Pooled(20, 8), "draws out of the pools")],
)
@pytest.mark.parametrize("participation", [sb.Independent(0.5), sb.Cohort(2)])
def test_who_takes_part_is_a_cause_of_the_spread(sampling, draws, participation, tmp_path):
    sentence, statement, valuation = spread_of(sampling=sampling, participation=participation)
    causes = f"with the {draws} and who takes part"
    assert sentence.startswith("From one game to the next, its value changes by ")
    assert sentence.endswith(f"; it changes {causes}, and more games do not lower this.")
    assert statement == f"standard deviation from one game to the next, {causes}"
    valuation.report(tmp_path / "west.html", provider="west")
    for page in (page_of(valuation), (tmp_path / "west.html").read_text("utf-8")):
        assert f"how much the value changes from one game to the next, {causes}: it is" in page
        assert "belongs to the data" not in page


def test_presence_in_rounds_and_random_training_are_causes_of_the_spread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + rng.normal(size=120)
    providers = {name: (X[at : at + 30], y[at : at + 30]) for name, at in
                 zip(NAMES, (0, 30, 60), strict=True)}  # fmt: skip
    utility = sb.FederatedUtility("linear", X[90:], y[90:], rounds=3, local_steps=1,
                                  learning_rate=0.1)  # fmt: skip
    rounds = sb.Independent(0.5, per="round")
    found = sb.value(providers, utility, sampling=sb.Fresh(9), n_games=6, seed=0,
                     participation=rounds)  # fmt: skip
    assert "with the draws of the data and who is present in each round, and" in spread_words(
        found, 0
    )
    trained = redesigned(found, setup={**found.setup, "training": "random"})
    assert "who is present in each round and the random numbers of the training" in spread_words(
        trained, 0
    )
