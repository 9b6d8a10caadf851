"""Parts in a configuration: tables from the signatures of classes, and objects of one's own."""

import inspect
import json
from pathlib import Path

import pytest

import shapband as sb
from shapband.app.config.config import Config
from shapband.app.config.parts import UTILITIES
from shapband.errors import InvalidInput

WINE = 'providers = [{ source = { kind = "task", task = "wine" } }]\nn_games = 6\nseed = 0\n'
OWN = """
from dataclasses import dataclass
import numpy as np
import shapband as sb

@dataclass(frozen=True)
class Thrice(sb.Solver):
    n_iter: int = 3
    def check(self, n_providers): pass
    def floats_per_game(self, n_providers): return 100
    def solve(self, games): return sb.Permutation(self.n_iter).solve(games)

fresh = sb.Fresh(20)
number = 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / f"own_parts_{tmp_path.name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))

    def config(sampling="fresh", solver="Thrice", options="{ n_iter = 4 }"):
        module = f"own_parts_{tmp_path.name}"
        return Config.parse(
            f"{WINE}sampling = {{ kind = 'object', object = '{module}:{sampling}' }}\n"
            f"solver = {{ kind = 'object', object = '{module}:{solver}', options = {options} }}\n"
        )

    return config


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ("{ kind = 'fresh', n_sample = 20 }", sb.Fresh(20)),
        ("{ kind = 'pooled', n_pool = 50, n_boot = 20 }", sb.Pooled(50, 20)),
        (
            "{ kind = 'stratified', n_pool = 50, n_boot = 20, alpha = 0.5 }",
            sb.Stratified(50, 20, 0.5),
        ),
        (
            "{ kind = 'pooled', n_pool = 50, n_boot = 20, replace = false }",
            sb.Pooled(50, 20, replace=False),
        ),
    ],
)
def test_every_sampling_has_a_table(table, made):
    assert Config.parse(f"{WINE}sampling = {table}").build(Path()).arguments.sampling == made


def test_blocks_are_dealt_draws_under_an_old_name():
    table = "{ kind = 'blocks', n_pool = 50, n_sample = 20 }"
    dealt = sb.Pooled(50, 20, replace=False)
    said = r"is now called Pooled.*n_pool=50, n_boot=20, replace=False.*replace = false"
    with pytest.warns(DeprecationWarning, match=said):
        assert Config.parse(f"{WINE}sampling = {table}").build(Path()).arguments.sampling == dealt
    with pytest.warns(DeprecationWarning, match=said):
        assert sb.Blocks(n_pool=50, n_sample=20) == dealt


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ("{ kind = 'exact' }", sb.Exact()),
        ("{ kind = 'permutation', n_iter = 7 }", sb.Permutation(7)),
        ("{ kind = 'balanced', n_iter = 20 }", sb.BalancedPermutation(20)),
    ],
)
def test_every_solver_has_a_table(table, made):
    text = f"{WINE}sampling = {{ kind = 'fresh', n_sample = 20 }}\nsolver = {table}"
    assert Config.parse(text).build(Path()).arguments.solver == made


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ("{ kind = 'shapley' }", sb.Shapley()),
        ("{ kind = 'banzhaf' }", sb.Banzhaf()),
        ("{ kind = 'beta', alpha = 4, beta = 0.5 }", sb.Beta(4, 0.5)),
    ],
)
def test_every_index_has_a_table(table, made):
    text = f"{WINE}sampling = {{ kind = 'fresh', n_sample = 20 }}\nindex = {table}"
    plan = Config.parse(text).build(Path()).arguments
    assert plan.index == made
    assert plan.setup["index"] == repr(made)


def test_an_index_of_ones_own(tmp_path, monkeypatch):
    name = f"own_index_{tmp_path.name}"
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{name}.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\nimport shapband as sb\n"
        "@dataclass(frozen=True)\nclass Alone(sb.Index):\n"
        "    def size_weights(self, n_providers): return np.eye(n_providers)[0]\n"
    )
    config = Config.parse(
        f"{WINE}sampling = {{ kind = 'fresh', n_sample = 20 }}\n"
        f"index = {{ kind = 'object', object = '{name}:Alone' }}"
    )
    assert config.objects == [f"{name}:Alone"]
    assert config.build(tmp_path).arguments.setup["index"] == "Alone()"


FRESH = f"{WINE}sampling = {{ kind = 'fresh', n_sample = 20 }}\n"
EACH = dict.fromkeys((p.name for p in sb.datasets.wine().providers), 0.5)
IN_TOML = "{ " + ", ".join(f'"{name}" = 0.5' for name in EACH) + " }"


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ("kind = 'independent', probability = 0.8", sb.Independent(0.8)),
        ("kind = 'independent', probability = 1", sb.Independent(1.0)),
        (f"kind = 'independent', probability = {IN_TOML}", sb.Independent(EACH)),
        ("kind = 'cohort', k = 3", sb.Cohort(3)),
        ("kind = 'markov', join = 0.2, stay = 0.9", sb.MarkovChain(0.2, 0.9)),
        (f"kind = 'markov', join = {IN_TOML}, stay = 0.9", sb.MarkovChain(EACH, 0.9)),
    ],
)
def test_every_participation_has_a_table(table, made):
    config = Config.parse(f"{FRESH}participation = {{ {table} }}")
    assert config.build(Path()).arguments.participation == made


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("kind = 'independent', probability = 2", r"^participation.probability: must lie between"),
        ("kind = 'independent', probability = 'x'", r"^participation.probability: must be a num"),
        ("kind = 'independent', probability = true", r"^participation.probability: must be a num"),
        ("kind = 'independent', probability = { a = 'x' }", r"^participation.probability: must be"),
        ("kind = 'independent', probability = { a = 0.5 }", "^participation: .*no provider 'a'"),
        ("kind = 'independent'", "^participation.probability: must be given$"),
        ("kind = 'cohort', k = 0", "^participation.k: must be at least 1; received 0$"),
        ("kind = 'cohort', k = 11", "^participation: Cohort: k must be at most"),
        ("kind = 'markov', join = 0, stay = 0.5", "^participation.join: must be above 0"),
        ("kind = 'random'", "^participation.kind: must be one of 'independent', 'cohort'"),
        ("k = 3", "^participation.kind: must be given; it is one of independent, cohort, markov"),
        ("kind = 'trace', path = 'no.csv'", "^participation.path: there is no file"),
    ],
)
def test_a_broken_participation_names_its_key(table, message):
    with pytest.raises(InvalidInput, match=message):
        Config.parse(f"{FRESH}participation = {{ {table} }}").build(Path())


def test_a_trace_is_read_from_its_file(tmp_path):
    names = list(EACH)
    trace = sb.MarkovChain(0.3, 0.8).simulate(names, 20, seed=0)
    for cells in (trace, trace.astype(int)):
        cells.to_csv(tmp_path / "rounds.csv", index=False)
        text = f"{FRESH}participation = {{ kind = 'trace', path = 'rounds.csv' }}"
        found = Config.parse(text).build(tmp_path).arguments.participation
        assert (found.rounds == trace.to_numpy()).all()
        assert found.names == tuple(names)
    (tmp_path / "rounds.csv").write_text("a,b\n1,maybe\n")
    with pytest.raises(InvalidInput, match=r"^participation.path: Trace: rounds must be true or 1"):
        Config.parse(text).build(tmp_path)


def test_a_sampling_and_a_solver_of_ones_own(own, tmp_path):
    plan = own().build(tmp_path).arguments
    assert plan.sampling == sb.Fresh(20)
    assert repr(plan.solver) == "Thrice(n_iter=4)"


def test_an_object_of_another_kind_is_named(own, tmp_path):
    with pytest.raises(InvalidInput, match=r"^sampling\.object: .*:number must be a Sampling"):
        own(sampling="number").build(tmp_path)
    with pytest.raises(InvalidInput, match=r"^solver\.object: .*:fresh is a Fresh"):
        own(solver="fresh").build(tmp_path)


def test_a_solver_that_does_not_fit_the_providers_names_its_table():
    text = (
        f"{WINE}sampling = {{ kind = 'fresh', n_sample = 20 }}\n"
        "solver = { kind = 'balanced', n_iter = 7 }"
    )
    with pytest.raises(InvalidInput, match=r"^solver: BalancedPermutation: n_iter .* use 20$"):
        Config.parse(text).build(Path())


def test_every_utility_but_functions_has_a_kind():
    public = {name: getattr(sb, name) for name in sb.__all__}
    utilities = {
        name
        for name, one in public.items()
        if inspect.isclass(one) and issubclass(one, sb.Utility) and not inspect.isabstract(one)
    }
    assert utilities - {"FunctionUtility"} == set(UTILITIES.values())


@pytest.mark.parametrize("name", UTILITIES.values())
def test_the_table_of_a_utility_follows_from_its_class(name):
    table = Config.model_json_schema()["$defs"][f"{name}Table"]
    parameters = dict(inspect.signature(getattr(sb, name)).parameters)
    if "X_val" in parameters:
        assert "validation" in table["properties"]
        del parameters["X_val"], parameters["y_val"]
    parameters.pop("embed", None)  # a fitted transformer cannot be written in a file
    for key, parameter in parameters.items():
        found = table["properties"][key]
        assert found["description"]
        if parameter.default is parameter.empty:
            assert key in table["required"]
        elif parameter.default is not None:
            assert found["default"] == json.loads(json.dumps(parameter.default))  # lists of tuples


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (sb.Pooled, f"{WINE}sampling = {{ kind = 'pooled', n_pool = 50, n_boot = 20 }}"),
        (sb.Permutation, f"{FRESH}solver = {{ kind = 'permutation', n_iter = 7 }}"),
        (sb.Beta, f"{FRESH}index = {{ kind = 'beta', alpha = 2, beta = 1 }}"),
        (sb.Cohort, f"{FRESH}participation = {{ kind = 'cohort', k = 3 }}"),
        (sb.Precision, f"{FRESH}stop = {{ absolute = 0.1 }}"),
        (sb.Prices, f"{FRESH}prices = {{ record = 1 }}"),
    ],
)
def test_every_part_is_made_once(monkeypatch, made, text):
    count, init = [], made.__init__

    def counted(self, *args, **options):
        count.append(self)
        init(self, *args, **options)

    monkeypatch.setattr(made, "__init__", counted)
    config = Config.parse(text)
    plan = config.build(Path()).arguments
    assert config.prices is None or config.prices.prices is count[0]
    assert len(count) == 1, plan
