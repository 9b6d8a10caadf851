"""The commands, called in this process."""

import csv
import io
import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from tests.runs.small import start
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.app.cli.playing import _play
from shapband.app.cli.views import format_status, status_json
from shapband.app.config.config import Config
from shapband.errors import ShapbandError

CONFIG = """
n_games = 30
seed = {seed}
providers = [{{ source = {{ kind = "task", task = "wine" }} }}]
sampling = {{ kind = "pooled", n_pool = 100, n_boot = 20 }}
solver = {{ kind = "permutation", n_iter = 2 }}
"""


def called(*arguments, **options):
    return CliRunner().invoke(app, [str(one) for one in arguments], **options)


def refused(*arguments):
    """Call a command that must fail, and give its one line."""
    result = called(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two finished runs of other seeds."""
    folder = tmp_path_factory.mktemp("runs")
    for name, seed in (("one", 0), ("two", 1)):
        (folder / f"{name}.toml").write_text(CONFIG.format(seed=seed))
        result = called("run", folder / f"{name}.toml", "--out", folder / name, "--quiet")
        assert (result.exit_code, result.output) == (0, "")
    return folder


def by_hand(seed=0):
    task = sb.datasets.wine()
    return sb.value(
        task.providers, task.utility, sampling=sb.Pooled(100, 20), solver=sb.Permutation(2),
        n_games=30, seed=seed,
    )  # fmt: skip


# Help.


def test_every_command_and_option_has_help():
    from typer.main import get_command

    program = get_command(app)
    for command in [program, *program.commands.values()]:
        assert command.help
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"


def test_the_list_of_commands_is_not_cut_short():
    result = called("--help", env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert "..." not in result.stdout.partition("Commands:")[2]


def test_the_version():
    assert called("--version").stdout == f"shapband {sb.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["fly"], ["run"], ["run", "x.toml"], ["show"], ["export", "x", "--format", "xls"]],
    ids=" ".join,
)
def test_a_wrong_call_has_the_exit_code_2(arguments):
    assert called(*arguments).exit_code == 2


# init.


def test_the_starter_is_sound_and_names_a_schema_that_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert called("init").exit_code == 0
    text = Path("shapband.toml").read_text()
    assert len(Config.parse(text).build(tmp_path).arguments.providers) == 10
    first = text.splitlines()[0]
    assert first.startswith("#:schema file://")
    json.loads(Path(first.removeprefix("#:schema file://")).read_text())


def test_the_alternatives_of_the_starter_are_sound(tmp_path):
    """Every commented line that holds a key can be used."""
    called("init", tmp_path / "run.toml")
    text = (tmp_path / "run.toml").read_text()
    rest = text.partition("\nversion")[2]
    lines = [
        line.removeprefix("# ")
        for line in f"version{rest}".splitlines()
        if not line.startswith("# ") or " = " in line or line.startswith("# [")
    ]
    lines.remove(next(line for line in lines if line.startswith("workers = 1")))
    config = Config.parse("\n".join(lines))
    assert len(config.providers) == 7
    assert config.scheduler is not None
    assert None not in (config.utility, config.solver, config.stop, config.budget)


def test_init_leaves_a_file_alone(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("mine")
    assert "exists" in refused("init", file)
    assert file.read_text() == "mine"


def test_init_in_a_folder_that_is_not_there(tmp_path):
    assert "cannot be written" in refused("init", tmp_path / "no" / "mine.toml")


# run, resume and show.


def test_a_run_is_the_valuation_that_its_file_describes(runs):
    shown = json.loads(called("show", runs / "one", "--json").stdout)
    expected = by_hand()
    assert shown["state"] == "finished"
    assert [row["provider"] for row in shown["providers"]] == list(expected.names)
    found = [row["expectation"] for row in shown["providers"]]
    np.testing.assert_array_equal(found, expected.expectation)
    assert shown["access"]["records"] == expected.access.records
    assert len(shown["digest"]) == 64


def test_show_prints_a_table(runs):
    printed = called("show", runs / "one").stdout
    assert "finished" in printed.splitlines()[0]
    assert sum(line.startswith("alcohol") for line in printed.splitlines()) == 10


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_run_prints_the_valuation_that_it_received(tmp_path, monkeypatch, form):
    (tmp_path / "run.toml").write_text(
        'n_games = 5\nseed = 0\nproviders = [{ source = { kind = "task", task = "wine" } }]\n'
        'sampling = { kind = "fresh", n_sample = 20 }\n'
    )
    with monkeypatch.context() as patched:
        patched.setattr("shapband.runs.store.RunStore.finished", None)  # the result cannot be read
        printed = called("run", tmp_path / "run.toml", "--out", tmp_path / "out", *form)
    assert printed.exit_code == 0, printed.output
    assert printed.stdout == called("show", tmp_path / "out", *form).stdout


def test_resuming_a_finished_run_shows_it(runs):
    assert called("resume", runs / "one").stdout == called("show", runs / "one").stdout


@pytest.mark.parametrize("changed", [True, False])
def test_resuming_under_another_version_is_told_in_one_line(tmp_path, monkeypatch, changed):
    import shapband.runs.run as module

    def interrupt(standing):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(Config.parse(CONFIG.format(seed=0)), tmp_path, tmp_path / "run", interrupt)
    began = module.versions()
    at_work = {**began, "scipy": "99.1"} if changed else began
    monkeypatch.setattr(module, "versions", lambda: at_work)
    result = called("resume", tmp_path / "run", "--quiet")
    assert (result.exit_code, result.stdout) == (0, "")
    said = (
        f"warning: versions changed since the run began (scipy from {began['scipy']} to 99.1): "
        "the games from here on may differ in their last bits\n"
    )
    assert result.stderr == (said if changed else "")


def test_a_run_prints_json_if_asked(runs, tmp_path):
    result = called("run", runs / "one.toml", "--out", tmp_path / "again", "--json", "--quiet")
    again = json.loads(result.stdout)
    before = json.loads(called("show", runs / "one", "--json").stdout)
    same = ("n_games", "estimand", "estimand_code", "seed", "setup", "evaluations")
    assert all(again[key] == before[key] for key in same)


def test_a_run_is_not_overwritten(runs):
    refused("run", runs / "one.toml", "--out", runs / "two")


@pytest.mark.parametrize("command", ["resume", "show", "export"])
def test_what_is_no_run_is_refused(tmp_path, command):
    more = ["--format", "csv"] if command == "export" else []
    assert str(tmp_path / "none") in refused(command, tmp_path / "none", *more)
    assert not (tmp_path / "none").exists()


# export.


def test_export_as_csv(runs):
    rows = list(
        csv.DictReader(io.StringIO(called("export", runs / "one", "--format", "csv").stdout))
    )
    assert [float(row["expectation"]) for row in rows] == by_hand().expectation.tolist()


def test_export_as_json(runs, tmp_path):
    out = tmp_path / "rows.json"
    result = called("export", runs / "one", "--format", "json", "--out", out)
    assert (result.exit_code, result.output) == (0, "")
    rows = json.loads(out.read_text())
    assert [row["variance"] for row in rows] == by_hand().variance.tolist()


def test_export_as_parquet(runs, tmp_path):
    called("export", runs / "one", "--format", "parquet", "--out", tmp_path / "x.parquet")
    frame = pd.read_parquet(tmp_path / "x.parquet")
    pd.testing.assert_series_equal(frame["expectation"], by_hand().to_frame()["expectation"])


def test_export_as_parquet_without_pyarrow_names_the_extra(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'shapband[parquet]'" in refused(
        "export", runs / "one", "--format", "parquet"
    )


def test_export_to_a_folder_that_is_not_there(runs, tmp_path):
    line = refused("export", runs / "one", "--format", "csv", "--out", tmp_path / "no" / "x.csv")
    assert "cannot be written" in line


# payouts.


def test_payouts_are_those_of_python(runs):
    valuation = sb.load(runs / "one").valuation
    paid = sb.payouts(valuation, "1000.01")
    assert called("payouts", runs / "one", "--amount", "1000.01").stdout == f"{paid}\n"
    options = ("--amount", "1000.01", "--statement", valuation.names[2])
    assert called("payouts", runs / "one", *options).stdout == (
        f"{paid.statement(valuation.names[2])}\n"
    )


def test_a_report_shows_the_payouts_that_were_asked_for(runs, tmp_path):
    options = ("--amount", "999", "--currency", "JPY", "--policy", "floor", "--floor", "10")
    called("report", runs / "one", "--out", tmp_path / "with.html", *options)
    page = (tmp_path / "with.html").read_text("utf-8")
    paid = sb.payouts(sb.load(runs / "one").valuation, 999, "JPY", "floor", floor=10)
    assert all(f"<td>{amount}</td>" in page for amount in paid.amounts.values())
    assert "10 JPY to everybody" in page
    called("report", runs / "one", "--out", tmp_path / "without.html")
    assert 'id="payouts"' not in (tmp_path / "without.html").read_text("utf-8")


def test_options_of_payouts_need_an_amount(runs, tmp_path):
    options = ("--out", tmp_path / "x.html", "--risk-aversion", "1")
    line = refused("report", runs / "one", *options)
    assert "report: --risk-aversion is for payouts: give their --amount too" in line
    assert not (tmp_path / "x.html").exists()


def test_payouts_for_programs_sum_exactly(runs):
    options = ("--amount", "999", "--currency", "JPY", "--policy", "floor", "--floor", "10")
    document = json.loads(called("payouts", runs / "one", *options, "--json").stdout)
    assert sum(int(row["amount"]) for row in document["providers"]) == 999
    assert document["currency"] == "JPY"


def test_a_statement_is_no_json(runs):
    options = ("--amount", "1", "--json", "--statement", sb.load(runs / "one").valuation.names[0])
    assert called("payouts", runs / "one", *options).exit_code == 2


def test_payouts_of_a_wrong_policy_are_refused_in_one_line(runs):
    line = refused("payouts", runs / "one", "--amount", "1", "--policy", "fair")
    assert "policy must be one of proportional" in line


# compare.


def test_compare_says_what_differs(runs):
    document = json.loads(called("compare", runs / "one", runs / "two", "--json").stdout)
    one, two = by_hand(0), by_hand(1)
    rows = document["providers"]
    np.testing.assert_allclose(
        [row["difference"] for row in rows], two.expectation - one.expectation, rtol=1e-12
    )
    found = sb.compare(one, two).standard_error
    np.testing.assert_allclose([row["standard_error"] for row in rows], found, rtol=1e-12)
    assert document["paired_games"] == 0
    assert all(0 <= row["p_value"] <= row["adjusted_p_value"] <= 1 for row in rows)
    assert [row["beyond_chance"] for row in rows] == [
        row["adjusted_p_value"] < 0.05 for row in rows
    ]


def test_compare_prints_a_table(runs):
    printed = called("compare", runs / "one", runs / "two").stdout
    assert sum(line.startswith("alcohol") for line in printed.splitlines()) == 10
    assert "of 10 differ beyond chance" in printed
    assert "p  p (Holm)  beyond chance" in printed


def test_compare_writes_a_report(runs, tmp_path):
    page, long = tmp_path / "two.html", tmp_path / "three.html"
    printed = called("compare", runs / "one", runs / "two", "--report", page).stdout
    assert "of 10 differ beyond chance" in printed
    assert "What changed" in page.read_text("utf-8")
    shutil.copytree(runs / "one", tmp_path / "three")
    called("compare", runs / "one", runs / "two", tmp_path / "three", "--report", long)
    assert "All intervals of this page hold together" in long.read_text("utf-8")
    assert "cannot be written" in refused(
        "compare", runs / "one", runs / "two", "--report", tmp_path / "no" / "page.html"
    )


def test_compare_takes_a_series_of_runs(runs, tmp_path):
    shutil.copytree(runs / "one", tmp_path / "three")
    series = (runs / "one", runs / "two", tmp_path / "three")
    document = json.loads(called("compare", *series, "--json", "--since", "previous").stdout)
    one, two = by_hand(0), by_hand(1)
    np.testing.assert_allclose(
        [row["change"] for row in document["changes"]],
        np.concatenate([two.expectation - one.expectation, one.expectation - two.expectation]),
    )
    printed = called("compare", *series).stdout
    assert "change from the first valuation; all intervals hold together at 95 %" in printed
    assert sum(line.startswith("alcohol") for line in printed.splitlines()) == 10
    assert "named twice" in refused("compare", runs / "one", runs / "two", runs / "one")
    assert 'since must be "first"' in refused("compare", *series, "--since", "May")


@pytest.mark.parametrize("unanswered", [0, 2])
@pytest.mark.parametrize("state", ["running", "interrupted", "finished"])
def test_show_says_what_is_open_and_how_to_go_on(state, unanswered):
    status = sb.RunStatus(
        state=state,
        manifest={"config": "", "providers": [], "arguments": {}},
        access=sb.AccessReport(),
        done=0,
        n_games=2,
        valuation=None,
        unanswered=unanswered,
        digest="",
    )
    text = format_status(Path("my run"), status)
    assert ("shapband resume 'my run'" in text) == (state == "interrupted")
    status.manifest["config"] = None
    from_python = format_status(Path("my run"), status)
    assert ("value(..., run='my run')" in from_python) == (state == "interrupted")
    assert ("requests without an answer: 2" in text) == bool(unanswered)
    document = json.loads(status_json(Path("my run"), status))
    assert document.get("unanswered", 0) == unanswered


# Errors.


class Unexpected(Exception):
    pass


@pytest.fixture
def broken_look(monkeypatch, tmp_path):
    """Let `show` of the directory x fail with a given error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "run.db").touch()

    def break_it(error):
        def status_of(run, result):
            raise error

        monkeypatch.setattr("shapband.app.cli.views.status_of", status_of)

    return break_it


def test_an_unexpected_error_is_one_line_that_calls_itself_a_bug(broken_look):
    broken_look(Unexpected("first line\nsecond line"))
    line = refused("show", "x")
    assert line == (
        "error: this is a bug in shapband: Unexpected: first line second line; --debug shows the "
        "trace"
    )


@pytest.mark.parametrize("arguments", [["--debug", "show", "x"], ["show", "x", "--debug"]])
def test_debug_shows_the_trace(broken_look, arguments):
    broken_look(ShapbandError("no such luck"))
    result = called(*arguments)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1] == "error: no such luck"


def test_an_error_of_the_system_is_no_bug(broken_look):
    broken_look(PermissionError(13, "Permission denied", "run.db"))
    assert refused("show", "x") == "error: [Errno 13] Permission denied: 'run.db'"


def test_secrets_are_hidden_from_errors_and_traces(broken_look, monkeypatch):
    from shapband.secrets import reveal

    monkeypatch.setenv("SHAPBAND_TEST_KEY", "open-sesame-42")
    reveal({"env": "SHAPBAND_TEST_KEY"}, "options.key")
    broken_look(RuntimeError("refused the key open-sesame-42"))
    result = called("show", "x", "--debug")
    assert "open-sesame-42" not in result.output
    assert "refused the key ***" in result.stderr


def test_a_directory_whose_name_is_no_utf_8_is_refused(runs):
    before = set(runs.iterdir())
    line = refused("run", runs / "one.toml", "--out", runs / os.fsdecode(b"out\xff"))
    assert "must be UTF-8" in line
    assert set(runs.iterdir()) == before


def test_ctrl_c_tells_how_to_resume(runs, monkeypatch, tmp_path, capsys):
    import shapband.runs.run as module

    def interrupted(run):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "finished_valuation", interrupted)
    result = called("resume", runs / "one", "--quiet")
    assert result.exit_code == 130
    assert f"shapband resume {runs / 'one'}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    with pytest.raises(typer.Exit):
        _play(tmp_path / "none", interrupted, quiet=True, json=False)
    assert capsys.readouterr().err == "interrupted: nothing was begun\n"


def test_a_run_that_the_budget_cannot_begin_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = 'providers = [{ source = { kind = "task", task = "wine" } }]\nn_games = 5\nseed = 0\n'
    short += 'sampling = { kind = "fresh", n_sample = 30 }\nbudget = { records = BUDGET }\n'
    (tmp_path / "short.toml").write_text(short.replace("BUDGET", "10"))
    assert "raise the budget" in refused("run", "short.toml", "--out", "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "short.toml").write_text(short.replace("BUDGET", "10000"))
    assert called("run", "short.toml", "--out", "run").exit_code == 0


# Verifying, and exporting the whole.


def test_verify_says_what_was_verified(runs):
    line = called("verify", runs / "one").stdout
    assert "verified, 5 ledger entries and 30 games are as they were written; digest " in line


def test_verify_names_the_damage(runs, tmp_path):
    shutil.copytree(runs / "one", tmp_path / "forged")
    with sqlite3.connect(tmp_path / "forged" / "run.db") as database:
        database.execute("UPDATE games SET evaluations = 1")
    database.close()
    assert "were altered" in refused("verify", tmp_path / "forged")


def test_the_exported_valuation_can_be_read_back(runs, tmp_path):
    text = called("export", runs / "one", "--format", "valuation").stdout
    found = sb.Valuation.from_json(text)
    stored = sb.load(runs / "one").valuation
    assert found.variance.tobytes() == stored.variance.tobytes()
    assert found.games.tobytes() == stored.games.tobytes()


def test_exported_rows_are_refused_with_the_way_to_get_a_valuation(runs):
    text = called("export", runs / "one", "--format", "json").stdout
    with pytest.raises(sb.errors.InvalidInput, match="--format valuation"):
        sb.Valuation.from_json(text)


def test_a_run_from_python_is_shown_and_tells_how_to_resume(tmp_path):
    def fail(size, rng):
        raise ConnectionError("no line")

    providers = [sb.Provider("far", sb.FunctionSource(fail))]
    with pytest.raises(sb.errors.SourceError):
        sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), run=tmp_path / "run")
    assert "resume it from Python" in called("show", tmp_path / "run").stdout
    assert "was begun from Python" in refused("resume", tmp_path / "run")
