"""What questions about an estimate say when they cannot be answered, word for word."""

import numpy as np
import pytest
from tests.conftest import with_moments
from tests.report.made_up import made_up, valuation_of

import shapband as sb
from shapband.errors import InvalidInput

ONCE = valuation_of(np.array([[1.0, 2.0]]), names=("a", "b"))
NEAR_ZERO = valuation_of(np.array([[1.0, -1.0], [-1.2, 1.1], [0.5, -0.3]]), names=("a", "b"))
UNKNOWN = (
    "this needs the correlations of the providers' errors; with more than 500 providers, and in "
    "results of format 2, they are computed from the values of independent games: raise "
    "keep_games to 2 or more, and use Independent instead of MarkovChain or Trace"
)


def uncorrelated():
    """A valuation that keeps neither covariances nor games."""
    many = with_moments(made_up(3), products=None)
    return sb.Valuation(**(vars(many) | {"games": many.games[:0]}))


@pytest.mark.parametrize("question", ["ranks", "shares"])
def test_one_game_shows_no_errors(question):
    with pytest.raises(InvalidInput) as refused:
        getattr(ONCE, question)()
    assert (
        str(refused.value) == f"{question}: this needs the errors of two or more games: play more"
    )


def test_unknown_correlations():
    with pytest.raises(InvalidInput) as refused:
        uncorrelated().shares()
    assert str(refused.value) == f"shares: {UNKNOWN}"


def test_shares_of_a_total_that_may_be_zero():
    with pytest.raises(InvalidInput) as refused:
        NEAR_ZERO.shares()
    total, rest = str(refused.value).split(" ± ")
    assert total == f"shares: the total {NEAR_ZERO.expectation.sum():.4g}"
    assert rest.split(" ", 1)[1] == (
        "may be zero at this level, so shares of it are not defined: use the expectations, or play "
        "more games"
    )
