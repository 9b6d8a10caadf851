"""Providers in a database, by configuration."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.app.config.config import Config
from shapband.errors import InvalidInput

CONFIG = """
n_games = 6
seed = 0
sampling = {{ kind = "fresh", n_sample = 4 }}
[utility]
kind = "linear"
validation = {{ kind = "csv", path = "check.csv", target = "cost" }}
[[providers]]
{name}
[providers.source]
kind = "sql"
{source}
"""
SOURCE = 'url = "sqlite:///clinic.db"\ntable = "visits"\nkey = "id"\ntarget = "cost"\n'
EVIL = 'visits\\"; DROP TABLE visits; --'


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(i, "ab"[i % 2], *rng.normal(size=3)) for i in range(40)]
    with sqlite3.connect(tmp_path / "clinic.db") as clinic:
        clinic.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, site, age, dose, cost)")
        clinic.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
    clinic.close()
    lines = [",".join(map(str, row)) for row in rng.normal(size=(20, 3))]
    (tmp_path / "check.csv").write_text("\n".join(["age,dose,cost", *lines]))
    return tmp_path


def built(folder, source, name=""):
    return Config.parse(CONFIG.format(source=source, name=name)).build(folder).arguments


def test_a_column_names_the_providers(folder):
    given = built(folder, SOURCE + 'by = "site"')
    assert [provider.name for provider in given.providers] == ["a", "b"]
    assert [provider.source.size for provider in given.providers] == [20, 20]
    assert given.providers[0].source.schema.columns == ("age", "dose")


def test_a_table_belongs_to_a_named_provider(folder):
    source = SOURCE.replace('table = "visits"', "query = \"SELECT * FROM visits WHERE site = 'a'\"")
    given = built(folder, source + 'features = ["age", "dose"]', 'name = "north"')
    assert [(one.name, one.source.size) for one in given.providers] == [("north", 20)]


def test_the_address_is_read_from_the_environment(folder, monkeypatch):
    source = SOURCE.replace('"sqlite:///clinic.db"', '{ env = "CLINIC_URL" }') + 'by = "site"'
    with pytest.raises(InvalidInput, match=r"source.url: the environment variable CLINIC_URL"):
        built(folder, source)
    monkeypatch.setenv("CLINIC_URL", f"sqlite:///{folder}/clinic.db")
    assert len(built(folder, source).providers) == 2


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (SOURCE, "", r"providers\[0\].name: must be given, unless source.by names a column"),
        (SOURCE + 'by = "site"', 'name = "a"', "name: must be left out"),
        (SOURCE + 'query = "SELECT 1"', 'name = "a"', "either table or query must be given"),
        (SOURCE.replace("sqlite:///", "sqlite://me:hush-hush@host/"), "", "not hold a password"),
        (SOURCE.replace("sqlite:///", "pg://me:P@hush-hush@host/"), "", "not hold a password"),
        (SOURCE.replace("sqlite:///", "pg://me:a hush-hush@host/"), "", "not hold a password"),
        (SOURCE.replace('"sqlite:///clinic.db"', "3"), "", 'url: must be a string or { env = "N'),
        (SOURCE.replace('"sqlite:///clinic.db"', "{ ENV = 'A' }"), "", "received a table"),
        (SOURCE.replace('"id"', '"ip"'), 'name = "a"', "source: SQLSource: key='ip' is not a col"),
        (SOURCE.replace("clinic", "none"), 'name = "a"', "none.db, which does not exist"),
        (SOURCE.replace('"visits"', f'"{EVIL}"'), 'name = "a"', "is not in the database"),
        (SOURCE.replace('"id"', f'"{EVIL}"'), 'name = "a"', "key=.* is not a column"),
        (SOURCE.replace('"cost"', f'"{EVIL}"'), 'name = "a"', "target=.* is not a column"),
        (SOURCE + f'by = "{EVIL}"', "", "by=.* is not a column"),
        (SOURCE + f'features = ["{EVIL}"]', 'name = "a"', "features=.* is not a column"),
        (SOURCE + f'version_column = "{EVIL}"', 'name = "a"', "version_column=.* is not a column"),
    ],
)
def test_wrong_settings_are_named_and_harm_nothing(folder, source, name, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        built(folder, source, name)
    assert "hush-hush" not in str(raised.value)
    assert len(built(folder, SOURCE + 'by = "site"').providers) == 2


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["plain", "debug"])
def test_an_address_that_is_split_inside_its_password_is_not_shown(folder, monkeypatch, debug):
    monkeypatch.setenv("CLINIC_URL", "postgresql://reader:P@ssw0rd@127.0.0.1:1/db")
    source = SOURCE.replace('"sqlite:///clinic.db"', '{ env = "CLINIC_URL" }') + 'by = "site"'
    file = folder / "shapband.toml"
    file.write_text(CONFIG.format(source=source, name=""))
    result = CliRunner().invoke(app, ["run", str(file), "--out", str(folder / "run"), *debug])
    assert result.exit_code == 1
    assert "source: SQLSource: url must have a single '@'" in result.stderr
    assert "w0rd" not in result.output


def test_a_run_asks_the_database_and_is_resumed(folder, monkeypatch):
    monkeypatch.setenv("CLINIC_URL", f"sqlite:///{folder}/clinic.db")
    source = SOURCE.replace('"sqlite:///clinic.db"', '{ env = "CLINIC_URL" }') + 'by = "site"'
    file = folder / "shapband.toml"
    file.write_text(CONFIG.format(source=source, name=""))
    call = CliRunner().invoke
    done = call(app, ["run", str(file), "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    again = call(app, ["resume", str(folder / "run")])
    assert again.exit_code == 0, again.output
    direct = Config.read(file)
    assert direct.objects == ["the database CLINIC_URL"]
    held = [path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()]
    assert not any(f"{folder}/clinic.db".encode() in content for content in held)
    assert sb.load(folder / "run").valuation.access.requests == 12


def grouped(folder, groups):
    """Give each row a region, by its site."""
    with sqlite3.connect(folder / "clinic.db") as clinic:
        clinic.execute("ALTER TABLE visits ADD COLUMN region")
        clinic.execute("UPDATE visits SET site = site || (id % 4 / 2)")
        for where, region in groups:
            clinic.execute(f"UPDATE visits SET region = ? WHERE {where}", [region])  # noqa: S608
    clinic.close()


def test_a_column_names_the_groups(folder):
    grouped(folder, [("site LIKE 'a%'", "coast"), ("site = 'b1'", 7)])
    given = built(folder, SOURCE + 'by = "site"\ngroup = "region"')
    assert given.grouping.names == ("7", "coast")
    assert given.grouping.labels(4) == ["7", "", "coast", "coast"]
    assert given.names == ("b1", "b0", "a0", "a1")
    assert given.providers[0].source.schema.columns == ("age", "dose")
    # The same groups as of a data frame.
    with sqlite3.connect(folder / "clinic.db") as clinic:
        frame = pd.read_sql("SELECT * FROM visits ORDER BY id", clinic).drop(columns="id")
    clinic.close()
    frame["region"] = frame["region"].map(lambda one: None if one is None else str(one))
    players = sb.providers_from_frame(frame, "site", "cost", group="region")
    alike = sb.value(players, given.utility, sampling=given.sampling, n_games=given.n_games, seed=0)
    found = sb.value(
        sb.providers_from_sql(
            f"sqlite:///{folder}/clinic.db", "visits", by="site", key="id", target="cost",
            group="region",
        ),
        given.utility, sampling=given.sampling, n_games=given.n_games, seed=0,
    )  # fmt: skip
    assert found.names == alike.names
    np.testing.assert_array_equal(found.games, alike.games)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([("id = 0", "coast")], "must have the same value in the column group='region'.*NULL and"),
        ([("site LIKE 'a%'", 7), ("site LIKE 'b%'", "7")], "may be the same or two"),
        ([("site = 'a0'", "")], "is an empty string in rows of provider 'a0'"),
        ([("site LIKE 'a%'", "b0")], "'b0'"),
    ],
)
def test_groups_that_cannot_be_told_apart_are_an_error(folder, groups, message):
    grouped(folder, groups)
    with pytest.raises(InvalidInput, match=message):
        built(folder, SOURCE + 'by = "site"\ngroup = "region"')


def test_groups_need_names_of_providers(folder):
    with pytest.raises(InvalidInput, match="group: needs by"):
        built(folder, SOURCE + 'group = "site"', 'name = "north"')
    with pytest.raises(InvalidInput, match="by and group are both 'site'"):
        built(folder, SOURCE + 'by = "site"\ngroup = "site"')


def test_validation_rows_may_be_in_the_database(folder):
    text = CONFIG.format(source=SOURCE + 'by = "site"', name="")
    there = text.replace(
        '{ kind = "csv", path = "check.csv", target = "cost" }',
        '{ kind = "sql", url = "sqlite:///clinic.db", table = "visits", key = "id", '
        'target = "cost", features = ["age", "dose"] }',
    )
    assert there != text
    config = Config.parse(there)
    assert "40 validation rows" in repr(config.build(folder).arguments.utility)
    assert config.objects == ["the database sqlite:///clinic.db"] * 2
    wrong = there.replace('features = ["age", "dose"] }', 'by = "site" }')
    with pytest.raises(InvalidInput, match="by: must be left out"):
        Config.parse(wrong).build(folder)
