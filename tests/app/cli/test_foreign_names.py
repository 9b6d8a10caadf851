"""Names of others do no harm in a terminal, in a spreadsheet or in JSON."""

import csv
import io
import json
import unicodedata

import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app

NAMES = (
    "north\r=cmd|' /C calc'!A0",
    "\n@SUM(1)",
    "=1+1",
    " -2+3",
    "\t+A1",
    "\u202egnitsop\u202c",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    'quote" and , comma',
    "\u2028=x",
    "\U000f0000 private",
    "plain",
)
UNSAFE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("names")
    members = [sb.Provider(name, sb.ArraySource([[1.0], [2.0]], [1.0, 2.0])) for name in NAMES]
    players = [*members[:-2], sb.Group("\r=group()", members[-2:])]
    for seed in (0, 1):
        sb.value(
            players, sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=40, seed=seed,
            solver=sb.Permutation(2), run=place / f"run{seed}",
        )  # fmt: skip
    return place


COMMANDS = {
    "show": ["show", "run0"],
    "show --json": ["show", "run0", "--json"],
    "export csv": ["export", "run0", "--format", "csv"],
    "export json": ["export", "run0", "--format", "json"],
    "export valuation": ["export", "run0", "--format", "valuation"],
    "payouts": ["payouts", "run0", "--amount", "100"],
    "payouts --json": ["payouts", "run0", "--amount", "100", "--json"],
    "compare": ["compare", "run0", "run1"],
    "compare --json": ["compare", "run0", "run1", "--json"],
    "verify": ["verify", "run0"],
}


def printed(runs, command, monkeypatch):
    monkeypatch.chdir(runs)
    result = CliRunner().invoke(app, COMMANDS[command])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_characters_that_a_terminal_obeys(runs, command, monkeypatch):
    text = printed(runs, command, monkeypatch)
    bad = {char for char in text if unicodedata.category(char) in UNSAFE} - {"\n"}
    assert bad == set()


def test_every_provider_is_one_row_of_the_csv_and_no_cell_is_a_formula(runs, monkeypatch):
    text = printed(runs, "export csv", monkeypatch)
    assert len(text.splitlines()) == 1 + len(NAMES)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len({row["provider"] for row in rows}) == len(NAMES)
    for row in rows:
        for cell in (row["provider"], row["group"], row["index"]):
            assert not cell.lstrip().startswith(("=", "+", "-", "@"))
    assert rows[-1]["provider"] == "plain"


@pytest.mark.parametrize("command", ["show --json", "export json", "payouts --json"])
def test_programs_read_the_names_as_they_are_from_json(runs, command, monkeypatch):
    document = json.loads(printed(runs, command, monkeypatch))
    rows = document if isinstance(document, list) else document["providers"]
    assert {row["provider"] for row in rows} == set(NAMES)
