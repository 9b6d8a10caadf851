"""Databases, tables and arguments that cannot be used: what the errors say, and what is kept."""

import sqlite3
import threading
import traceback

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from tests.databases import fill, run
from tests.postgres import PASSWORD

import shapband as sb
from shapband.errors import InvalidInput, SourceError, TemporaryFailure

VISITS = pd.DataFrame(
    {"id": range(1, 21), "age": np.linspace(20, 80, 20), "cost": np.linspace(1, 9, 20)}
)
GIVEN = {"table": "visits", "key": "id", "target": "cost"}


@pytest.fixture
def url(tmp_path):
    address = f"sqlite:///{tmp_path}/clinic.db"
    fill(address, "visits", VISITS, "id")
    return address


@pytest.fixture
def served(postgres):
    run(postgres, "DROP TABLE IF EXISTS visits CASCADE")
    fill(postgres, "visits", VISITS, "id")
    return postgres


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "ID_"}, "key='ID_' is not a column; known are id, age, cost"),
        ({"target": "cots"}, "target='cots' is not a column; did you mean cost"),
        ({"features": ["agee"]}, "features='agee' is not a column; did you mean age"),
        ({"features": "age"}, "features must be a list of columns; received 'age'"),
        ({"features": []}, "features must be different columns, at least one"),
        ({"features": ["age", "age"]}, "features must be different columns"),
        ({"features": ["age", "cost"]}, "features must not hold the target 'cost'"),
        ({"table": "visit"}, "table='visit' is not in the database; did you mean visits"),
        ({"table": "main.visit"}, "table='main.visit' is not in the database; did you mean visits"),
        ({"table": None}, "either table or query must be given; received neither"),
        ({"query": "SELECT 1"}, "either table or query must be given; received both"),
        ({"table": None, "query": "SELECT nope"}, "query cannot be run: .*no such column: nope"),
        ({"table": None, "query": " "}, "query must not be empty"),
        ({"table": None, "query": "DELETE FROM visits"}, "query cannot be run"),
        ({"table": 3}, "table must be a string; received int"),
        ({"target": "id"}, "key and target are both 'id'; they must differ"),
        ({"concurrent": 0}, "concurrent must be a whole number of at least 1"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"version_column": "changed"}, "version_column='changed' is not a column"),
    ],
)
def test_wrong_arguments_are_named(url, change, message):
    with pytest.raises(InvalidInput, match=f"SQLSource: {message}|{message}"):
        sb.SQLSource(url, **{**GIVEN, **change})


def test_a_schema_that_is_not_there_is_an_error_of_the_database(url):
    with pytest.raises(SourceError, match=r"the database failed \(.*nowhere"):
        sb.SQLSource(url, **{**GIVEN, "table": "nowhere.visits"})


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("clinic.db", "url must be a URL such as sqlite:///clinic.db"),
        (3, "url must be a URL .*; received a int"),
        ("sqlite://", "url names a database in memory"),
        ("duckdb:///:memory:", "pass the connection that holds the records"),
        ("sqlite:///nowhere.db", "url names the file nowhere.db, which does not exist"),
        ("duckdb:///nowhere.duckdb", "url names the file nowhere.duckdb"),
        ("sqlight:///a.db", "unknown database 'sqlight'; did you mean sqlite"),
    ],
)
def test_wrong_addresses_are_named(address, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=message):
        sb.SQLSource(address, **GIVEN)
    assert list(tmp_path.iterdir()) == []  # SQLite would create an empty file


# The parts of a password that a driver would take for a host, a port or a database.
WRONGLY_SPLIT = (
    "postgresql://reader:P@ssw0rd@127.0.0.1:1/db",
    "postgresql://reader:P@ss@w0rd@127.0.0.1:1/db",
    "postgresql://reader:P@ssw0rd/w0rd@127.0.0.1:1/db",
    "postgresql://reader:P/ssw0rd@127.0.0.1:1/db",
    "postgresql://reader:P?ssw0rd@127.0.0.1:1/db",
    "postgresql://reader:P#ssw0rd@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?password=P@ssw0rd",
    "mysql+pymysql://reader:P@ssw0rd@127.0.0.1:1/db",
    "reader:P@ssw0rd@127.0.0.1:1/db",
    "reader:ssw0rd@127.0.0.1:1/db",
)


@pytest.mark.parametrize("address", WRONGLY_SPLIT)
def test_an_address_that_would_be_split_inside_its_password_is_refused_and_not_shown(address):
    with pytest.raises(InvalidInput, match=r"url must have a single '@'.*'@' as %40") as raised:
        sb.SQLSource(address, **GIVEN)
    trace = "".join(traceback.format_exception(raised.value)[2:])
    assert not [part for part in ("ss@", "w0rd", "127.0.0.1") if part in trace]


@pytest.mark.parametrize("address", WRONGLY_SPLIT[:1])
@pytest.mark.parametrize("make", [sa.make_url, sa.create_engine], ids=["URL", "engine"])
def test_a_url_that_was_split_inside_its_password_is_refused(address, make):
    place = make(address.replace("postgresql:", "postgresql+psycopg:"))
    assert "ssw0rd" in (getattr(place, "url", place).host)
    with pytest.raises(InvalidInput, match="url must have a single '@'") as raised:
        sb.SQLSource(place, **GIVEN)
    assert "w0rd" not in str(raised.value)


def test_an_escaped_password_is_understood(served):
    run(served, "DROP ROLE IF EXISTS escaped")
    run(served, "CREATE ROLE escaped LOGIN PASSWORD 'P@ss/w0rd?#'")
    run(served, "GRANT SELECT ON visits TO escaped")
    address = served.replace(f"boss:{PASSWORD}", "escaped:P%40ss%2Fw0rd%3F%23")
    assert sb.SQLSource(address, **GIVEN).size == 20


def test_a_file_may_have_an_at_in_its_path(tmp_path):
    (tmp_path / "me@a@b").mkdir()
    address = f"sqlite:///{tmp_path}/me@a@b/clinic.db"
    fill(address, "visits", VISITS, "id")
    assert sb.SQLSource(address, **GIVEN).size == 20


@pytest.mark.parametrize("place", ["", "reader@", "reader:ssw0rd@"])
def test_a_port_that_is_no_number_is_refused_and_not_shown(place):
    with pytest.raises(InvalidInput, match="url must have a number as its port") as raised:
        sb.SQLSource(f"postgresql://{place}:w0rd/db", **GIVEN)
    assert "w0rd" not in "".join(traceback.format_exception(raised.value)[2:])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1, 2, 2, 4], "2 occurs more than once"),
        ([1, 1, 3, 3], "more than once"),  # as many as from 1 to 3, and one
        ([1, 1, 3], "1 occurs more than once"),  # as many as from 1 to 3
        ([1, None, 3], "key='id' is NULL in 1 of 3 rows"),
        ([1, 1.5, 3], "key='id' must hold integers or strings, and not both; received float"),
        ([1, "a", 3], "must hold integers or strings, and not both; received int and str"),
        (["a", "a"], "'a' occurs more than once"),
        ([], "there are no rows"),
    ],
)
def test_keys_that_cannot_number_the_rows(tmp_path, keys, message):
    address = f"sqlite:///{tmp_path}/clinic.db"
    run(address, "CREATE TABLE visits (id, age, cost)")
    for key in keys:
        run(address, "INSERT INTO visits VALUES (?, 1, 2)", [key])
    with pytest.raises(InvalidInput, match=message):
        sb.SQLSource(address, **GIVEN)


def value(source, **options):
    utility = sb.LinearUtility(np.array([[30.0], [60.0], [70.0]]), np.array([2.0, 6.0, 7.0]))
    settings = {"sampling": sb.Fresh(4), "n_games": 30, "seed": 0, **options}
    return sb.value([sb.Provider("north", source)], utility, **settings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE visits SET age = 'old' WHERE id = 7", "'age' holds numbers .* 'old'.* key 7"),
        ("UPDATE visits SET cost = NULL WHERE id = 7", "target='cost' is NULL .* key 7"),
        ("UPDATE visits SET age = NULL WHERE id = 7", "column 'age' holds missing"),
        ("UPDATE visits SET age = 9e999 WHERE id = 7", "column 'age' holds infinite values"),
        ("DELETE FROM visits WHERE id = 7", "the row with id 7 is gone: begin a new run"),
        ("DROP TABLE visits", "no such table"),
        ("ALTER TABLE visits RENAME COLUMN age TO years", "no such column"),
    ],
)
def test_a_table_that_changes_while_it_is_read(url, change, message):
    source = sb.SQLSource(url, **GIVEN)
    assert np.isfinite(value(source).expectation).all()
    run(url, change)
    with pytest.raises(sb.errors.ShapbandError, match=f"(provider 'north': )?.*{message}"):
        value(source)


def test_numbers_among_strings_are_named(url):
    run(url, "CREATE TABLE wards (id INTEGER PRIMARY KEY, ward, cost)")
    run(url, "INSERT INTO wards VALUES (1, 'a', 1.0), (2, 'b', 2.0)")
    source = sb.SQLSource(url, **{**GIVEN, "table": "wards"})
    run(url, "UPDATE wards SET ward = 3 WHERE id = 2")
    with pytest.raises(InvalidInput, match="'ward' holds strings in its first rows, but 3, which"):
        source.take(np.array([1, 0]))


def test_columns_of_the_same_name_are_refused(served):
    query = "SELECT id, age, age, cost FROM visits"
    with pytest.raises(InvalidInput, match="query returns the column 'age' twice: rename one"):
        sb.SQLSource(served, query=query, key="id", target="cost")


def test_dates_are_refused_with_a_remedy(served):
    query = "SELECT id, now() AS day, cost FROM visits"
    with pytest.raises(InvalidInput, match="column 'day' holds dates"):
        sb.SQLSource(served, query=query, key="id", target="cost")


def test_the_version_changes_with_the_rows(url):
    run(url, "ALTER TABLE visits ADD COLUMN changed REAL DEFAULT 1")

    def version(**options):
        return sb.SQLSource(url, **GIVEN, **options).version

    first, dated = version(), version(version_column="changed")
    assert version() == first
    run(url, "UPDATE visits SET age = 99, changed = 2 WHERE id = 3")
    assert version() == first  # unnoticed, as the documentation says
    assert version(version_column="changed") != dated
    run(url, "DELETE FROM visits WHERE id = 20")
    shorter = version()
    run(url, "UPDATE visits SET id = 30 WHERE id = 4")
    assert len({first, shorter, version()}) == 3


def test_a_resumed_run_notices_other_rows(url, tmp_path):
    budget = sb.Budget(requests=10)
    value(sb.SQLSource(url, **GIVEN), run=tmp_path / "run", budget=budget)
    value(sb.SQLSource(url, **GIVEN), run=tmp_path / "run", budget=budget)
    run(url, "DELETE FROM visits WHERE id = 20")
    with pytest.raises(sb.errors.ShapbandError, match="north"):
        value(sb.SQLSource(url, **GIVEN), run=tmp_path / "run", budget=budget)


def test_connections_of_sqlite_cannot_write(url):
    source = sb.SQLSource(url, **GIVEN)
    database = source._relation.database
    statement = database.compile(sa.text("DELETE FROM visits"))
    with pytest.raises(SourceError, match="readonly"):
        database.run(statement)


def test_connections_of_postgres_cannot_write(served):
    database = sb.SQLSource(served, **GIVEN)._relation.database
    with pytest.raises(SourceError, match="read-only transaction"):
        database.run(database.compile(sa.text("DELETE FROM visits")))


def test_a_locked_database_may_pass(url):
    source = sb.SQLSource(url, **GIVEN, timeout=0.1)
    rows = np.arange(3)
    before = source.take(rows)
    blocker = sqlite3.connect(url.removeprefix("sqlite:///"))
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TemporaryFailure, match="locked"):
        source.take(rows)
    blocker.rollback()
    blocker.close()
    assert np.array_equal(source.take(rows).y, before.y)


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


def test_an_endless_statement_ends_in_sqlite(url):
    database = sb.SQLSource(url, **GIVEN, timeout=0.2)._relation.database
    with pytest.raises(TemporaryFailure, match="interrupted"):
        database.run(database.compile(sa.text(ENDLESS)))


def test_an_endless_statement_ends_in_postgres(served):
    database = sb.SQLSource(served, **GIVEN, timeout=0.2)._relation.database
    with pytest.raises(TemporaryFailure, match="statement timeout"):
        database.run(database.compile(sa.text("SELECT pg_sleep(60)")))


def test_an_endless_statement_ends_in_duckdb(tmp_path):
    address = f"duckdb:///{tmp_path}/clinic.duckdb"
    fill(address, "visits", VISITS)
    database = sb.SQLSource(address, **GIVEN, timeout=0.3)._relation.database
    endless = "SELECT count(*) FROM range(100000) a, range(100000) b, range(100000) c"
    with pytest.raises(TemporaryFailure, match=r"(?i)interrupt"):
        database.run(database.compile(sa.text(f"{endless} WHERE a.range + b.range < c.range")))


def test_a_lost_connection_may_pass_and_is_replaced(served):
    source = sb.SQLSource(served, **GIVEN)
    before = source.take(np.arange(5))
    ended = run(
        served,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'",
    )
    assert ended
    failures = []
    for _ in range(len(ended) + 1):
        try:
            after = source.take(np.arange(5))
        except TemporaryFailure as error:
            failures.append(str(error))
    assert len(failures) == len(ended)
    assert not any(PASSWORD in shown for shown in failures)
    assert np.array_equal(after.y, before.y)


def test_a_deadlock_and_a_serialization_failure_may_pass(served):
    from psycopg import errors

    from shapband.sources.sql.failures import failure_of

    temporary = (errors.SerializationFailure, errors.DeadlockDetected, errors.AdminShutdown)
    assert all(type(failure_of(kind("x"))) is TemporaryFailure for kind in temporary)
    lasting = (errors.UndefinedTable, errors.InsufficientPrivilege, errors.SyntaxError)
    assert all(type(failure_of(kind("x"))) is SourceError for kind in lasting)


@pytest.mark.parametrize("where", ["database", "user", "host"])
def test_the_password_never_shows(served, where, capsys, tmp_path):
    source = sb.SQLSource(served, **GIVEN)
    assert PASSWORD not in repr(source) + str(source.version)
    wrong = {
        "database": served.replace("/postgres?", "/nowhere?"),
        "user": served.replace("boss", "nobody"),
        "host": served.replace("host=", "host=/nowhere"),
    }[where]
    with pytest.raises(TemporaryFailure) as raised:
        sb.SQLSource(wrong, **GIVEN)
    shown = str(raised.value) + repr(raised.value)
    assert PASSWORD not in shown
    assert where in shown or "nobody" in shown or "nowhere" in shown


def test_the_password_is_in_no_file_of_a_run(served, tmp_path):
    source = sb.SQLSource(served, **GIVEN)
    run(served, "UPDATE visits SET cost = NULL WHERE id = 7")
    with pytest.raises(SourceError, match=r"provider 'north'.*is NULL"):
        value(source, run=tmp_path / "run")
    held = [path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert held
    assert not any(PASSWORD.encode() in content for content in held)


def test_a_role_without_rights_is_named(served):
    for statement in ("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN PASSWORD 'a-reader'"):
        run(served, statement)
    address = served.replace(f"boss:{PASSWORD}", "reader:a-reader")
    with pytest.raises(InvalidInput, match=r"table cannot be read: .*permission denied"):
        sb.SQLSource(address, **GIVEN)
    run(served, "GRANT SELECT ON visits TO reader")
    assert sb.SQLSource(address, **GIVEN).size == 20


def test_a_failed_thread_does_not_keep_its_connection(url):
    source = sb.SQLSource(url, **GIVEN, concurrent=8)
    run(url, "DELETE FROM visits WHERE id = 7")
    errors = []

    def ask():
        try:
            source.take(np.array([6]))
        except SourceError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 40
    assert source.take(np.array([5])).y.shape == (1,)
