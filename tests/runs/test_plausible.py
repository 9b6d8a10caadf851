"""Designs of altered runs are refused before they are used."""

from dataclasses import replace

import numpy as np
import pytest

import shapband as sb
from shapband.runs.plausible import check_choices

SOUND = sb.Design(
    names=("a", "b"),
    seed=0,
    draw_sizes=np.array([3, 9]),
    pool_sizes=np.array([6, 9]),
    unseen=np.array([0.0, 1.0]),
    estimand="any draws",
)


@pytest.mark.parametrize(
    "change",
    [{}, {"replace": False}, {"per_shuffle": 2}, {"unseen": None, "pool_sizes": None}],
    ids=str,
)
def test_sound_designs_are_accepted(change):
    check_choices(replace(SOUND, **change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"per_shuffle": 1}, "fewer than two games"),
        ({"per_shuffle": 1, "unseen": None}, "fewer than two games"),
        ({"pool_sizes": None}, "a count is out of bounds"),
        ({"pool_sizes": np.array([0, 9])}, "a count is out of bounds"),
        ({"draw_sizes": np.array([0, 9])}, "a count is out of bounds"),
        ({"draw_sizes": np.array([3, 10**8 + 1])}, "a count is out of bounds"),
        ({"pool_sizes": np.array([6, 10**8])}, "the pools are too large"),
        ({"unseen": np.array([0.0, 1.01])}, "a fraction is out of bounds"),
        ({"unseen": np.array([-0.01, 1.0])}, "a fraction is out of bounds"),
        ({"unseen": np.array([np.nan, 1.0])}, "a fraction is out of bounds"),
        ({"replace": False, "draw_sizes": np.array([7, 9])}, "a draw is larger than its pool"),
    ],
)
def test_choices_that_games_cannot_make_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        check_choices(replace(SOUND, **change))
