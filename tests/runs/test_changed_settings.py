"""A run notices that a function, a model or an object of the user's own changed its settings."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import shapband as sb
from shapband.errors import RunError

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 2))
Y = X @ [1.0, 2.0] + rng.normal(size=90)
PROVIDERS = [
    sb.Provider(name, sb.ArraySource(X[at : at + 30], Y[at : at + 30]))
    for name, at in zip("abc", (0, 30, 60), strict=True)
]
OPTIONS = {"sampling": sb.Fresh(10), "n_games": 6, "seed": 0}
RATE = 1.0


def worth(price, X, y):
    return price * float(y.sum())


def by_rate(X, y):
    return RATE * float(y.sum())


class Buyer:
    def __init__(self, price):
        self.price = price

    def worth(self, X, y):
        return self.price * float(y.sum())


class Slotted:
    __slots__ = ("price",)

    def __init__(self, price):
        self.price = price

    def __call__(self, X, y):
        return self.price * float(y.sum())


def teacher(scale):
    model = Ridge().fit(X, scale * Y)
    return lambda features, targets: float(model.predict(features).sum())


def keyword(price):
    def valued(X, y, *, price=price):
        return price * float(y.sum())

    return valued


MAKERS = {
    "closure": lambda price: lambda X, y: price * float(y.sum()),
    "partial": lambda price: partial(worth, price),
    "bound method": lambda price: Buyer(price).worth,
    "slots": Slotted,
    "fitted model": teacher,
    "keyword default": keyword,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_another_function_is_refused_and_the_same_is_not(make, tmp_path):
    run = tmp_path / "run"
    first = sb.value(PROVIDERS, sb.FunctionUtility(make(1.0)), run=run, **OPTIONS)
    again = sb.value(PROVIDERS, sb.FunctionUtility(make(1.0)), run=run, **OPTIONS)
    assert again.games.tobytes() == first.games.tobytes()
    with pytest.raises(RunError, match="settings or validation rows of the utility"):
        sb.value(PROVIDERS, sb.FunctionUtility(make(10.0)), run=run, **OPTIONS)


def test_a_changed_global_is_refused(tmp_path, monkeypatch):
    sb.value(PROVIDERS, sb.FunctionUtility(by_rate), run=tmp_path / "run", **OPTIONS)
    monkeypatch.setitem(globals(), "RATE", 10.0)
    with pytest.raises(RunError, match="settings or validation rows of the utility"):
        sb.value(PROVIDERS, sb.FunctionUtility(by_rate), run=tmp_path / "run", **OPTIONS)


def test_a_model_that_is_fitted_anew_may_have_been_fitted_before(tmp_path):
    model = Ridge()
    rows = X + 1, Y
    utility = sb.EstimatorUtility(model, *rows)
    sb.value(PROVIDERS, utility, run=tmp_path / "run", **OPTIONS)
    model.fit(X, Y)
    again = sb.EstimatorUtility(model, *rows)
    sb.value(PROVIDERS, again, run=tmp_path / "run", **OPTIONS)


class Enough(sb.StoppingRule):
    """A rule without a `repr` of its own."""

    def __init__(self, games):
        self.games = games

    def met(self, estimate, seconds):
        return estimate.n_games >= self.games


def test_a_rule_of_ones_own_is_known_by_its_settings_and_not_by_its_address(tmp_path):
    options = {**OPTIONS, "n_games": 200, "run": tmp_path / "run"}
    first = sb.value(PROVIDERS, sb.AdditiveUtility(), stop=Enough(64), **options)
    again = sb.value(PROVIDERS, sb.AdditiveUtility(), stop=Enough(64), **options)
    assert again.n_games == first.n_games == 64
    assert sb.load(options["run"]).status.extensions == ()


def test_other_settings_of_a_rule_of_ones_own_extend_a_run(tmp_path):
    options = {**OPTIONS, "n_games": 200, "run": tmp_path / "run"}
    for games in (64, 128):
        found = sb.value(PROVIDERS, sb.AdditiveUtility(), stop=Enough(games), **options)
        assert found.n_games == games
    found = sb.value(PROVIDERS, sb.AdditiveUtility(), **options)
    assert found.n_games == 200
    first, second = sb.load(options["run"]).status.extensions
    assert str(first) == "settings of the stop, after 64 games"
    assert str(second).endswith("to None, after 128 games")
