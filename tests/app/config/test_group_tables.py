"""Groups in a configuration file, and in what the commands print."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.app.config.config import Config
from shapband.errors import InvalidInput

FRESH = """
n_games = 12
seed = 3
sampling = { kind = "fresh", n_sample = 5 }
utility = { kind = "additive" }
"""
TABLES = FRESH + (
    """
[[providers]]
group = "=coast"
source = { kind = "csv", path = "coast.csv", by = "site", target = "stay", features = ["age"] }

[[providers]]
name = "alone"
source = { kind = "csv", path = "alone.csv", target = "stay", features = ["age"] }

[[providers]]
name = "late"
group = "=coast"
source = { kind = "csv", path = "alone.csv", target = "stay", features = ["age"] }
"""
)
COLUMN = FRESH + (
    """
[[providers]]
source = { kind = "csv", path = "all.csv", by = "site", group = "region", target = "stay" }
"""
)
OBJECT = FRESH + (
    """
[[providers]]
source = { kind = "object", object = "my_groups:players" }
"""
)
CODE = """
import shapband as sb

def provider(name):
    return sb.Provider(name, sb.ArraySource([[float(i)] for i in range(9)], range(9)))

players = [sb.Group("g", [provider("a"), provider("b")]), provider("c")]
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=40), "stay": rng.normal(size=40)})
    frame["site"] = np.repeat(["01", "NA", "x", "y"], 10)
    frame["region"] = np.repeat(["1", "1", "", "2"], 10)
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame[:20].to_csv(tmp_path / "coast.csv", index=False)
    frame[20:30].to_csv(tmp_path / "alone.csv", index=False)
    (tmp_path / "my_groups.py").write_text(CODE)
    return tmp_path


def planned(text, folder):
    return Config.parse(text).build(folder).arguments


def test_tables_with_the_same_group_are_one_group(folder):
    plan = planned(TABLES, folder)
    assert plan.names == ("01", "NA", "late", "alone")
    assert plan.grouping.names == ("=coast",)
    assert plan.grouping.members == ((0, 1, 2),)
    assert plan.solver == sb.Exact()


def test_a_column_names_the_groups_as_written(folder):
    plan = planned(COLUMN, folder)
    assert plan.names == ("01", "NA", "y", "x")
    assert plan.grouping.labels(4) == ["1", "1", "2", ""]
    assert plan.providers[0].source.schema.columns == ("age",)


def test_objects_may_be_groups_of_providers(folder):
    assert planned(OBJECT, folder).grouping.labels(3) == ["g", "g", ""]
    with pytest.raises(InvalidInput, match=r"^providers: group 'out': .* cannot be nested"):
        planned(OBJECT.replace("source", 'group = "out"\nsource'), folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            COLUMN.replace("[[providers]]", '[[providers]]\ngroup = "g"'),
            r"^providers\[0\]\.group: must be left out: the column source\.group has the groups",
        ),
        (
            COLUMN.replace('by = "site", ', "").replace(
                "[[providers]]", '[[providers]]\nname = "n"'
            ),
            r"^providers\[0\]\.source\.group: must be left out without source\.by",
        ),
        (TABLES.replace("group =", "gruop ="), r"^providers\[0\]\.gruop: .* did you mean group\?"),
        (TABLES.replace('"=coast"', '""'), r"^providers\[0\]\.group: must have at least 1"),
        (TABLES.replace('"=coast"', "3"), r"^providers\[0\]\.group: must be a string"),
        (
            COLUMN.replace('"region"', '"ward"'),
            r"^providers\[0\]\.source\.group: .*all.csv has no column 'ward'",
        ),
        (
            COLUMN.replace('"region"', '"stay"'),
            r"^providers\[0\]\.source\.group: must not be the column of the targets",
        ),
        (TABLES.replace('"=coast"', '"alone"'), "^providers: a provider and a group are named"),
        (
            TABLES + 'solver = { kind = "balanced", n_iter = 8 }',
            r"^providers\[2\]\.solver",  # a key of the last table
        ),
        (
            'solver = { kind = "balanced", n_iter = 8 }' + TABLES,
            "^solver: BalancedPermutation: .* use Permutation or Exact",
        ),
    ],
)
def test_errors_name_the_key(folder, text, message):
    with pytest.raises(InvalidInput, match=message):
        planned(text, folder)


def called(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands_show_and_export_groups(folder):
    (folder / "run.toml").write_text(TABLES)
    called("run", folder / "run.toml", "--out", folder / "run", "--quiet")
    shown = called("show", folder / "run")
    assert "4 providers, 3 of them in 1 group, 12 games" in shown
    assert "\n  late " in shown
    document = json.loads(called("show", folder / "run", "--json"))
    (row,) = document["groups"]
    assert (row["group"], row["providers"]) == ("=coast", 3)
    whole = sb.Valuation.from_json(called("export", folder / "run", "--format", "valuation"))
    assert row["expectation"] == whole.groups.expectation[0]
    assert whole.groups.members == {"=coast": ("01", "NA", "late")}
    rows = json.loads(called("export", folder / "run", "--format", "json"))
    assert [row["group"] for row in rows] == ["=coast"] * 3 + [None]
    table = csv.DictReader(io.StringIO(called("export", folder / "run", "--format", "csv")))
    # A spreadsheet must not take the name for a formula.
    assert [row["group"] for row in table] == ["'=coast"] * 3 + [""]
    called("verify", folder / "run")
    called("resume", folder / "run")
