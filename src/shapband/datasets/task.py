"""The data class of a ready-made task."""

from __future__ import annotations

from dataclasses import dataclass

from shapband._typing import AnyArray, FloatArray
from shapband.providers import Provider
from shapband.utilities.base import Utility


@dataclass(frozen=True, eq=False)
class Task:
    """Providers, a utility to value them with, and the validation rows of the utility."""

    name: str
    providers: tuple[Provider, ...]
    utility: Utility
    X_val: FloatArray
    y_val: AnyArray
