"""Checks of what a utility returns, and of the features of the providers that it values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import described, one_line
from shapband.errors import EvaluationError, InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Schema


def check_values(values: object, shape: tuple[int, ...], owner: str) -> FloatArray:
    """Check that a method of a utility returned numbers of the expected shape."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as cause:
        raise EvaluationError(
            f"{owner} must return an array of numbers of shape {shape} ({one_line(cause)})"
        ) from cause
    if found.shape != shape or found.dtype.kind not in "fiub":
        raise EvaluationError(
            f"{owner} must return an array of numbers of shape {shape}; received {described(found)}"
        )
    return np.require(found, dtype=np.float64, requirements="W")


def check_schema(schema: Schema | None, providers: Sequence[Provider]) -> None:
    """Check that all sources with a known schema have the features of the validation rows."""
    for provider in providers:
        own = provider.source.schema
        if schema is not None and own is not None and not own.fits(schema):
            raise InvalidInput(
                f"provider {provider.name!r} has {own}, but X_val has {schema}: they must be "
                "the same features in the same order"
            )
