"""Mistakes of somebody who has read the README only, after the first call of `value`.

Every message names the argument, what was received, and what to write instead.
"""

# ruff: noqa: E501  one mistake per line reads as a table

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.errors import ShapbandError
from tests.test_natural_mistakes import BOTH, NORTH, ROWS, SOUTH, LogisticRegression, first_call

NAMED: dict[str, Any] = {"target": "readmitted", "validation": ROWS, "score": "roc_auc"}
CONFIG = """version = 1
n_games = 4
seed = 0

[[providers]]
name = "north"
source = { kind = "csv", path = "north.csv", target = "readmitted" }

[[providers]]
name = "south"
source = { kind = "csv", path = "south.csv", target = "readmitted" }

[utility]
kind = "logistic"
validation = { kind = "csv", path = "rows.csv", target = "readmitted" }

[sampling]
kind = "pooled"
n_pool = 40
n_boot = 10
replace = false
"""
UTILITY, SAMPLING = (
    CONFIG[CONFIG.index("[utility]") : CONFIG.index("[sampling]")],
    CONFIG[CONFIG.index("[sampling]") :],
)


@pytest.fixture(scope="module")
def valuation() -> sb.Valuation:
    return first_call()


# By the mistake: the call; then the argument, what was received, and the remedy.
CALLS: dict[str, tuple[Callable[[sb.Valuation], object], str, str, str]] = {
    "interval(95)": (lambda v: v.interval(95), "level", "received 95", "such as 0.95"),
    "a misspelt provider": (lambda v: v["nroth"], "valuation[", "'nroth'", "did you mean north?"),
    "a report in PDF": (lambda v: v.report("report.pdf"), "report", ".pdf", "end it in .html"),
    "a report of nobody": (lambda v: v.report("a.html", provider="nroth"), "report", "'nroth'", "did you mean north?"),
    "a path to compare": (lambda v: sb.compare(v, "my-run"), "compare: valuation 2", "'my-run'", "sb.load('my-run').valuation"),
    "payouts of ten": (lambda v: sb.payouts(v, "ten"), "amount", "'ten'", "such as 0.02"),
    "a frame of dask": (lambda v: v.to_frame("dask"), "library", "'dask'", '"pandas" or "polars"'),
    "budget=2000": (lambda _: first_call(budget=2000), "budget", "received 2000", "use sb.Budget(records=2000)"),
    "n_jobs='all'": (lambda _: first_call(n_jobs="all"), "n_jobs", "'all'", "-1 for one worker per core"),
    "workers=4": (lambda _: first_call(workers=4), "workers", "received 4", "use n_jobs=4"),
    "participation=0.8": (lambda _: first_call(participation=0.8), "participation", "received 0.8", "use sb.Independent(0.8)"),
    "index='banzhaf'": (lambda _: first_call(index="banzhaf"), "index", "'banzhaf'", "Banzhaf()"),
    "interactions by permutations": (lambda _: first_call(interactions=True, solver=sb.Permutation(9)), "interactions", "Permutation", "use Exact"),
    "draws larger than pools": (lambda _: first_call(sampling=sb.Pooled(20, 60, replace=False)), "n_boot", "n_pool=20", "raise n_pool to 120"),
    "draws larger than a stock": (lambda _: first_call(sampling=sb.Fresh(60)), "n_sample", "40 records", "lower n_sample"),
    "prices=0.5": (lambda _: sb.bill(BOTH, LogisticRegression(), **NAMED, prices=0.5), "prices", "received 0.5", "use sb.Prices(record=0.5)"),
    "error='1%'": (lambda _: sb.plan(BOTH, LogisticRegression(), **NAMED, error="1%"), "error", "'1%'", "such as 0.01"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", CALLS)
def test_a_mistake_in_python(mistake: str, valuation: sb.Valuation) -> None:
    call, *wanted = CALLS[mistake]
    with pytest.raises(ShapbandError) as caught:
        call(valuation)
    for words in wanted:
        assert words in str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("first")
    for name, frame in {"north": NORTH, "south": SOUTH, "rows": ROWS}.items():
        frame.to_csv(made / f"{name}.csv", index=False)
    (made / "good.toml").write_text(CONFIG)
    (made / "empty").mkdir()
    return made


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def printed(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code in (1, 2), found.output
    return " ".join(found.output.split())


COMMANDS: dict[str, tuple[list[str], str, str, str]] = {
    "a file that is not there": (["run", "missing.toml", "--out", "a"], "CONFIG", "missing.toml", "shapband init"),
    "data instead of a configuration": (["run", "north.csv", "--out", "a"], "north.csv is not valid TOML", "at line 1", "shapband init"),
    "a run that is not there": (["resume", "no-run"], "RUN", "no-run, which does not exist", "shapband run CONFIG --out RUN"),
    "a directory that is no run": (["show", "empty"], "RUN", "empty, which holds no run.db", "shapband run CONFIG --out RUN"),
    "a misspelt command": (["reprot", "my-run"], "command", "'reprot'", "Did you mean 'report'"),
    "another format": (["export", "my-run", "--format", "xlsx"], "--format", "'xlsx'", "'csv', 'json', 'parquet'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", COMMANDS)
def test_a_mistake_in_a_shell(mistake: str, inside: Path) -> None:
    arguments, *wanted = COMMANDS[mistake]
    if arguments[0] == "export":
        (inside / "my-run").mkdir(exist_ok=True)
        (inside / "my-run" / "run.db").touch()
    said = printed(*arguments)
    for words in wanted:
        assert words in said


def test_a_second_run_in_the_same_directory(inside: Path) -> None:
    assert CliRunner().invoke(app, ["run", "good.toml", "--out", "twice"]).exit_code == 0
    said = printed("run", "good.toml", "--out", "twice")
    assert "--out: twice already holds a run: resume it, or choose another directory" in said


def test_a_line_that_is_not_valid_toml_does_not_show_a_secret(inside: Path) -> None:
    (inside / "bad.toml").write_text("url = postgresql://me:s3cret@host/clinic\n")
    said = printed("run", "bad.toml", "--out", "bad")
    assert "'url' = …" in said
    assert "s3cret" not in said


FILES: dict[str, tuple[str, str, str, str, str]] = {
    "a misspelt kind": ('kind = "pooled"', 'kind = "polled"', "sampling.kind", "'polled'", "'pooled'"),
    "a misspelt key": ("n_boot = 10", "n_boots = 10", "sampling", "n_boots", "did you mean n_boot?"),
    "a number in words": ("n_games = 4", 'n_games = "four"', "n_games", "'four'", "write a number without quotes"),
    "no target": (', target = "readmitted" }\n\n[[', " }\n\n[[", "providers[0].source.target", "must be given", "add target = "),
    "equal names": ('name = "south"', 'name = "north"', "providers", "'north'", "names must differ"),
    "no utility": (UTILITY, "", "utility", "must be given", "add [utility] with kind"),
    "no sampling": (SAMPLING, "", "sampling", "must be given", "add [sampling] with kind"),
    "large draws": ("n_boot = 10", "n_boot = 60", "n_boot=60", "n_pool=40", "raise n_pool to 120"),
    "a string without quotes": ('kind = "pooled"', "kind = pooled", "bad.toml", "'kind' = …", "strings in quotes"),
    "a number for a table": ("seed = 0", "seed = 0\nbudget = 2000", "budget", "received 2000", "write [budget] with records = 2000"),
    "a name for a table": (SAMPLING, "", "sampling", "'pooled'", 'write { kind = "pooled"'),
    "a misspelt column": ('"readmitted" }\n\n[sampling]', '"readmited" }\n\n[sampling]', "utility.validation.target", "'readmited'", "there are age, dose, readmitted"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", FILES)
def test_a_mistake_in_a_configuration(mistake: str, inside: Path) -> None:
    before, after, *wanted = FILES[mistake]
    assert before in CONFIG
    text = CONFIG.replace(before, after)
    if mistake == "a name for a table":
        text = text.replace("seed = 0", 'seed = 0\nsampling = "pooled"')
    (inside / "bad.toml").write_text(text)
    said = printed("run", "bad.toml", "--out", "bad")
    for words in wanted:
        assert words in said
