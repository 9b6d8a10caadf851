"""The synthetic task: ten providers sample different parts of a sine plus a parabola."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.datasets.task import Task
from shapband.providers import Provider
from shapband.sources.functions import FunctionSource
from shapband.utilities.neighbors import NeighborUtility

_N_PROVIDERS = 10
_REACH = 10.0
_N_VALIDATION = 1000


def synthetic(seed: int = 0) -> Task:
    """Return the synthetic task: f(x) = 0.3 x - 0.02 x² + 2 sin(π x + π/4) + 3.

    Provider i draws x from a Gaussian centred on the i-th of ten points evenly spaced over
    [-7, 7], clipped to [-10, 10], with targets f(x). A coalition is worth 1 / (1 + MSE) of the
    nearest neighbour at 1,000 points of [-10, 10].

    Parameters
    ----------
    seed : fixes the widths of the Gaussians, uniform over [0.5, 2.5]

    Examples
    --------
    >>> import shapband as sb
    >>> len(sb.datasets.synthetic(seed=0).providers)
    10
    """
    centres = np.linspace(-7, 7, _N_PROVIDERS)
    widths = np.random.default_rng(seed).uniform(0.5, 2.5, _N_PROVIDERS)
    providers = tuple(
        Provider(f"around {centre:+.1f}", FunctionSource(_Around(float(centre), float(width))))
        for centre, width in zip(centres, widths, strict=True)
    )
    x = np.linspace(-_REACH, _REACH, _N_VALIDATION)
    X_val, y_val = x.reshape(-1, 1), _curve(x)
    return Task("synthetic", providers, NeighborUtility(X_val, y_val, k=1), X_val, y_val)


def _curve(x: FloatArray) -> FloatArray:
    return 0.3 * x - 0.02 * x**2 + 2.0 * np.sin(2 * np.pi * 0.5 * x + np.pi / 4) + 3.0


@dataclass(frozen=True)
class _Around:
    """Draws points around a centre; a class, so that it can be pickled for workers."""

    centre: float
    width: float

    def __call__(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        x = np.clip(rng.normal(self.centre, self.width, size), -_REACH, _REACH)
        return x.reshape(-1, 1), _curve(x)
