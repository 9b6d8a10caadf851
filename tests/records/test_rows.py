"""Values that would change silently on their way in are converted right, or refused by name."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge

import shapband as sb
from shapband.app.config.config import Config
from shapband.engine.play import play
from shapband.errors import InvalidInput, ShapbandError, SourceError
from shapband.records.batch import Batch, take_in
from shapband.sources.files import read_csv

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 2))
Y = X @ [1.0, -2.0] + RNG.normal(size=40) / 5
X_VAL, Y_VAL = RNG.normal(size=(15, 2)), RNG.normal(size=15)
LINEAR = sb.LinearUtility(X_VAL, Y_VAL)
DAYS = np.array(["2020-01-01", "NaT", "2020-01-03"], dtype="M8[ns]")


def games(source, utility=LINEAR, **options):
    """Value one source beside a clean one."""
    providers = [sb.Provider("clean", sb.ArraySource(X, Y)), sb.Provider("odd", source)]
    return sb.value(providers, utility, sampling=sb.Fresh(6), n_games=3, seed=1, **options).games


def played(config, base):
    built = config.build(base)
    with built.workers as workers:
        return play(built.arguments, workers, lambda standing: None)


class Shows(sb.FiniteSource):
    """A custom source that shows its records."""

    def __init__(self, records):
        self.records, self.size = records, len(records.y)

    def take(self, rows):
        return self.records.take(rows)


class Answers(sb.FiniteSource):
    """A custom source that is asked for every draw."""

    def __init__(self, X, y):
        self.X, self.y, self.size, self.asked = X, y, len(y), 0

    def take(self, rows):
        self.asked += 1
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return X, self.y[rows]


@pytest.mark.parametrize("written", [" NaN", " nan ", "  NA", " ", " inf", "-inf ", "Infinity"])
def test_a_number_of_a_csv_target_that_is_missing_but_for_spaces_is_refused(tmp_path, written):
    cells = [f"{x}, {y}" for x, y in zip(X[:, 0], Y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y", *cells[:20]]))
    (tmp_path / "odd.csv").write_text("\n".join(["x,y", *cells[20:], f"0.5,{written}"]))
    text = """
    n_games = 2
    sampling = {kind = "fresh", n_sample = 5}
    utility = {kind = "linear", validation = {kind = "csv", path = "rows.csv", target = "y"}}
    [[providers]]
    name = "odd"
    source = {kind = "csv", path = "odd.csv", target = "y"}
    """
    with pytest.raises(InvalidInput, match=r"('odd'|target column 'y').* (missing|infinite)"):
        played(Config.parse(text), tmp_path)


def test_a_spaced_missing_label_of_a_csv_is_no_class(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1.5, NaN\n2.5,yes\n NA,no\n")
    frame = read_csv(path, ",", "key.path")
    assert frame["y"].isna().tolist() == [True, False, False]
    np.testing.assert_array_equal(frame["x"], [1.5, 2.5, np.nan])
    assert frame["x"].dtype == float


def test_a_parquet_file_that_pandas_cannot_read_is_named(tmp_path):
    words = pa.array(["a", "b"]).dictionary_encode().to_pandas(types_mapper=pd.ArrowDtype)
    pd.DataFrame({"c": words, "y": [1.0, 2.0]}).to_parquet(tmp_path / "rows.parquet")
    text = """
    n_games = 2
    sampling = {kind = "fresh", n_sample = 2}
    utility = {kind = "additive"}
    [[providers]]
    name = "odd"
    source = {kind = "parquet", path = "rows.parquet", target = "y"}
    """
    try:
        pd.read_parquet(tmp_path / "rows.parquet")
    except TypeError:
        with pytest.raises(InvalidInput, match=r"providers\[0\]\.source\.path.*cannot be read"):
            played(Config.parse(text), tmp_path)
    else:  # a version of pandas that can
        assert played(Config.parse(text), tmp_path).n_games == 2


@pytest.mark.parametrize(
    "bad", ["nan", " NaN", "inf", "-Infinity", Decimal("NaN"), Decimal("Infinity")], ids=repr
)
def test_targets_are_finite_after_their_conversion(bad):
    strings = isinstance(bad, str)
    y = np.array([*map(str, Y[:-1]), bad] if strings else [*Y[:-1], bad], dtype=object)
    with pytest.raises(InvalidInput, match=r"(?=.*'odd'|.*y )(?=.*holds missing, NaN or infinite)"):
        games(sb.ArraySource(X, y))
    with pytest.raises(InvalidInput, match=r"y_val.*holds missing, NaN or infinite"):
        sb.LinearUtility(X, y)
    with pytest.raises(InvalidInput, match=r"X_val holds NaN or infinite values in column 0"):
        sb.LinearUtility(y, Y)


def test_numbers_written_as_strings_have_the_value_of_the_numbers():
    strings = sb.ArraySource(X.astype(str), Y.astype(str))
    np.testing.assert_array_equal(games(strings), games(sb.ArraySource(X, Y)))


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS[[0, 2, 0]],
        DAYS - DAYS[0],
        DAYS.astype("M8[D]").astype(object),
        pd.Series(DAYS).dt.tz_localize("UTC"),
        pd.Series(pd.period_range("2020", periods=3, freq="D")),
        pl.Series([datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 2)]),
        [datetime.timedelta(1)] * 3,
        [np.timedelta64("NaT"), np.timedelta64(1, "D"), np.timedelta64(2, "D")],
    ],
    ids=["NaT", "days", "lengths", "objects", "zone", "periods", "polars", "deltas", "NaT deltas"],
)
def test_dates_do_not_become_numbers_unasked(dates):
    remedy = r"holds dates.*convert them to numbers first, such as \(dates - np\.datetime64"
    with pytest.raises(InvalidInput, match=f"ArraySource: y {remedy}"):
        sb.ArraySource(np.eye(3), dates)
    with pytest.raises(InvalidInput, match=f"X_val.*{remedy}"):
        sb.LinearUtility(np.asarray(dates)[:, None], np.arange(3.0))
    frame = type(dates)(dates).to_frame("day") if isinstance(dates, pl.Series) else None
    frame = pd.DataFrame({"day": dates}) if frame is None else frame
    with pytest.raises(InvalidInput, match=f"X_val: column 'day' {remedy}"):
        sb.EstimatorUtility(Ridge(), frame, np.arange(3.0))


@pytest.mark.parametrize(
    "rows",
    [
        [np.ma.array([1.0, 2.0], mask=[False, True]), np.ma.array([3.0, 4.0])],
        [[1.0, np.ma.masked], [3.0, 4.0]],
        np.ma.array([[1, 2], [3, 4]], mask=[[1, 0], [0, 0]]),
    ],
    ids=["list of rows", "cell", "array"],
)
def test_masked_cells_are_missing(rows):
    with pytest.raises(InvalidInput, match=r"X .*(masked|NaN)"):
        sb.ArraySource(rows, [0.0, 1.0])


@pytest.mark.parametrize("dtype", ["u1", "i1", "f2", "f4", "i8"])
def test_records_that_a_custom_source_shows_are_used_as_floats(dtype):
    small = RNG.integers(0, 120, (40, 2)).astype(dtype)
    y = RNG.integers(0, 120, 40).astype(dtype)
    clean = small.astype(float), y.astype(float)
    products = sb.FunctionUtility(lambda X, y: float((X[:, 0] * X[:, 1] * y * y).mean()))
    for utility in (LINEAR, products, sb.EstimatorUtility(Ridge(), X_VAL, Y_VAL)):
        shown = games(Shows(Batch(small, y)), utility)
        np.testing.assert_array_equal(shown, games(sb.ArraySource(*clean), utility))
    frame = pd.DataFrame(small, columns=["a", "b"])
    products = sb.FunctionUtility(lambda X, y: float((X["a"] * X["b"] * 2 * y).mean()))
    providers = [sb.Provider("odd", Shows(Batch(frame, y)))]
    clean_one = [sb.Provider("odd", sb.ArraySource(frame.astype(float), clean[1]))]
    options = {"sampling": sb.Fresh(6), "n_games": 3, "seed": 1}
    found, wanted = (sb.value(p, products, **options).games for p in (providers, clean_one))
    np.testing.assert_array_equal(found, wanted)


def test_records_that_a_source_shows_are_not_read_again():
    """A buffer that changes during a valuation changes no game."""
    source = Shows(Batch(X.copy(), Y.copy()))
    spoil = sb.FunctionUtility(lambda X, y: (source.records.X.fill(9.0), float(X.mean()))[1])
    clean = sb.FunctionUtility(lambda X, y: float(X.mean()))
    np.testing.assert_array_equal(games(source, spoil), games(sb.ArraySource(X, Y), clean))


@pytest.mark.parametrize(
    "ids", [[1, "1"], [1, 1.0], [1.0, "1.0"], [True, 1], [True, "True"]], ids=repr
)
@pytest.mark.parametrize("column", ["by", "group"])
def test_ids_that_may_be_one_provider_or_two_are_refused_with_both(ids, column):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0], "site": ["a", "b"]})
    frame["id"] = pd.Series(ids, dtype=object)
    names = {"by": "id"} if column == "by" else {"by": "site", "group": "id"}
    with pytest.raises(InvalidInput) as caught:
        sb.providers_from_frame(frame.drop(columns=[] if column == "group" else "site"),
                                target="y", **names)  # fmt: skip
    for one in ids:
        assert f"{one!r} of the type {type(one).__name__}" in str(caught.value)


ODD_COLUMNS = {
    "Decimal": pd.Series([Decimal(str(x)) for x in X[:, 0]], dtype=object),
    "nullable": pd.Series(X[:, 0], dtype="Float64"),
    "Arrow": pd.Series(X[:, 0], dtype="double[pyarrow]"),
    "Arrow decimal": pd.Series([Decimal(f"{x:.4f}") for x in X[:, 0]]).astype(
        pd.ArrowDtype(pa.decimal128(10, 4))
    ),
    "sparse": pd.Series(X[:, 0], dtype="Sparse[float64]"),
    "category": pd.Series(X[:, 0], dtype="category"),
    "missing": pd.Series([pd.NA, *X[1:, 0]], dtype=object),
    "date": pd.Series([datetime.date(2020, 1, 1)] * 40, dtype=object),
    "period": pd.Series(pd.period_range("2020", periods=40, freq="D")),
}


@pytest.mark.parametrize("column", ODD_COLUMNS.values(), ids=ODD_COLUMNS)
def test_a_valuation_gives_the_same_with_and_without_a_run(column, tmp_path):
    frame = pd.DataFrame({"a": column, "b": X[:, 1]})
    utility = sb.FunctionUtility(lambda X, y: float((X["a"].astype(float) * y).sum()))
    without, stored = (
        outcome(Answers(frame, Y), utility, **options) for options in ({}, {"run": tmp_path / "r"})
    )
    assert without == stored
    if isinstance(without, str):
        assert "provider 'odd': the source: column 'a' holds dates" in without


def outcome(source, utility, **options):
    """The games of a source, or the error after its first answer."""
    providers = [sb.Provider("odd", source)]
    try:
        valued = sb.value(providers, utility, sampling=sb.Fresh(6), n_games=3, seed=1, **options)
    except SourceError as error:
        return f"{error} ({source.asked} requests)"
    return valued.games.tolist()


@pytest.mark.parametrize("kind", [int, bool], ids=["integers", "booleans"])
def test_a_missing_category_of_numbers_is_nan_in_the_array_of_a_frame(kind):
    cells = pd.Series(pd.Categorical([kind(1), kind(0), None]))
    batch = take_in(pd.DataFrame({"a": [1, 2, 3], "b": cells}), Y[:3], "me")
    found = np.asarray(batch.X, dtype=float)[:, 1]
    np.testing.assert_array_equal(found, [1.0, 0.0, np.nan])


def test_decimals_become_the_nearest_floats():
    batch = take_in([[Decimal("0.1")], [Decimal("1e-400")]], [Decimal("2.5"), 1], "me")
    assert batch.X.tolist() == [[0.1], [0.0]]
    assert batch.y.tolist() == [2.5, 1.0]


@pytest.mark.parametrize(
    "y_val",
    [
        np.array(["a", "b", "c"], dtype=np.dtypes.StringDType()),
        np.array(["a", np.nan, "c"], dtype=np.dtypes.StringDType(na_object=np.nan)),
        ["a", np.nan, "c"],
        ["a", 1, "c"],
        [b"a", b"\xff", b"c"],
        [object(), object(), object()],
        np.zeros(3, dtype=[("a", float)]),
        [1j, 2, 3],
    ],
    ids=["strings", "missing string", "NaN", "mixed", "bytes", "objects", "fields", "complex"],
)
@pytest.mark.parametrize(
    "make",
    [
        sb.LinearUtility,
        sb.LogisticUtility,
        lambda X, y: sb.NeighborUtility(X, y, task="classification"),
        lambda X, y: sb.EstimatorUtility(Ridge(), X, y),
    ],
    ids=["linear", "logistic", "neighbors", "estimator"],
)
def test_odd_validation_targets_are_labels_or_a_clear_error(make, y_val):
    try:
        make(np.eye(3), y_val)
        message = ""
    except ShapbandError as error:
        message = str(error)
    assert "y_val" in message or list(y_val) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_named_columns_in_another_order_are_refused_by_every_source(kind):
    frame, X_val = kind({"b": X[:, 1], "a": X[:, 0]}), kind({"a": X_VAL[:, 0], "b": X_VAL[:, 1]})
    sources = {
        "array": sb.ArraySource(frame, Y),
        "function": sb.FunctionSource(lambda size, rng: (frame[:size], Y[:size])),
        "shows": Shows(Batch(frame, Y)),
    }
    for utility in (sb.LinearUtility(X_val, Y_VAL), sb.EstimatorUtility(Ridge(), X_val, Y_VAL)):
        for source in sources.values():
            with pytest.raises(ShapbandError, match=r"'odd'.*the columns b, a"):
                sb.value([sb.Provider("odd", source)], utility, sampling=sb.Fresh(5), n_games=2)


@pytest.mark.parametrize("cell", ["12_3", "1_000", "१२", "１２"])
def test_strings_that_only_python_reads_as_numbers_are_refused(cell):
    frame = pd.DataFrame({"code": ["1", cell, "3"], "y": [0.0, 1.0, 2.0]})
    with pytest.raises(InvalidInput, match="which is not a number"):
        sb.LinearUtility(frame[["code"]], frame["y"])
