"""The user's own classes and functions, and what they read, are part of a run."""

from __future__ import annotations

import collections
import itertools
import json
import os
import subprocess
import sys
import types
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import shapband as sb
from shapband.errors import RunError
from shapband.runs.bytecode import Names
from shapband.runs.own_code import NONE, fingerprint_code, is_same_code

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Y = X @ [1.0, 2.0] + rng.normal(size=40)

MODULE = '''
import functools
from dataclasses import dataclass
from enum import Enum

import numpy as np
import shapband as sb
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.linear_model import Ridge

RATES = [1.0, 2.0]
TABLE = {"depth": 3, "names": {"a", "b", ("c", 1)}, "near": (1, 2)}
TEACHER = Ridge(alpha=4.0)
TOKEN = "hush"
seen, cache = [], {}


class Colour(Enum):
    RED = 5


@dataclass
class Settings:
    step: float = 6.0
    more: dict | None = None


SETTINGS = Settings(more={"width": 7.0})


class Base(RegressorMixin, BaseEstimator):
    """Ridge regression."""

    penalty = 8.0
    options = {"kind": "ridge"}

    def fit(self, X, y):
        self.model_ = Ridge(self.penalty).fit(X, y)
        return self

    @staticmethod
    def shift(x):
        return x + 9.0

    @classmethod
    def grow(cls, x):
        return x + 10.0

    @property
    def level(self):
        return 11.0

    @functools.cached_property
    def late(self):
        return 12.0


class My(Base):
    def predict(self, X):
        inner = lambda x: x * 13.0
        return self.model_.predict(inner(X))


class Twice(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X * 14.0


def doubled(function):
    @functools.wraps(function)
    def wrapped(*given):
        return 15.0 * function(*given)

    return wrapped


@functools.lru_cache
def remembered(x):
    return x + 16.0


@doubled
def score(model, X, y):
    seen.append(len(X))
    cache[len(seen), 0] = TOKEN
    rate = RATES[0] + TABLE["depth"] + TEACHER.alpha + SETTINGS.step + Colour.RED.value
    return rate + remembered(rate) + float(np.mean(model.predict(X)))


class Even(sb.FiniteSource):
    size = 30

    def take(self, rows):
        return np.stack([rows, rows**2], axis=1) * 17.0, rows + 0.0


class Total(sb.Utility):
    def summarise(self, batch):
        return batch.y.sum()

    def evaluate(self, summaries, coalitions):
        return np.array([18.0 for coalition in coalitions])


class Few(sb.Fresh):
    limit = 19
'''
# What is changed in the module, and the objects whose fingerprints must change.
EVERY = {"estimator", "pipeline", "transformer", "score"}
CHANGES = {
    "Ridge(self.penalty)": ("Ridge(2 * self.penalty)", EVERY),
    "penalty = 8.0": ("penalty = 80.0", EVERY),
    '"kind": "ridge"': ('"kind": "lasso"', EVERY),
    "x + 9.0": ("x + 90.0", EVERY),
    "x + 10.0": ("x + 100.0", EVERY),
    "return 11.0": ("return 110.0", EVERY),
    "return 12.0": ("return 120.0", EVERY),
    "x * 13.0": ("x * 130.0", EVERY),
    "X * 14.0": ("X * 140.0", {"pipeline", "transformer"}),
    "RATES = [1.0": ("RATES = [10.0", {"score"}),
    '"depth": 3': ('"depth": 30', {"score"}),
    '("c", 1)': ('("c", 10)', {"score"}),
    "(1, 2)": ("(1, 20)", {"score"}),
    "alpha=4.0": ("alpha=40.0", {"score"}),
    "RED = 5": ("RED = 50", {"score"}),
    "step: float = 6.0": ("step: float = 60.0", {"score"}),
    '"width": 7.0': ('"width": 70.0', {"score"}),
    "15.0 * function": ("150.0 * function", {"score"}),
    "x + 16.0": ("x + 160.0", {"score"}),
    "* 17.0": ("* 170.0", {"source"}),
    "size = 30": ("size = 31", {"source"}),
    "18.0 for": ("180.0 for", {"utility"}),
    "limit = 19": ("limit = 190", {"sampling"}),
}
SAME = {
    "a comment": ("class My(Base):", "# A comment.\n\n\nclass My(Base):  # another"),
    "a docstring of a class": ("Ridge regression.", "A linear model."),
    "a docstring of a method": (
        "def transform(self, X):\n",
        'def transform(self, X):\n        """Double."""\n',
    ),
    "a place": ("RATES = [", "\n\n\nunused = 3\nRATES = ["),
    "a secret": ('TOKEN = "hush"', 'TOKEN = "open"'),
    "a log and a cache": ("seen, cache = [], {}", "seen, cache = [1], {2: 3}"),
}


def module_of(text, name="mine"):
    module = types.ModuleType(name)
    exec(compile(text, f"{name}.py", "exec", dont_inherit=True), vars(module))  # noqa: S102
    return module


def marks(text):
    """The fingerprints of objects of a module."""
    mine = module_of(text)
    own = mine.My()
    objects = {
        "estimator": sb.EstimatorUtility(own, X, Y),
        "pipeline": sb.EstimatorUtility(make_pipeline(mine.Twice(), own), X, Y),
        "transformer": sb.EstimatorUtility(
            make_pipeline(FunctionTransformer(mine.Twice().transform), own), X, Y
        ),
        "score": sb.EstimatorUtility(own, X, Y, score=mine.score),
        "utility": mine.Total(),
        "sampling": mine.Few(5),
        "source": mine.Even(),
    }
    return {name: fingerprint_code(thing) for name, thing in objects.items()}


def test_the_code_of_every_part_counts():
    before = marks(MODULE)
    assert NONE not in before.values()
    for old, (new, expected) in CHANGES.items():
        assert MODULE.count(old) == 1, old
        after = marks(MODULE.replace(old, new))
        assert {name for name in before if before[name] != after[name]} == expected, old


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_comments_places_and_caches_do_not_count(change):
    assert MODULE.count(change[0]) >= 1
    assert marks(MODULE.replace(*change)) == marks(MODULE)


def test_a_class_that_moved_in_its_module_is_the_same():
    start, end = MODULE.index("class Even"), MODULE.index("class Total")
    moved = MODULE[:start] + MODULE[end:] + "\n\n" + MODULE[start:end]
    assert marks(moved) == marks(MODULE)


def test_fingerprints_are_equal_in_every_process(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    code = (
        "import sys, shapband as sb, mine\n"
        "from shapband.runs.own_code import fingerprint_code\n"
        "u = sb.EstimatorUtility(mine.My(), [[1.0], [2.0]], [0.0, 1.0], score=mine.score)\n"
        "print(fingerprint_code(u), fingerprint_code(mine.Even()))"
    )
    printed = {
        subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(printed) == 1


def test_objects_of_packages_have_no_code_of_the_user():
    for thing in (
        None,
        sb.EstimatorUtility(make_pipeline(Ridge()), X, Y),
        sb.FunctionUtility(np.mean),
        sb.ArraySource(X, Y),
        sb.Pooled(10, 5),
        sb.Permutation(3),
    ):
        assert fingerprint_code(thing) == NONE


def test_sources_that_were_given_functions_and_sources_are_searched_but_not_their_clients():
    def drawing(scale):
        return sb.FunctionSource(lambda size, rng: (np.full((size, 1), scale), np.ones(size)))

    delayed = [fingerprint_code(sb.with_delay(drawing(scale), 0)) for scale in (1.0, 1.0, 2.0)]
    assert delayed[0] == delayed[1] != delayed[2]
    assert NONE not in delayed
    source = sb.with_delay(sb.ArraySource(X, Y), 0)
    source.client = sb.AdditiveUtility()  # an object of shapband that is not a source
    source.client.ask = lambda path: path
    assert fingerprint_code(source) == NONE


def test_modules_of_the_user_count_by_the_names_that_are_read():
    def mark(rate, other):
        vars(helpers).update(RATE=[rate], OTHER=other)
        return fingerprint_code(sb.FunctionUtility(mine.score))

    helpers = module_of("def grow(x):\n    return x * RATE[0]")
    mine = module_of("def score(X, y):\n    return helpers.grow(1.0)")
    mine.helpers = helpers
    assert mark(1.0, 1.0) == mark(1.0, 2.0) != mark(3.0, 1.0)


def loop():
    whole = [1.0]
    whole.append({"self": whole})
    return whole


class Raising:
    def __getattr__(self, name):
        raise OSError(name)

    def __repr__(self):
        raise OSError


class Deep:
    def __init__(self):
        self.parent, self.children = None, []


def family():
    top = Deep()
    for _ in range(30):
        child = Deep()
        child.parent, top.children = top, [child, child]
        top = child
    return top


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def doubling():
    found = [1.0]
    for _ in range(60):
        found = [found, found]
    return found


ODD = {
    "cycle": loop,
    "raises": Raising,
    "family": family,
    "nested": lambda: nested(100_000),
    "doubling": doubling,
    "long": lambda: list(range(3_000_000)),
    "large set": lambda: set(range(3_000_000)),
    "large array": lambda: np.zeros(30_000_000),
    "mock": Mock,
    "generator": lambda: itertools.count(),
    "objects": lambda: np.array([object(), "x", None], dtype=object),
    "records": lambda: np.zeros(3, dtype=[("a", float), ("b", "U3")]),
    "frame": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "series": lambda: pd.Series([1.0]),
    "infinite integer": lambda: 10**10_000,
    "surrogate": lambda: "\ud800",
    "set of objects": lambda: {Raising, np.mean, Deep, frozenset({1, 2}), (1, "a")},
    "counter": lambda: collections.Counter("abc"),
    "module": lambda: np,
    "a function of functions": lambda: {len: fingerprint_code, Raising(): 1},
}


def reading(part):
    def worth(X, y):
        return part

    return sb.FunctionUtility(worth)


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_odd_values_neither_fail_nor_hang(make):
    first, again = fingerprint_code(reading(make())), fingerprint_code(reading(make()))
    assert first == again != NONE


def test_a_variable_that_has_no_value_yet():
    def worth(X, y):
        return later

    assert fingerprint_code(sb.FunctionUtility(worth)) != NONE
    later = 1.0


def test_values_of_all_kinds_count():
    parts = [
        *(1, 1.0, True, "1", b"1", 1j, None, 2, (1,), [1], {1}, frozenset({1}), {1: 1}, {1: 2}),
        *(np.ones(2), np.ones(3), np.float64(1), np.zeros(2), pd.DataFrame({"a": [1]})),
        *(pd.DataFrame({"a": [2]}), Ridge(1.0), Ridge(2.0), Ridge(), range(3), np.mean, np.sum),
        *(Ridge().fit(X, Y), Ridge().fit(X, -Y), int, float, Deep(), family()),
    ]
    found = [fingerprint_code(reading(part)) for part in parts]
    equal = parts.index(1), found[[isinstance(p, Ridge) for p in parts].index(True)]
    assert len(set(found)) == len(found) - 1, equal  # Ridge(1.0) is Ridge()


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a[b] = c", {"a"}),
        ("a[b, f(c)] = d", {"a"}),
        ("a.b[c] = d", {"b"}),
        ("a[b] += 1", {"a"}),
        ("a.b += 1", {"a", "b"}),
        ("del a[b]", {"a"}),
        ("a.append(b)", {"a"}),
        ("x = a[b]", set()),
        ("x = a or b", set()),
        ("x = 0 < a < b", set()),
        ("f(a)[b] = a.c", set()),
        ("(a if b else c)[d] = 1", set()),
        ("lambda x: a.add(x)", {"a"}),
    ],
)
def test_what_code_changes_is_found(text, changed):
    assert Names.of(compile(text, "text", "exec")).changed == changed


def test_code_of_another_version_of_python_is_not_compared():
    assert is_same_code("sha256:ab, Python 3.11", "sha256:cd, Python 3.12")
    assert not is_same_code("sha256:ab, Python 3.11", "sha256:cd, Python 3.11")
    assert not is_same_code(NONE, "sha256:cd, Python 3.11")


def test_code_that_is_not_the_runs_is_refused_in_any_argument(tmp_path):
    mine = module_of(MODULE)
    near = sb.ArraySource(X, Y)
    given = {
        "utility": sb.EstimatorUtility(mine.My(), X + 1, Y),
        "sampling": mine.Few(5),
        "n_games": 3,
        "seed": 0,
        "run": tmp_path / "run",
    }

    def value(**other):
        source = other.pop("source", mine.Even())
        providers = [sb.Provider("even", source), sb.Provider("near", near)]
        return sb.value(providers, **{**given, **other})

    first = value()
    assert value().games.tobytes() == first.games.tobytes()
    for old, part, what in (
        ("X * 14.0", None, ""),
        ("Ridge(self.penalty)", "utility", "utility"),
        ("limit = 19", "sampling", "sampling"),
        ("* 17.0", "source", "source of provider 'even'"),
    ):
        other = module_of(MODULE.replace(old, CHANGES[old][0]))
        changed = {
            "utility": sb.EstimatorUtility(other.My(), X + 1, Y),
            "sampling": other.Few(5),
            "source": other.Even(),
        }
        if part is None:  # a class that no argument uses
            value(**changed)
            continue
        with pytest.raises(RunError) as refused:
            value(**{part: changed[part]}, n_games=6)
        said = f"the code of the {what}, or a value that it reads, changed since the run"
        assert str(refused.value).startswith(said)
        assert "use what the run was begun with, or begin a new run" in str(refused.value)


def test_the_corrected_code_of_a_source_is_allowed_with_ask_again(tmp_path):
    right = module_of(MODULE)
    wrong = module_of(MODULE.replace("return np.stack", "assert max(rows) < 28\n        np.stack"))

    def value(source, run, **options):
        providers = [sb.Provider("even", source), sb.Provider("near", sb.ArraySource(X, Y))]
        return sb.value(
            providers,
            sb.LinearUtility(X + 1, Y),
            sampling=sb.Fresh(5),
            n_games=12,
            seed=0,
            run=run,
            **options,
        )

    run = tmp_path / "run"
    with pytest.raises(sb.errors.SourceError, match="AssertionError"):
        value(wrong.Even(), run)
    with pytest.raises(RunError, match="its code was corrected, resume with --ask-again"):
        value(right.Even(), run)
    resumed = value(right.Even(), run, ask_again=True)
    assert resumed.games.tobytes() == value(right.Even(), None).games.tobytes()
    (extension,) = sb.load(run).status.extensions
    assert str(extension).startswith("code of the source of provider 'even', after ")
    assert value(right.Even(), run).games.tobytes() == resumed.games.tobytes()
    sb.load(run).verify()


def test_a_function_with_a_log_and_a_cache_extends_its_run(tmp_path):
    mine = module_of(MODULE)
    providers = [sb.Provider(name, sb.ArraySource(X, Y)) for name in "ab"]
    utility = sb.EstimatorUtility(mine.My(), X + 1, Y, score=mine.score)
    for n_games in (3, 5):
        found = sb.value(
            providers, utility, sampling=sb.Fresh(5), n_games=n_games, seed=0, run=tmp_path / "run"
        )
        assert found.n_games == n_games
    assert mine.seen


OWN = """
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

class My(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.model_ = Ridge(1.0).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)
"""
CONFIG = """
n_games = 20
seed = 0
sampling = { kind = "fresh", n_sample = 10 }
providers = [{ source = { kind = "csv", path = "sites.csv", by = "site", target = "y" } }]

[utility]
kind = "estimator"
estimator = "mine:My"
score = "r2"
validation = { kind = "csv", path = "validation.csv", target = "y" }
"""


def shapband(folder, *arguments):
    return subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", "shapband", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_the_commands_refuse_to_go_on_with_changed_code(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y, "site": ["n", "s"] * 20})
    frame.to_csv(tmp_path / "sites.csv", index=False)
    frame.drop(columns="site").to_csv(tmp_path / "validation.csv", index=False)
    (tmp_path / "mine.toml").write_text(CONFIG)
    (tmp_path / "mine.py").write_text(OWN)
    begun = shapband(tmp_path, "run", "mine.toml", "--out", "run", "--quiet")
    assert begun.returncode == 0, begun.stderr

    (tmp_path / "mine.py").write_text(OWN.replace("Ridge(1.0)", "Ridge(50.0)"))
    refused = shapband(tmp_path, "resume", "run", "--games", "40", "--trust")
    assert refused.returncode == 1
    assert "the code of the utility, or a value that it reads, changed since" in refused.stderr
    assert sb.load(tmp_path / "run").status.done == 20

    (tmp_path / "mine.py").write_text("# A comment.\n" + OWN)
    resumed = shapband(tmp_path, "resume", "run", "--games", "40", "--trust", "--json")
    assert resumed.returncode == 0, resumed.stderr
    (tmp_path / "mine.toml").write_text(CONFIG.replace("n_games = 20", "n_games = 40"))
    direct = shapband(tmp_path, "run", "mine.toml", "--out", "direct", "--json")
    one, other = (json.loads(found.stdout)["providers"] for found in (resumed, direct))
    assert one == other
