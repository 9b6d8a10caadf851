"""The record that every ready-made task comes in."""

from __future__ import annotations

from dataclasses import dataclass

from shapband._typing import AnyArray, FloatArray
from shapband.providers import Provider
from shapband.utilities.base import Utility


@dataclass(frozen=True, eq=False)
class Task:
    """Providers, the utility they are valued by, and its validation rows."""

    name: str
    providers: tuple[Provider, ...]
    utility: Utility
    X_val: FloatArray
    y_val: AnyArray
