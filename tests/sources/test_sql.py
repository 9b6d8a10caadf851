"""Records in SQLite, PostgreSQL, DuckDB and, through SQLAlchemy, in any other database."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from tests.databases import COLLATED, fill, let_sqlite_be_another, quoted, run

import shapband as sb
from shapband.sources.sql import databases, keys

KINDS = ("sqlite", "postgresql", "duckdb", "other")
KEYS = {
    "dense": lambda rng, n: rng.permutation(n) + 7,
    "gaps": lambda rng, n: rng.choice(10**15, n, replace=False) - 10**14,
    "strings": lambda rng, n: [f"{'Zaé_ß'[i % 5]}{i}'\"%:" for i in rng.permutation(n)],
}


@pytest.fixture
def place(request, tmp_path):
    """Return a function that stores a frame as a table, and gives the address for SQLSource."""

    def store(frame, table="visits", key=None, kind="sqlite"):
        if kind == "postgresql":
            url = request.getfixturevalue("postgres")
            run(url, f"DROP TABLE IF EXISTS {quoted(table)} CASCADE".replace("%", "%%"))
        else:
            scheme = "duckdb" if kind == "duckdb" else "sqlite"
            url = f"{scheme}:///{tmp_path / 'clinic'}.{scheme}"
        fill(url, table, frame, key)
        return url

    return store


@pytest.fixture
def other(monkeypatch):
    let_sqlite_be_another(monkeypatch)


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param == "other":
        request.getfixturevalue("other")
    return request.param


def visits(n=50, keyed="dense", seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "cost"])
    frame.insert(0, "id", KEYS[keyed](rng, n))
    return frame


def arrays(frame, **options):
    ordered = frame.sort_values("id")  # pandas sorts strings by code points too
    return sb.ArraySource(ordered[["age", "dose"]].to_numpy(), ordered["cost"], **options)


@pytest.mark.parametrize("keyed", KEYS)
def test_rows_are_those_of_the_frame_sorted_by_key(kind, place, keyed):
    frame = visits(keyed=keyed)
    url = place(frame, key="id", kind=kind)
    source = sb.SQLSource(url, table="visits", key="id", target="cost")
    rows = np.array([3, 49, 0, 3, 17])
    drawn, expected = source.take(rows), arrays(frame).take(rows)
    assert source.size == 50
    assert list(drawn.X.columns) == ["age", "dose"]
    assert np.array_equal(drawn.X.to_numpy(), expected.X)
    assert np.array_equal(drawn.y, expected.y)


def test_sources_keep_the_rules_of_sources(kind, place):
    url = place(visits(keyed="gaps"), key="id", kind=kind)
    sb.testing.check_source(sb.SQLSource(url, table="visits", key="id", target="cost"))


@pytest.mark.parametrize(("replace", "concurrent"), [(False, 1), (True, 8)])
def test_a_valuation_has_the_bits_of_arrays(kind, place, replace, concurrent):
    frames = {name: visits(40, keyed, seed) for seed, (name, keyed) in enumerate(
        {"north": "dense", "south": "gaps", "east": "strings"}.items())}  # fmt: skip
    check = visits(30, seed=9)
    utility = sb.LinearUtility(check[["age", "dose"]].to_numpy(), check["cost"])
    common = {"sampling": sb.Fresh(8), "n_games": 12, "seed": 3}
    near = [sb.Provider(name, arrays(frame, replace=replace)) for name, frame in frames.items()]
    urls = {name: place(one, table=name, key="id", kind=kind) for name, one in frames.items()}
    settings = {"key": "id", "target": "cost", "replace": replace, "concurrent": concurrent}
    far = [
        sb.Provider(name, sb.SQLSource(url, table=name, **settings)) for name, url in urls.items()
    ]
    expected, found = sb.value(near, utility, **common), sb.value(far, utility, **common)
    assert np.array_equal(found.games, expected.games)
    assert found.access.records == expected.access.records
    other_seed = sb.value(far, utility, **{**common, "seed": 4})
    assert not np.array_equal(other_seed.games, expected.games)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_rows_stay_after_vacuum_and_updates_that_move_them(kind, place):
    frame = visits(keyed="gaps")
    url = place(frame, key="id", kind=kind)
    rows = np.arange(50)[::-1]
    before = sb.SQLSource(url, table="visits", key="id", target="cost").take(rows)
    run(url, "UPDATE visits SET dose = dose WHERE age > 0")
    run(url, "VACUUM FULL visits" if kind == "postgresql" else "VACUUM")
    after = sb.SQLSource(url, table="visits", key="id", target="cost").take(rows)
    assert before.X.equals(after.X)
    assert np.array_equal(before.y, after.y)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_marks_in_a_large_table_find_the_same_rows(kind, place, monkeypatch):
    frame = visits(3000, "gaps")
    url = place(frame, key="id", kind=kind)
    listed = sb.SQLSource(url, table="visits", key="id", target="cost")
    monkeypatch.setattr(keys, "MOST_KEYS", 100)
    marked = sb.SQLSource(url, table="visits", key="id", target="cost")
    rows = np.array([2999, 0, 1023, 1024, 1025, 2048, 2047, 1024])
    assert isinstance(marked._keys, keys.MarkedKeys)
    assert isinstance(listed._keys, keys.ListedKeys)
    assert np.array_equal(marked.take(rows).y, listed.take(rows).y)
    assert marked.version != listed.version


def test_a_query_takes_the_place_of_a_table(kind, place):
    frame = visits()
    url = place(frame, key="id", kind=kind)
    query = "SELECT id, age * 2 AS twice, cost, ':x %s ?' AS note FROM visits WHERE age > 0;"
    source = sb.SQLSource(url, query=query, key="id", target="cost")
    kept = frame[frame["age"] > 0].sort_values("id")
    drawn = source.take(np.arange(source.size))
    assert drawn.X["twice"].tolist() == (kept["age"] * 2).tolist()
    assert set(drawn.X["note"]) == {":x %s ?"}
    assert drawn.y.tolist() == kept["cost"].tolist()


@pytest.mark.parametrize("end", [" -- all of them", ";", " /* all of them */ ;\n"])
def test_a_query_may_end_in_a_comment(kind, place, end):
    url = place(visits(5), key="id", kind=kind)
    query = "SELECT id, age, cost FROM visits" + end  # noqa: S608
    assert sb.SQLSource(url, query=query, key="id", target="cost").take(np.arange(5)).y.size == 5


LIKE = ["a", "A", "a ", "á", "b", "AB", "aB"]  # strings that some collations take for each other


@pytest.mark.parametrize("column", COLLATED)
def test_keys_are_compared_exactly_whatever_the_collation(column, collated):
    url, kind = collated(column)
    run(url, f"CREATE TABLE visits (id {kind}, age FLOAT, cost FLOAT)")
    for cost, key in enumerate(LIKE):
        mark = "%s" if url.startswith("postgresql") else "?"
        run(url, f"INSERT INTO visits VALUES ({mark}, 1, {cost})", [key])  # noqa: S608
    source = sb.SQLSource(url, table="visits", key="id", target="cost")
    ordered = sorted(range(len(LIKE)), key=LIKE.__getitem__)
    rows = np.array([6, 0, 3, 3, 1, 2, 4, 5])
    assert source.take(rows).y.tolist() == [ordered[row] for row in rows]


def test_keys_and_features_of_a_padded_type_are_read_without_their_padding(place):
    url = place(visits(), kind="postgresql")
    run(url, "DROP TABLE IF EXISTS padded")
    run(
        url, "CREATE TABLE padded (id CHAR(4) PRIMARY KEY, ward CHAR(5), note VARCHAR(5), cost INT)"
    )
    run(
        url,
        "INSERT INTO padded VALUES ('b', 'x', 'y ', 1), ('a', NULL, 'y', 2), ('ab c', '', '', 3)",
    )
    source = sb.SQLSource(url, table="padded", key="id", target="cost")
    drawn = source.take(np.array([2, 0, 1, 0]))
    assert drawn.y.tolist() == [1.0, 2.0, 3.0, 2.0]
    assert drawn.X["ward"].fillna("none").tolist() == ["x", "none", "", "none"]
    assert drawn.X["note"].tolist() == ["y ", "y", "", "y"]  # only this type is padded
    run(url, "DELETE FROM padded WHERE id = 'a'")
    with pytest.raises(sb.errors.SourceError, match="the row with id 'a' is gone"):
        source.take(np.array([0]))


def test_types_that_were_created_in_postgresql_are_strings(place):
    url = place(visits(), kind="postgresql")
    run(url, "DROP TABLE IF EXISTS moods")
    run(url, "DROP TYPE IF EXISTS mood")
    run(url, "CREATE TYPE mood AS ENUM ('sad', 'fine', '')")
    run(url, "CREATE TABLE moods (id mood, was mood, cost FLOAT)")
    run(url, "INSERT INTO moods VALUES ('sad', 'fine', 1), ('fine', NULL, 2), ('', '', 3)")
    drawn = sb.SQLSource(url, table="moods", key="id", target="cost").take(np.array([2, 1, 0]))
    assert drawn.y.tolist() == [1.0, 2.0, 3.0]
    assert drawn.X["was"].fillna("none").tolist() == ["fine", "none", ""]


def test_several_draws_are_one_statement(kind, place, monkeypatch):
    url = place(visits(), key="id", kind=kind)
    source = sb.SQLSource(url, table="visits", key="id", target="cost")
    draws = [np.array([4, 4]), np.array([0]), np.array([9, 2, 7])]
    single = [source.take(draw) for draw in draws]
    database, asked = source._relation.database, []
    usual = database.run
    monkeypatch.setattr(database, "run", lambda *a, **k: asked.append(a) or usual(*a, **k))
    together = source.take_many(draws)
    assert len(asked) == 1
    for one, other in zip(single, together, strict=True):
        assert one.X.equals(other.X)
        assert np.array_equal(one.y, other.y)


def test_strings_booleans_and_nulls(kind, place):
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "ward": ["a", None, "c", "d"],
            "smoker": pd.array([True, False, None, True], dtype="boolean"),
            "stay": [1, 2, 3, 4],
            "result": ["good", "bad", "good", "bad"],
        }
    )
    url = place(frame, kind=kind)
    source = sb.SQLSource(url, table="visits", key="id", target="result")
    drawn = source.take(np.array([2, 1, 0]))
    assert drawn.X["ward"].isna().tolist() == [False, True, False]
    assert drawn.X["ward"].iloc[0] == "c"
    assert drawn.X["smoker"].tolist()[1:] == [0.0, 1.0]
    assert np.isnan(drawn.X["smoker"].iloc[0])
    assert drawn.X["stay"].tolist() == [3.0, 2.0, 1.0]
    assert drawn.y.tolist() == ["good", "bad", "good"]
    assert [str(one) for one in source.take(np.array([1])).X.dtypes] == [
        str(one) for one in drawn.X.dtypes
    ]


@pytest.mark.parametrize("kind", ["postgresql", "duckdb"])
def test_universal_identifiers_are_keys(kind, place):
    url = place(visits(9), kind=kind)
    make = "gen_random_uuid()" if kind == "postgresql" else "uuid()"
    run(url, "DROP TABLE IF EXISTS named")
    run(url, f"CREATE TABLE named AS SELECT {make} AS name, age, cost FROM visits")  # noqa: S608
    written = run(url, "SELECT CAST(name AS VARCHAR), cost FROM named")
    source = sb.SQLSource(url, table="named", key="name", target="cost")
    assert source.take(np.arange(9)).y.tolist() == [cost for _, cost in sorted(written)]


ODD = ['a"b', "a'b; DROP TABLE visits; --", "100 %", "%s", "naïve ☃", "select", "a.b:c", "?", "\\"]


def test_names_are_quoted(kind, place):
    table = "".join(ODD).replace(".", "_")[:60]  # a dot separates a schema from a table
    frame = visits(5)
    for number, name in enumerate(ODD):
        frame[name] = np.arange(5.0) * number
    url = place(frame, table=table, key="id", kind=kind)
    source = sb.SQLSource(url, table=table, key="id", target="%s", features=[*ODD[:3], *ODD[4:]])
    ordered = frame.sort_values("id")
    drawn = source.take(np.arange(5))
    for name in source.schema.columns:
        assert drawn.X[name].tolist() == ordered[name].tolist()
    assert drawn.y.tolist() == ordered["%s"].tolist()


@pytest.mark.parametrize("field", ["table", "key", "target", "features", "version_column"])
def test_metacharacters_in_any_field_harm_nothing(kind, place, field):
    url = place(visits(5), key="id", kind=kind)
    evil = 'cost"; DROP TABLE visits; --'
    given = {"table": "visits", "key": "id", "target": "cost"}
    given[field] = [evil] if field == "features" else evil
    with pytest.raises(sb.errors.InvalidInput, match=f"{field}=.*DROP TABLE"):
        sb.SQLSource(url, **given)
    assert sb.SQLSource(url, table="visits", key="id", target="cost").size == 5


def test_other_threads_get_their_own_rows(kind, place):
    frame = visits(200)
    url = place(frame, key="id", kind=kind)
    source = sb.SQLSource(url, table="visits", key="id", target="cost", concurrent=8)
    expected = frame.sort_values("id")["cost"].to_numpy()
    draws = [np.random.default_rng(seed).integers(0, 200, 60) for seed in range(64)]
    with ThreadPoolExecutor(16) as threads:
        for rows, batch in zip(draws, threads.map(source.take, draws), strict=True):
            assert np.array_equal(batch.y, expected[rows])
    assert len(source._relation.database._idle) <= databases.CONNECTIONS


def test_sources_of_one_address_share_connections(place):
    url = place(visits(), key="id")
    one, other = (sb.SQLSource(url, table="visits", key="id", target="cost") for _ in range(2))
    assert one._relation.database is other._relation.database


def test_a_file_that_was_replaced_is_another_database(place, tmp_path, monkeypatch):
    url = place(visits(5), key="id")
    first = sb.SQLSource(url, table="visits", key="id", target="cost")
    (tmp_path / "clinic.sqlite").rename(tmp_path / "old.sqlite")
    place(visits(7), key="id")
    monkeypatch.chdir(tmp_path)
    second = sb.SQLSource("sqlite:///clinic.sqlite", table="visits", key="id", target="cost")
    assert (first.size, second.size) == (5, 7)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(second.take(np.arange(7))) == 7


def test_an_engine_is_used_as_it_is():
    engine = sa.create_engine(
        "sqlite://", poolclass=sa.StaticPool, connect_args={"check_same_thread": False}
    )
    visits(5).to_sql("visits", engine, index=False)
    source = sb.SQLSource(engine, table="visits", key="id", target="cost", concurrent=1)
    sb.testing.check_source(source)
    with engine.connect() as connection:  # it may still write, and take it back
        connection.execute(sa.text("DELETE FROM visits"))
        connection.rollback()
        assert connection.execute(sa.text("SELECT count(*) FROM visits")).scalar() == 5
        connection.execute(sa.text("DELETE FROM visits"))
        connection.commit()
    del source
    engine.dispose()


def test_a_connection_of_duckdb_is_used_as_it_is():
    import duckdb

    connection = duckdb.connect()
    frame = visits(5)
    connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    source = sb.SQLSource(connection, table="visits", key="id", target="cost")
    sb.testing.check_source(source)
    assert source.take(np.array([0])).y.tolist() == frame.sort_values("id")["cost"].tolist()[:1]
    connection.execute("DROP TABLE visits")


def test_threads_wait_for_a_free_connection(place, monkeypatch):
    url = place(visits(), key="id")
    source = sb.SQLSource(url, table="visits", key="id", target="cost")
    database, busy, most = source._relation.database, [], []
    lock, usual = threading.Lock(), source._relation.database._connect

    def connect():
        link = usual()
        run_usual = link.run

        def slow(*given):
            with lock:
                busy.append(1)
                most.append(len(busy))
            answer = run_usual(*given)
            threading.Event().wait(0.01)
            with lock:
                busy.pop()
            return answer

        link.run = slow
        return link

    monkeypatch.setattr(database, "_connect", connect)
    database._idle.clear()
    with ThreadPoolExecutor(32) as threads:
        list(threads.map(lambda _: source.take(np.array([1])), range(64)))
    assert max(most) == databases.CONNECTIONS
