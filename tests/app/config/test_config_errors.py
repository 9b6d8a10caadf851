"""Broken configurations: one line, the key named, exit code 1, nothing created."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from shapband.app.cli.app import app
from shapband.app.config.config import Config
from shapband.errors import InvalidInput

BASE: dict[str, Any] = {
    "version": 1,
    "n_games": 20,
    "seed": 0,
    "workers": 1,
    "providers": [{"source": {"kind": "task", "task": "wine"}}],
    "utility": {"kind": "neighbors", "k": 2, "task": "regression", "empty": 0.0},
    "sampling": {"kind": "stratified", "n_pool": 200, "n_boot": 60, "alpha": 0.5},
    "solver": {"kind": "balanced", "n_iter": 30},
    "index": {"kind": "beta", "alpha": 4, "beta": 1.0},
    "stop": {"absolute": 0.1, "seconds": 60, "all": {"relative": 0.1, "ranking": 0.0}},
    "budget": {"records": 2500, "requests": 20},
}

no_whole = st.floats() | st.booleans() | st.text(max_size=5) | st.just([1]) | st.just({"a": 1})
no_number = st.booleans() | st.text(max_size=5) | st.just([1.0]) | st.sampled_from([float("nan")])
no_text = st.integers() | st.floats() | st.booleans() | st.just(["csv"])
no_table = st.integers() | st.text(max_size=5) | st.booleans() | st.just([])
below_1 = st.integers(-(10**20), 0)
not_above_0 = st.floats(max_value=0.0, allow_nan=False) | st.integers(max_value=0)
a_word = st.text("abcdefghij", min_size=7, max_size=12)

COUNTS = [
    ("utility", "k"),
    ("sampling", "n_pool"),
    ("sampling", "n_boot"),
    ("solver", "n_iter"),
    ("budget", "records"),
    ("budget", "requests"),
]
ABOVE_0 = [
    ("stop", "absolute"),
    ("stop", "seconds"),
    ("stop", "all", "relative"),
    ("index", "alpha"),
    ("index", "beta"),
]
NUMBERS = [*ABOVE_0, ("sampling", "alpha"), ("utility", "empty"), ("stop", "all", "ranking")]
KINDS = [("sampling", "kind"), ("solver", "kind"), ("index", "kind"), ("utility", "kind")]
TABLES = [(), *((one,) for one in BASE if isinstance(BASE[one], dict)), ("stop", "all")]
NEEDED = [("sampling",), ("providers",), ("sampling", "n_pool"), ("solver", "n_iter"), *KINDS]


def toml(value: Any) -> str:
    """Write a value as TOML in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    # Strings of JSON are strings of TOML, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def changed(path: tuple[str, ...], value: Any = None, *, drop: bool = False) -> str:
    """Write the base with one value changed or left out."""
    document = copy.deepcopy(BASE)
    table = document
    for part in path[:-1]:
        table = table[part]
    if drop:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    return "\n".join(f"{key} = {toml(one)}" for key, one in document.items())


def paths_with(paths, values):
    return st.tuples(st.sampled_from(paths), values).map(lambda one: (one[0], changed(*one)))


broken = st.one_of(
    paths_with([*COUNTS, ("n_games",), ("seed",), ("version",)], no_whole),
    paths_with([*COUNTS, ("n_games",), ("version",)], below_1),
    paths_with([("seed",)], st.integers(max_value=-1)),
    paths_with([("workers",)], no_whole | st.integers(max_value=-2) | st.just(0)),
    paths_with(NUMBERS, no_number),
    paths_with(ABOVE_0, not_above_0),
    paths_with([("sampling", "alpha")], st.floats(1.001, 1e300) | st.just(0)),
    paths_with(KINDS, no_text | a_word),
    st.sampled_from(NEEDED).map(lambda path: (path, changed(path, drop=True))),
    paths_with([path for path in TABLES if path], no_table),
    st.tuples(st.sampled_from(TABLES), a_word, st.integers() | a_word).map(
        lambda one: ((*one[0], one[1]), changed((*one[0], one[1]), one[2]))
    ),
)  # fmt: skip


def test_the_base_is_sound():
    Config.parse(changed(("n_games",), 20))


@settings(max_examples=150)
@given(broken)
def test_a_broken_file_is_refused_in_one_line_that_names_the_key(tmp_path_factory, case):
    path, text = case
    folder = tmp_path_factory.mktemp("broken")
    (folder / "run.toml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(
        app, ["run", str(folder / "run.toml"), "--out", str(folder / "out")]
    )
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert ".".join(path) in line.partition(": ")[2]
    assert [one.name for one in folder.iterdir()] == ["run.toml"]


@settings(max_examples=100)
@given(st.data())
def test_a_torn_file_is_sound_or_refused_in_one_line(data):
    text = changed(("n_games",), 20)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    filling = data.draw(st.sampled_from(["", "=", "\n", "[", '"', "0", "\0", "{", "é"]))
    try:
        Config.parse(text[:start] + filling + text[stop:])
    except InvalidInput as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017


@settings(max_examples=100)
@given(st.text())
def test_any_text_is_sound_or_refused_in_one_line(text):
    with pytest.raises(InvalidInput) as error:
        Config.parse(text)
    assert len(str(error.value).splitlines()) == 1


CSV = '{ kind = "csv", path = "x.csv", target = "y" }'


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("sampling", "n_pool"), 0, "sampling.n_pool: must be at least 1; received 0"),
        (("sampling", "n_pol"), 3, "sampling.n_pol: is not a known key; did you mean n_pool?"),
        (("sampling", "n_pool"), "9", "sampling.n_pool: must be a whole number; received '9'"),
        (("stop", "all", "ranking"), -1, "stop.all.ranking: must be at least 0; received -1"),
        (("stop", "level"), 1, "stop.level: must be below 1; received 1"),
        (("stop",), {}, "stop: must hold at least one of absolute, relative, ranking, seconds"),
        (
            ("solver",),
            {"kind": "exakt"},
            "solver.kind: must be one of 'exact', 'permutation', 'balanced', 'strata', 'arcs', "
            "'known', 'object'; received 'exakt'",
        ),
        (
            ("index",),
            {"kind": "banzaf"},
            "index.kind: must be one of 'shapley', 'banzhaf', 'beta', 'object'; received 'banzaf'",
        ),
        (("index",), {"alpha": 1}, "index.kind: must be given; it is one of shapley, banzhaf, bet"),
        (("index",), "banzhaf", "index: must be a table"),
        (("index",), {"kind": "banzhaf", "alpha": 1}, "index.alpha: is not a known key"),
        (("index", "alpha"), 0, "index.alpha: must be above 0; received 0"),
        (
            ("sampling",),
            {"n_pool": 3},
            "sampling.kind: must be given; it is one of fresh, pooled, stratified, blocks",
        ),
        (
            ("version",),
            2,
            "version: this shapband reads version 1; received 2: the file was written for a newer "
            "one, install that",
        ),
        (("workers",), "dask", 'scheduler: must be given with workers = "dask"'),
        (("scheduler",), "tcp://x", 'scheduler: is for workers = "dask" or "ray" only'),
        (("providers",), [], "providers: must have at least 1 items; received []"),
        (("providers",), [{}], "providers[0].source: must be given"),
        (
            ("providers",),
            [{"name": "a", "source": {"kind": "csv", "path": "x.csv"}}],
            "providers[0].source.target: must be given",
        ),
        (
            ("providers",),
            [{"source": {"kind": "csv", "path": "x.csv", "target": "y"}}],
            "providers[0].name: must be given, unless source.by",
        ),
        (
            ("providers",),
            [{"name": "a", "source": {"kind": "task", "task": "wine"}}],
            "providers[0].name: must be left out",
        ),
        (
            ("providers",),
            [{"source": {"kind": "task"}}],
            "providers[0].source.task: must be given",
        ),
        (
            ("providers",),
            [{"source": {"kind": "object", "object": "nowhere"}}],
            "providers[0].source.object: must have the form module:name; received 'nowhere'",
        ),
        (
            ("sampling",),
            {"kind": "pooled", "n_pool": 3, "n_boot": 2, "replace": False},
            "sampling: without replacement n_boot=2 must be at most half of n_pool=3",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_is_wrong_is_said(path, value, message):
    with pytest.raises(InvalidInput) as error:
        Config.parse(changed(path, value))
    assert str(error.value).startswith(message)


def test_further_errors_are_counted():
    with pytest.raises(InvalidInput, match=r"\(and 1 more error\)$"):
        Config.parse(changed(("sampling",), {"kind": "pooled", "n_pool": 0, "n_boot": 0}))


# What is found out only when the data is read.


FRESH = 'n_games = 5\nseed = 0\nsampling = { kind = "fresh", n_sample = 2 }\n'
ADDITIVE = '[utility]\nkind = "additive"\n'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('kind = "csv", path = "none.csv", target = "y"', r"source\.path: there is no file"),
        ('kind = "csv", path = ".", target = "y"', r"source\.path: there is no file"),
        ('kind = "csv", path = "empty.csv", target = "y"', r"source\.path: .*empty.csv is empty"),
        ('kind = "csv", path = "bytes.csv", target = "y"', r"source\.path: .* cannot be read"),
        (
            'kind = "csv", path = "good.csv", target = "z"',
            r"source\.target: .*good.csv has no column 'z'",
        ),
        (
            'kind = "csv", path = "good.csv", target = "y", features = ["q"]',
            r"source\.features: .*good.csv has no column 'q'",
        ),
        ('kind = "csv", path = "good.csv", target = "a"', "numbers as targets"),
        ('kind = "csv", path = "header.csv", target = "y"', r"source\.path: .* holds no records"),
        (
            'kind = "csv", path = "wide.csv", target = "y"',
            r"source\.path: .*wide.csv has rows with",
        ),
    ],
)
def test_files_that_will_not_do_are_named(tmp_path, source, message):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bytes.csv").write_bytes(bytes(range(256)))
    (tmp_path / "good.csv").write_text("a,y\nu,1\nv,2\nw,3\n")
    (tmp_path / "header.csv").write_text("a,y\n")
    (tmp_path / "wide.csv").write_text("a,y\n5,1,2\n6,2,3\n7,3,4\n")
    text = f'{FRESH}providers = [{{ name = "a", source = {{ {source} }} }}]\n{ADDITIVE}'
    with pytest.raises(InvalidInput, match=message) as error:
        Config.parse(text).build(tmp_path)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("ward", r"^providers\[0\]\.source\.by: .*sites.csv has no column 'ward'"),
        ("y", r"^providers\[0\]\.source\.by: must not be the column of the targets"),
        ("site", r"^providers\[0\]\.source\.by: the column 'site' of .*sites.csv has empty cells"),
    ],
)
def test_a_column_that_cannot_name_providers_is_named(tmp_path, by, message):
    (tmp_path / "sites.csv").write_text("site,a,y\nu,1,1\n,2,2\nu,3,3\n")
    source = f'kind = "csv", path = "sites.csv", target = "y", by = "{by}"'
    text = f"{FRESH}providers = [{{ source = {{ {source} }} }}]\n{ADDITIVE}"
    with pytest.raises(InvalidInput, match=message):
        Config.parse(text).build(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n_sample = 2", "n_sample = 4", r"^sampling: Fresh: provider 'a' has 3 records"),
        ('"b"', '"a"', r"^providers: two providers are named 'a'"),
        ('"additive"', '"additive", weights = [1.0]', r"^utility: AdditiveUtility: there are 1"),
        ("seed = 0", 'solver = { kind = "balanced", n_iter = 3 }', r"^solver: BalancedPermutation"),
    ],
)
def test_what_does_not_fit_together_is_told_under_its_table(tmp_path, old, new, message):
    (tmp_path / "x.csv").write_text("a,y\n1,1\n2,2\n3,3\n")
    both = ", ".join(f'{{ name = "{name}", source = {CSV} }}' for name in "ab")
    text = f'{FRESH}providers = [{both}]\nutility = {{ kind = "additive" }}\n'
    with pytest.raises(InvalidInput, match=message):
        Config.parse(text.replace(old, new)).build(tmp_path)


def test_without_a_task_a_utility_is_needed(tmp_path):
    (tmp_path / "x.csv").write_text("a,y\n1,1\n2,2\n3,3\n")
    text = f'{FRESH}providers = [{{ name = "a", source = {CSV} }}]\n'
    with pytest.raises(InvalidInput, match=r"^utility: must be given"):
        Config.parse(text).build(tmp_path)
    with pytest.raises(InvalidInput, match=r"^utility\.validation: must be given"):
        Config.parse(text + '[utility]\nkind = "linear"\n').build(tmp_path)


@pytest.mark.parametrize("name", ["none.toml", ".", "bytes.toml"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    (tmp_path / "bytes.toml").write_bytes(bytes([200, 201, 255]))
    with pytest.raises(InvalidInput) as error:
        Config.read(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)
