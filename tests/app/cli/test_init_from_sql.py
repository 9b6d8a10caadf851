"""`shapband init --from` writes a configuration for the tables of a database."""

import datetime

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from tests.app.cli.test_cli import called, refused
from tests.postgres import PASSWORD

import shapband as sb
from shapband.app.config.config import Config
from shapband.app.config.found_sql import find


def visits(seed=0, n=60):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": np.arange(n) * 3, "age": rng.normal(size=n)})
    frame['dose "x"; --'] = rng.normal(size=n)
    frame["ward"] = rng.choice(["a", "b"], n)
    frame["gaps"] = np.where(rng.random(n) < 0.2, np.nan, 1.0)
    frame["seen"] = [datetime.date(2024, 1, 1)] * n
    return frame.assign(outcome=frame["age"] + rng.normal(size=n))


def filled(place, tables, primary=()):
    """Write frames to the tables of a database."""
    if place.startswith("duckdb"):
        import duckdb

        with duckdb.connect(place.removeprefix("duckdb:///")) as link:
            for name, frame in tables.items():
                link.register("frame", frame)
                link.execute(f'CREATE TABLE "{name}" AS SELECT * FROM frame')  # noqa: S608
        return place
    engine = sa.create_engine(place.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as link:
        for name, frame in tables.items():
            link.execute(sa.text(f'DROP TABLE IF EXISTS "{name}"'))
            frame.to_sql(name, link, index=False)
        for name, key in primary:
            link.execute(sa.text(f'ALTER TABLE "{name}" ADD PRIMARY KEY ("{key}")'))
    engine.dispose()
    return place


def made(tmp_path, *options):
    result = called("init", tmp_path / "run.toml", *options)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "run.toml").read_text()
    return text, Config.parse(text).build(tmp_path).arguments


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_with_validation_rows_runs_as_it_is(kind, tmp_path):
    frame = visits(0, 80).assign(site=np.repeat(["north", "south"], [50, 30]))
    tables = {"visits": frame, "validation": visits(1, 40), "log": frame[["seen"]]}
    url = filled(f"{kind}:///{tmp_path}/clinic.db", tables)
    text, given = made(tmp_path, "--from", url)
    assert f'url = "{kind}:///clinic.db"' in text
    assert "the table visits (not used: log), providers by site" in text
    assert [(one.name, one.source.size) for one in given.providers] == [
        ("north", 50),
        ("south", 30),
    ]
    assert given.providers[0].source.schema.columns == ("age", 'dose "x"; --')
    assert "40 validation rows" in repr(given.utility)
    assert "numbers without gaps in all tables: ward, gaps, seen" in text
    result = called("run", tmp_path / "run.toml", "--out", tmp_path / "run", "--quiet")
    assert result.exit_code == 0, result.output
    found = sb.load(tmp_path / "run").valuation
    # The same rows as arrays give the same bits.
    columns, check = ["age", 'dose "x"; --'], visits(1, 40)
    arrays = [
        sb.Provider(name, sb.ArraySource(rows[columns], rows["outcome"]))
        for name, rows in frame.groupby("site")
    ]
    direct = sb.value(
        arrays, sb.LinearUtility(check[columns], check["outcome"]), sampling=given.sampling,
        n_games=200, seed=0,
    )  # fmt: skip
    np.testing.assert_array_equal(found.games, direct.games)


def test_tables_with_the_same_columns_are_providers(tmp_path):
    tables = {name: visits(seed) for seed, name in enumerate(("north", "south", "we.st"))}
    url = filled(f"sqlite:///{tmp_path}/clinic.db", tables)
    result = called("init", tmp_path / "run.toml", "--from", url)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "run.toml").read_text()
    assert "the tables north, south (not used: we.st)" in result.output
    assert "Before it runs, name a file of validation rows that no provider has" in text
    visits(9).to_csv(tmp_path / "validation.csv", index=False)
    given = Config.parse(text).build(tmp_path).arguments
    assert [one.name for one in given.providers] == ["north", "south"]


def test_passwords_of_postgresql_stay_out_of_the_file(tmp_path, postgres, monkeypatch):
    frame = visits(0, 80).rename(columns={"id": "number"}).assign(outcome=lambda one: one.age > 0)
    url = filled(postgres, {"found_visits": frame}, [("found_visits", "number")])
    result = called("init", tmp_path / "run.toml", "--from", url, "--target", "outcome")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "run.toml").read_text()
    assert PASSWORD in url
    assert PASSWORD not in text + result.output
    assert 'url = { env = "DATABASE_URL" }' in text
    assert "set DATABASE_URL in the environment" in text
    assert 'key = "number"' in text
    assert 'kind = "logistic"' in text
    monkeypatch.setenv("DATABASE_URL", url)
    visits(9).assign(outcome=lambda one: one.age > 0).to_csv(
        tmp_path / "validation.csv", index=False
    )
    given = Config.parse(text).build(tmp_path).arguments
    assert given.providers[0].source.size == 80


def test_a_server_that_cannot_be_reached_is_an_error_of_the_database(tmp_path):
    address = "postgresql://reader@127.0.0.1:1/db"
    line = refused("init", tmp_path / "run.toml", "--from", address)
    assert line.startswith(f"error: --from {address}: the database failed (OperationalError: ")


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["plain", "debug"])
@pytest.mark.parametrize("password", ["P@ssw0rd", "P@ssw0rd/w0rd", "P/ssw0rd", "P?ssw0rd"])
def test_an_address_that_is_split_inside_its_password_is_not_shown(
    tmp_path, monkeypatch, password, debug
):
    monkeypatch.setattr("shapband.secrets._revealed", set())
    address = f"postgresql://reader:{password}@127.0.0.1:1/db"
    result = called("init", tmp_path / "run.toml", "--from", address, *debug)
    assert result.exit_code == 1
    assert "url must have a single '@'" in result.stderr
    assert "w0rd" not in result.output
    assert not (tmp_path / "run.toml").exists()


@pytest.mark.parametrize(
    ("frame", "key"),
    [
        (
            pd.DataFrame({"a": [1, 1, 2], "patient_id": ["x", "y", "z"], "y": [1.0, 2, 3]}),
            "patient_id",
        ),
        (pd.DataFrame({"a": [1, 1, 2], "b": [3, 1, 2], "y": [1.0, 2, 3]}), "b"),
        (pd.DataFrame({"id": [1, None, 2], "b": [3, 1, 2], "y": [1.0, 2, 3]}), "b"),
        (pd.DataFrame({"id": [1, 1, 2], "key": [3, 1, 2], "y": [1.0, 2, 3]}), "key"),
    ],
)
def test_a_key_is_found(tmp_path, frame, key):
    url = filled(f"sqlite:///{tmp_path}/clinic.db", {"visits": frame})
    found = find(url, None, tmp_path)
    assert [table["source"]["key"] for table, _ in found.tables] == [key]
    assert found.target == "y"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite:///{folder}/nix.db", "nix.db, which does not exist"),
        ("sqlite:///{folder}/empty.db", "there is no table with rows and a key"),
        ("sqlite:///{folder}/keyless.db", "in every row: doubles has none"),
        ("mysql://reader:hunter2-8831@host/clinic", "driver of mysql"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_writes_no_file(url, message, tmp_path):
    filled(f"sqlite:///{tmp_path}/empty.db", {})
    filled(f"sqlite:///{tmp_path}/keyless.db", {"doubles": pd.DataFrame({"a": [1, 1]})})
    (tmp_path / "empty.db").touch()
    line = refused("init", tmp_path / "run.toml", "--from", url.format(folder=tmp_path))
    assert message in line
    assert "hunter2" not in line
    assert not (tmp_path / "run.toml").exists()


def test_an_unknown_target_names_the_nearest_column(tmp_path):
    url = filled(f"sqlite:///{tmp_path}/clinic.db", {"visits": visits()})
    line = refused("init", tmp_path / "run.toml", "--from", url, "--target", "outcom")
    assert "did you mean outcome?" in line
