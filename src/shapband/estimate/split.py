"""The variance of the values, split into data, participation and training.

Games are played again with the same draws (`engine.replays`). Let x be the value of a provider in a
game, y its value with other presence and other training, z with other training alone, and w the
noise of the solver in each of them, which differs between the three. Then

    E[(x - y)²] / 2 = participation + training + w,    E[(x - z)²] / 2 = training + w,

and the data have the rest of the variance (Sobol' 1993, Mathematical Modelling and Computational
Experiments 1, 407-414, estimates Var(E[x | D]) from the same pairs). The first two parts are means
over games, so that their errors follow from the spread over games.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.codec import lock_arrays
from shapband.estimate.moments import Moments
from shapband.estimate.variance import variance_standard_error
from shapband.sampling.replays import Replays


@dataclass(frozen=True, eq=False)
class VarianceSplit:
    """Parts of the variance, which add up to it, and their standard errors: (n,) each.

    Attributes
    ----------
    data, participation, training : the parts; 0 for what is not random. Small ones may come out
        negative
    data_error, participation_error, training_error : their standard errors
    """

    data: FloatArray
    participation: FloatArray
    training: FloatArray
    data_error: FloatArray
    participation_error: FloatArray
    training_error: FloatArray

    def __post_init__(self) -> None:
        lock_arrays(self)


def split_variance(
    replays: Replays, x: FloatArray, noise: FloatArray, again: FloatArray, moments: Moments
) -> VarianceSplit:
    """Split the variance of the values in games.

    Parameters
    ----------
    replays : what differs between the games and their replays
    x, noise : (n_games, n) values and variances of the solver's noise
    again : (n_games, n_replays, n) values in the replays
    moments : of the values
    """
    n_games = len(x)
    of_training, of_presence = np.zeros((2, *x.shape))
    if replays.training:
        of_training = (x - again[:, -1]) ** 2 / 2 - noise
    if replays.presence:
        of_presence = (x - again[:, 0]) ** 2 / 2 - noise - of_training
    training, participation = of_training.mean(axis=0), of_presence.mean(axis=0)
    square = (x - x.mean(axis=0)) ** 2 * (n_games / max(n_games - 1, 1)) - noise
    of_data = square - of_presence - of_training
    # The choice of the pools adds the same to the error of the data's part as to the variance's.
    pools = np.maximum(variance_standard_error(moments) ** 2 - _error(square) ** 2, 0.0)
    if moments.pools is None:
        pools = np.zeros_like(pools)
    return VarianceSplit(
        moments.variance - participation - training,
        participation,
        training,
        np.sqrt(_error(of_data) ** 2 + pools),
        _error(of_presence),
        _error(of_training),
    )


def _error(parts: FloatArray) -> FloatArray:
    """Standard errors of means over games."""
    freedom = max(len(parts) - 1, 1)
    square = ((parts - parts.mean(axis=0)) ** 2).sum(axis=0) / freedom / len(parts)
    return np.asarray(np.sqrt(square))
