"""Sources that users write: what they may return, what they tell, and who calls them."""

import sqlite3
import threading

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.errors import InvalidInput, SourceError

RECORDS = np.arange(40.0)


def value(*sources, **options):
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]
    arguments = {"sampling": sb.Fresh(4), "n_games": 6, "seed": 0} | options
    return sb.value(providers, sb.AdditiveUtility(), **arguments)


class Squares(sb.FiniteSource):
    """Keeps its size as a plain attribute, and gives what `make` makes of rows."""

    def __init__(self, size, make=lambda x: (x, x**2)):
        self.size = size
        self._make = make

    def take(self, rows):
        return self._make(RECORDS[rows])


class Normal(sb.GenerativeSource):
    def __init__(self, make):
        self._make = make

    def draw(self, size, rng):
        return self._make(rng.normal(size=size))


MAKERS = {
    "batch": lambda x: sb.Batch(x[:, None], x**2),
    "arrays": lambda x: (x[:, None], x**2),
    "one dimension": lambda x: (x, x**2),
    "lists": lambda x: (x.tolist(), (x**2).tolist()),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_source_may_give_a_batch_or_features_and_targets(make):
    memory = sb.ArraySource(RECORDS, RECORDS**2)
    np.testing.assert_array_equal(value(Squares(40, make)).games, value(memory).games)
    np.testing.assert_array_equal(
        value(Normal(make)).games, value(Normal(MAKERS["batch"])).games
    )  # fmt: skip


def test_a_source_may_give_a_frame_and_targets():
    frames = Squares(40, lambda x: (pd.DataFrame({"x": x}), x**2))
    memory = sb.ArraySource(RECORDS, RECORDS**2)
    np.testing.assert_array_equal(value(frames).games, value(memory).games)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: x, r"gave an array of shape \(4,\).*return a Batch\(X, y\) or a tuple \(X, y\)"),
        (lambda x: None, r"gave a NoneType: return a Batch"),
        (lambda x: (x, x, x), "gave a tuple of 3: return a Batch"),
        (lambda x: (x, x[1:]), "y must be one target for each of the 4 records"),
        (lambda x: (x * np.nan, x), "X holds NaN or infinite values"),
        (lambda x: (pd.DataFrame({"x": x}), x[1:]), "y must be one target for each"),
        (lambda x: sb.Batch(x[:, None, None], x), r"X must have the shape \(n_records, n_feat"),
        (lambda x: sb.Batch(x[:, None], x[1:]), "y must be one target for each of the 4 records"),
        (lambda x: sb.Batch(x[:-1, None], x), "y must be one target for each of the 3 records"),
        (lambda x: sb.Batch(np.array([["a"]] * len(x)), x), "X must be a table of numbers"),
        (lambda x: sb.Batch(x[:, None], x * np.nan), "y holds missing, NaN or infinite values"),
        (lambda x: (pd.DataFrame({"x": x * np.inf}), x), "'x' holds infinite values"),
    ],
)
@pytest.mark.parametrize("kind", [lambda make: Squares(40, make), Normal], ids=["take", "draw"])
def test_anything_else_is_named_with_what_to_return(kind, make, said):
    with pytest.raises(SourceError, match=rf"provider 'p0': the source.*{said}") as caught:
        value(kind(make))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, -3, 2.5, "many", None, True, np.nan], ids=str)
def test_a_size_that_is_no_count_is_refused(size):
    said = r"provider 'p0': the size of its source must be a whole number of at least 1; received"
    with pytest.raises(InvalidInput, match=said):
        value(Squares(size))


def test_a_size_of_numpy_will_do():
    assert value(Squares(np.int64(40))).games.shape == (6, 1)


def test_a_missing_size_is_named():
    source = Squares(40)
    del source.size
    with pytest.raises(SourceError, match=r"'p0'.* cannot give its size \(AttributeError.*'size'"):
        value(source)


def test_a_schema_may_be_a_plain_attribute_and_is_checked():
    source = Squares(40)
    source.schema = sb.Schema(1)
    value(source)
    source.schema = 1
    with pytest.raises(InvalidInput, match=r"'p0': the schema .* must be a Schema\(n_features\)"):
        value(source)


class Database(sb.FiniteSource):
    """Records in SQLite, whose connections serve only the thread that opened them."""

    def __init__(self):
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("create table records (x real)")
        rows = [(x,) for x in RECORDS.tolist()]
        self._connection.executemany("insert into records values (?)", rows)

    @property
    def size(self):
        return self._connection.execute("select count(*) from records").fetchone()[0]

    def take(self, rows):
        look_up = "select x from records where rowid = ?"
        found = [self._connection.execute(look_up, (int(row) + 1,)).fetchone()[0] for row in rows]
        return np.array(found), np.array(found) ** 2

    def close(self):
        self._connection.close()


@pytest.fixture
def database():
    source = Database()
    yield source
    source.close()


@pytest.mark.parametrize("sampling", [sb.Fresh(4), sb.Pooled(8, 4)], ids=repr)
def test_a_source_bound_to_its_thread_is_asked_there(database, sampling):
    """Alone, beside records in memory, and beside a source that waits."""
    memory = sb.ArraySource(RECORDS, RECORDS**2)
    waiting = sb.with_delay(memory, 0.0)
    quick = value(memory, memory, memory, sampling=sampling)
    slow = value(database, memory, waiting, sampling=sampling, chunk_size=2)
    np.testing.assert_array_equal(slow.games, quick.games)
    assert slow.access.records == quick.access.records


def test_only_sources_that_wait_are_asked_from_threads():
    threads = {"here": set(), "waiting": set()}

    def source(name, waits):
        def draw(size, rng):
            threads[name].add(threading.get_ident())
            return rng.normal(size=size), rng.normal(size=size)

        return sb.FunctionSource(draw, waits=waits)

    value(source("here", False), source("waiting", True), source("here", False))
    assert threads["here"] == {threading.get_ident()}
    assert threading.get_ident() not in threads["waiting"]


def test_an_error_here_is_raised_when_the_threads_are_done():
    def fail(size, rng):
        raise OSError("the disk is gone")

    slow = sb.with_delay(sb.ArraySource(RECORDS, RECORDS), 0.01)
    with pytest.raises(SourceError, match="'p1': OSError: the disk is gone"):
        value(slow, sb.FunctionSource(fail), slow)


def test_sources_do_not_wait_unless_they_say_so():
    assert not Squares(40).waits
    assert sb.with_delay(Squares(40), 0.0).waits
    assert sb.with_delay(Normal(MAKERS["batch"]), 0.0).waits
