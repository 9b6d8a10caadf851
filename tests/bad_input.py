"""What tests of bad input share: it gets one clear error, before any source is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import shapband as sb
from shapband.errors import InvalidInput, ProviderFailed, ShapbandError, SourceError
from tests.counted import Counted, CountedDraws

NAMES = ("north", "south", "east", "west")
SAMPLINGS = (
    sb.Fresh(4),
    sb.Pooled(8, 4),
    sb.Pooled(8, 4, replace=False),
    sb.Stratified(8, 4, 0.75),
)
REMEDY = re.compile(
    r"must|pass|use |raise|lower|remove|impute|encode|fill|leave|needed|not a column; there are"
)
few = settings(max_examples=25)
not_finite = st.sampled_from([np.nan, np.inf, -np.inf])


@dataclass
class Setup:
    """A valuation that works, until a test breaks one thing of it."""

    sources: list[Counted | CountedDraws]
    rng: np.random.Generator
    n_features: int
    sampling: Any

    @property
    def asked(self) -> int:
        return sum(source.asked for source in self.sources)

    @property
    def providers(self) -> list[sb.Provider]:
        return [sb.Provider(name, s) for name, s in zip(NAMES, self.sources, strict=False)]

    def records(self, n: int = 12) -> tuple[Any, Any]:
        X = self.rng.normal(size=(n, self.n_features))
        return X, X.sum(axis=1) + self.rng.normal(size=n)

    def value(self, **changes: Any) -> sb.Valuation:
        arguments: dict[str, Any] = {
            "providers": self.providers,
            "utility": sb.LinearUtility(*self.records()),
            "sampling": self.sampling,
            "n_games": 3,
            "seed": 0,
        }
        return sb.value(**(arguments | changes))


@st.composite
def setups(draw: Any) -> Setup:
    n_features = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    setup = Setup([], rng, n_features, draw(st.sampled_from(SAMPLINGS)))
    for generative in draw(st.lists(st.booleans(), min_size=1, max_size=3)):
        made = CountedDraws(n_features) if generative else counted(*setup.records())
        setup.sources.append(made)
    return setup


def counted(X: Any, y: Any) -> Counted:
    return Counted(sb.ArraySource(X, y))


def refused(
    call: Callable[..., Any],
    *named: str,
    kind: type[ShapbandError] = InvalidInput,
    **arguments: Any,
) -> str:
    """Make the call, and check that it ends in one clear error that names what it should."""
    with pytest.raises(ShapbandError) as caught:
        call(**arguments)
    message = str(caught.value)
    # A source that fails is one provider's, which the error has as an attribute.
    exact = (SourceError, ProviderFailed) if kind is SourceError else (kind,)
    assert type(caught.value) in exact
    assert "\n" not in message
    assert len(message) < 400
    for name in named:
        assert name in message
    if kind is InvalidInput:
        assert REMEDY.search(message), f"no remedy in: {message}"
    return message


def refused_unasked(setup: Setup, *named: str, **changes: Any) -> str:
    """Check the same of a valuation, and that no source was asked."""
    message = refused(setup.value, *named, **changes)
    assert setup.asked == 0
    return message


def wholes_below(least: int) -> st.SearchStrategy[Any]:
    """Everything that is not a whole number of at least `least`."""
    return st.one_of(
        st.integers(-50, least - 1),
        st.floats(),
        st.booleans(),
        st.text(max_size=3),
        st.lists(st.integers(), max_size=2),
    )


wrong_things = st.one_of(
    st.integers(1, 9),
    st.floats(1, 9),
    st.text(min_size=1, max_size=5),
    st.lists(st.integers(), min_size=1, max_size=2),
    st.builds(object),
    st.just(sb.Fresh),
    st.just(sb.Exact),
    st.just(sb.LinearUtility),
    st.just(sb.Budget),
)
