"""Providers from one table of a database."""

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.errors import InvalidInput, SourceError
from shapband.inputs import databases
from tests.databases import COLLATED, fill, run


def visits(n=60):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "cost"])
    frame.insert(0, "id", rng.permutation(n) * 3 - 50)
    frame.insert(2, "site", [f"site {'ABC'[i]}'\"; --" for i in rng.integers(0, 3, n)])
    frame.loc[frame["id"] < 0, "site"] = "dense"
    return frame


def address(kind, tmp_path, request):
    if kind == "postgresql":
        url = request.getfixturevalue("postgres")
        run(url, "DROP TABLE IF EXISTS visits CASCADE")
        return url
    return f"{kind}:///{tmp_path / 'clinic.db'}"


GIVEN = {"table": "visits", "by": "site", "key": "id", "target": "cost"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "duckdb"])
@pytest.mark.parametrize("most", [10**7, 10])
def test_providers_are_those_of_the_frame(kind, most, tmp_path, request, monkeypatch):
    monkeypatch.setattr(databases, "MOST_KEYS", most)
    url, frame = address(kind, tmp_path, request), visits()
    fill(url, "visits", frame, "id")
    found = sb.providers_from_sql(url, **GIVEN)
    ordered = frame.sort_values("id").drop(columns="id")
    expected = sb.providers_from_frame(ordered, by="site", target="cost")
    assert [provider.name for provider in found] == [provider.name for provider in expected]
    for one, other in zip(found, expected, strict=True):
        rows = np.arange(one.source.size)[::-1]
        drawn, wanted = one.source.take(rows), other.source.take(rows)
        assert list(drawn.X.columns) == list(wanted.X.columns)
        assert np.array_equal(drawn.X.to_numpy(), wanted.X.to_numpy())
        assert np.array_equal(drawn.y, wanted.y)
        assert one.source._relation.database is found[0].source._relation.database


SITES = {"north": 5, "North": 4, "north ": 3, "nörth": 2, "south": 6}


def collated_visits(url, kind, frame):
    """Fill a table whose sites have a type of some collation; its keys repeat in every site."""
    run(url, f"CREATE TABLE visits (id BIGINT, site {kind}, region {kind}, age FLOAT, cost FLOAT)")
    marks = ", ".join(["%s" if url.startswith("postgresql") else "?"] * 5)
    for row in frame.to_numpy(dtype=object).tolist():
        run(url, f"INSERT INTO visits VALUES ({marks})", row)  # noqa: S608


def sites():
    sizes = list(SITES.values())
    frame = pd.DataFrame({"id": np.concatenate([np.arange(size) * 2 for size in sizes])})
    frame["site"] = np.repeat(list(SITES), sizes)
    frame["region"] = np.where(frame["site"] == "North", "West", "west")
    return frame.assign(age=np.arange(20.0), cost=np.arange(20.0) ** 2)


@pytest.mark.parametrize("column", COLLATED)
@pytest.mark.parametrize("most", [10**7, 10])
def test_strings_that_a_collation_takes_for_the_same_are_providers_of_their_own(
    column, most, collated, monkeypatch
):
    monkeypatch.setattr(databases, "MOST_KEYS", most)
    url, kind = collated(column)
    frame = sites()
    collated_visits(url, kind, frame)
    found = sb.providers_from_sql(url, features=["age"], **GIVEN)
    assert {one.name: one.source.size for one in found} == SITES
    for one in found:
        own = frame[frame["site"] == one.name]
        drawn = one.source.take(np.arange(one.source.size))
        assert drawn.y.tolist() == own["cost"].tolist()
        assert drawn.X["age"].tolist() == own["age"].tolist()
    groups = sb.providers_from_sql(url, group="region", features=["age"], **GIVEN)
    assert {one.name: len(one.providers) for one in groups} == {"West": 1, "west": 4}


@pytest.mark.parametrize("column", COLLATED)
def test_a_collation_does_not_hide_that_a_provider_has_two_groups(column, collated):
    url, kind = collated(column)
    frame = sites()
    frame = frame[frame["site"] == "north"]
    frame.loc[1, "region"] = "west " if "RTRIM" in column else "WEST"
    collated_visits(url, kind, frame)
    with pytest.raises(InvalidInput, match="all rows of provider 'north' must have the same"):
        sb.providers_from_sql(url, group="region", **GIVEN)


@pytest.mark.parametrize("most", [10**7, 10])
def test_providers_of_a_padded_type_are_named_without_the_padding(most, postgres, monkeypatch):
    monkeypatch.setattr(databases, "MOST_KEYS", most)
    run(postgres, "DROP TABLE IF EXISTS visits CASCADE")
    collated_visits(postgres, "CHAR(9)", sites().assign(id=range(20)))
    found = sb.providers_from_sql(postgres, features=["age"], **GIVEN)
    sizes = {one.name: one.source.size for one in found}
    assert sizes == {"North": 4, "north": 8, "nörth": 2, "south": 6}


def test_the_records_of_all_providers_must_add_up_to_the_table(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'clinic.db'}"
    fill(url, "visits", visits(), "id")
    usual = databases.sizes_by

    def lossy(*given):
        return dict(list(usual(*given).items())[1:])

    assert sum(one.source.size for one in sb.providers_from_sql(url, **GIVEN)) == 60
    monkeypatch.setattr(databases, "sizes_by", lossy)
    with pytest.raises(SourceError, match=r"by='site' have \d+ records together, and there are 60"):
        sb.providers_from_sql(url, **GIVEN)


def test_all_keys_are_read_with_one_statement(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'clinic.db'}"
    fill(url, "visits", visits(), "id")
    kind = type(sb.SQLSource(url, table="visits", key="id", target="cost")._relation.database)
    usual, asked = kind.run, []
    monkeypatch.setattr(kind, "run", lambda *a, **k: asked.append(a) or usual(*a, **k))
    counts = []
    for n_sites in (2, 12):
        run(url, "UPDATE visits SET site = (id + 50) / 3 % ?", [n_sites])
        asked.clear()
        assert len(sb.providers_from_sql(url, **GIVEN)) == n_sites
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_integers_name_providers_as_in_frames(tmp_path):
    url = f"sqlite:///{tmp_path / 'clinic.db'}"
    fill(url, "visits", visits().assign(site=np.arange(60) % 12), "id")
    names = [provider.name for provider in sb.providers_from_sql(url, **GIVEN)]
    assert names == sorted(str(number) for number in range(12))


def test_a_row_that_goes_to_another_provider_is_noticed(tmp_path):
    url = f"sqlite:///{tmp_path / 'clinic.db'}"
    frame = visits()
    fill(url, "visits", frame, "id")
    provider = sb.providers_from_sql(url, **GIVEN)[0]
    run(url, "UPDATE visits SET site = 'elsewhere' WHERE site = ?", [provider.name])
    with pytest.raises(SourceError, match="the table changed since its keys were read"):
        provider.source.take(np.array([0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE visits SET site = NULL WHERE id = 1", "by='site' is NULL in 1 rows: fill them"),
        ("UPDATE visits SET site = '' WHERE id = 1", "by='site' is an empty string in 1 rows"),
        ("UPDATE visits SET id = NULL WHERE id = 1", "provider '.*': .*key='id' is NULL in 1 of"),
        ("UPDATE visits SET id = 4 WHERE site = 'dense'", "provider 'dense': .*4 occurs more than"),
        ("UPDATE visits SET site = 1 WHERE id = 1", "holds '?1'? and '?1'?, which may be the same"),
        ("DELETE FROM visits", "there are no rows"),
    ],
)
def test_tables_that_cannot_be_split(tmp_path, change, message):
    url = f"sqlite:///{tmp_path / 'clinic.db'}"
    fill(url, "typed", visits())
    run(url, "CREATE TABLE visits (id, age, site, dose, cost)")  # columns that hold any type
    run(url, "INSERT INTO visits SELECT * FROM typed")
    run(url, "UPDATE visits SET site = '1' WHERE id = 4")
    run(url, change)
    with pytest.raises(InvalidInput, match=message):
        sb.providers_from_sql(url, **GIVEN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "sit"}, "by='sit' is not a column; did you mean site"),
        ({"by": "cost"}, "by and target are both 'cost'; they must differ"),
        ({"timeout": -1}, "timeout must be above 0"),
        ({"query": "SELECT 1"}, "either table or query"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, change, message):
    url = f"sqlite:///{tmp_path / 'clinic.db'}"
    fill(url, "visits", visits(), "id")
    with pytest.raises(InvalidInput, match=message):
        sb.providers_from_sql(url, **{**GIVEN, **change})
