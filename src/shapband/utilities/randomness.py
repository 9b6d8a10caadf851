"""The `random_state` of models: which are unset, and how they are set from the seed of a game.

A model of scikit-learn with ``random_state=None`` draws from NumPy's global generator, so its
values would differ from call to call. This module finds every unset `random_state`, also in models
and cross-validation splitters inside a model, and sets it from the random stream of the game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from shapband.checks import error_line
from shapband.errors import InvalidInput
from shapband.seeds import Seeds

_PURPOSE = "model"  # names the random streams from which a `random_state` is set
_BITS = 31  # length of a `random_state`; some packages take only 31 bits, scikit-learn 32

_STATEFUL = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, ModuleType)

# Models of scikit-learn that use their `random_state` only with some settings, by its
# documentation. All others count as random.
_USED_IF: dict[str, Callable[[dict[str, Any]], bool]] = {
    "LogisticRegression": lambda given: given["solver"] in ("sag", "saga", "liblinear"),
    "LogisticRegressionCV": lambda given: given["solver"] in ("sag", "saga", "liblinear"),
    "Ridge": lambda given: given["solver"] in ("sag", "saga"),
    "RidgeClassifier": lambda given: given["solver"] in ("sag", "saga"),
    "Lasso": lambda given: given["selection"] == "random",
    "LassoCV": lambda given: given["selection"] == "random",
    "ElasticNet": lambda given: given["selection"] == "random",
    "ElasticNetCV": lambda given: given["selection"] == "random",
    "LinearSVC": lambda given: given["dual"] is not False,
    "SVC": lambda given: given["probability"] not in (False, "deprecated"),
    "NuSVC": lambda given: given["probability"] not in (False, "deprecated"),
    "PCA": lambda given: given["svd_solver"] not in ("full", "covariance_eigh"),
}


@dataclass(frozen=True)
class _RandomPart:
    """A model or splitter inside a model, with its `random_state` and the path to it."""

    thing: Any
    state: Any
    place: str

    @property
    def name(self) -> str:
        return type(self.thing).__name__

    def set(self, state: int) -> None:
        if hasattr(self.thing, "set_params"):
            self.thing.set_params(random_state=state)
        else:
            self.thing.random_state = state


def unset_states(model: Any) -> tuple[str, ...]:
    """Name the classes inside a model whose `random_state` is used but not set, each once.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> unset_states(make_pipeline("passthrough", RandomForestRegressor()))
    ('RandomForestRegressor',)
    >>> unset_states(RandomForestRegressor(random_state=0)), unset_states(LogisticRegression())
    ((), ())
    """
    return tuple(dict.fromkeys(p.name for p in _random_parts(model) if p.state is None))


def check_states(model: Any, owner: str) -> None:
    """Refuse generators as `random_state`, because their state, and so values, change with use."""
    for part in _random_parts(model):
        if isinstance(part.state, _STATEFUL):
            given = getattr(part.state, "__name__", type(part.state).__name__)
            raise InvalidInput(
                f"{owner}: random_state of {part.name} must be an integer or None; received "
                f"{given}, which changes with every use, so that values could not be repeated: "
                "pass an integer, or None to have it set from the seed of the valuation"
            )
    for tried in _tried_states(model):
        # A search sets its own `random_state` in every candidate, in place of one from the seed.
        if tried is None or isinstance(tried, _STATEFUL):
            raise InvalidInput(
                f"{owner}: a random_state among the candidates of a search must be an integer; "
                f"received {tried}, with which values could not be repeated: leave random_state "
                "out of the candidates to have it set from the seed of the valuation"
            )


def with_states(model: Any, seeds: Seeds, game: int) -> Any:
    """Clone a model, and set each unset `random_state` from a stream of its own for the game.

    The streams are addressed by the place inside the model, so that two forests of one model differ
    from each other.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> one = with_states(DecisionTreeRegressor(), Seeds(0), game=3)
    >>> two = with_states(DecisionTreeRegressor(), Seeds(0), game=3)
    >>> one.random_state == two.random_state
    True
    """
    from sklearn.base import clone

    own = clone(model)  # the models inside are cloned or copied too, so they can be changed
    for part in _random_parts(own):
        if part.state is None:
            word = seeds.words(_PURPOSE, part.place, range(game, game + 1), 1)[0, 0]
            part.set(int(word >> np.uint64(64 - _BITS)))
    return own


def _parameters(model: Any) -> dict[str, Any]:
    """The parameters of a model; an error says so if a class of the user fails to return them."""
    try:
        return dict(model.get_params(deep=False))
    except Exception as cause:
        raise InvalidInput(
            f"{type(model).__name__}.get_params must give the parameters of the model, but it "
            f"failed ({error_line(cause)})"
        ) from cause


def _random_parts(thing: Any, place: str = "", *, searched: bool = False) -> Iterator[_RandomPart]:
    """The models and splitters inside a model that use a `random_state`.

    A search may try settings that make a model random, so all models inside a search are included.
    """
    if isinstance(thing, dict):
        inside = list(thing.items())  # such as the candidates of a search
    elif isinstance(thing, list | tuple):
        inside = list(enumerate(thing))
    elif hasattr(thing, "get_params") and not isinstance(thing, type):
        if type(thing).__name__ == "FrozenEstimator":  # a frozen model is not fitted again
            return
        given = _parameters(thing)
        inside = list(given.items())
        if "random_state" in given and (searched or _uses_state(thing, given)):
            yield _RandomPart(thing, given["random_state"], place)
        searched = searched or type(thing).__name__.endswith("SearchCV")
    elif hasattr(thing, "split") and hasattr(thing, "random_state"):
        if getattr(thing, "shuffle", True):
            yield _RandomPart(thing, thing.random_state, place)
        return
    else:
        return
    for name, part in inside:
        yield from _random_parts(part, f"{place}/{name}", searched=searched)


def _tried_states(thing: Any) -> Iterator[Any]:
    """Each `random_state` that a search inside a model tries as a candidate."""
    if isinstance(thing, dict):
        inside = list(thing.values())
        for name, tried in thing.items():
            state = str(name).rpartition("__")[2] == "random_state"
            if state and isinstance(tried, list | tuple | np.ndarray):
                yield from tried
    elif isinstance(thing, list | tuple):
        inside = list(thing)
    elif hasattr(thing, "get_params") and not isinstance(thing, type):
        inside = list(thing.get_params(deep=False).values())
    else:
        return
    for part in inside:
        yield from _tried_states(part)


def _uses_state(model: Any, given: dict[str, Any]) -> bool:
    known = type(model).__module__.startswith("sklearn.") and _USED_IF.get(type(model).__name__)
    return known(given) if known else True
