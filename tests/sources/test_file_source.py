"""Draws from files are those of a frame of the whole table, bit for bit."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import shapband as sb
from shapband.records.batch import Batch

N = 500


def mixed(seed=0, n=N):
    """A table with every kind of column that a frame may have."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "float": rng.normal(size=n) * 10.0 ** rng.integers(-150, 150, n),
            "single": rng.normal(size=n).astype("float32"),
            "int": rng.integers(-(2**40), 2**40, n),
            "small": rng.integers(0, 200, n).astype("uint8"),
            "gaps": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "flag": rng.random(n) < 0.5,
            "maybe": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "ward": rng.choice(["a", "b,c", "ü;\"'", " d"], n),
            "ward or none": rng.choice(["a", None, "b"], n),
            "level": pd.Categorical(rng.choice(["low", "high"], n), ["low", "mid", "high"]),
            "money": [Decimal(int(cents)) / 100 for cents in rng.integers(0, 10**6, n)],
            "y": rng.normal(size=n),
        }
    )
    frame.loc[frame.index % 97 == 3, ["gaps", "maybe", "float"]] = None
    return frame


def plain(seed=0, n=N):
    """Numbers with all their digits, which every format can hold."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "weight"])
    return frame.assign(count=rng.integers(0, 10**9, n), y=rng.normal(size=n) * 1e-7)


def check_same(batch: Batch, other: Batch):
    mine, theirs = (one.X.reset_index(drop=True) for one in (batch, other))
    pd.testing.assert_frame_equal(mine, theirs, check_exact=True)
    assert batch.y.dtype == other.y.dtype
    np.testing.assert_array_equal(batch.y, other.y)


def draws(size, seed=0, n_draws=5, count=20):
    rng = np.random.default_rng(seed)
    return [rng.choice(size, min(count, size), replace=False) for _ in range(n_draws)]


def check_like_frame(source, frame, target="y"):
    """Compare every way to draw with a frame of the whole table."""
    whole = sb.FrameSource(frame, target)
    assert source.size == whole.size
    assert source.schema == whole.schema
    check_same(source.take(np.arange(source.size)), whole.records)
    for rows, answer in zip(draws(source.size), source.take_many(draws(source.size)), strict=True):
        check_same(answer, whole.take(rows))
        check_same(source.take(rows), whole.take(rows))
    check_same(source.take(np.array([2, 2, 0])), whole.take(np.array([2, 2, 0])))


WAYS = {
    "csv": lambda frame, path: frame.to_csv(path.with_suffix(".csv"), index=False),
    "rows 7": lambda frame, path: frame.to_parquet(path.with_suffix(".parquet"), row_group_size=7),
    "rows 64": lambda frame, path: frame.to_parquet(
        path.with_suffix(".parquet"), row_group_size=64
    ),
    "one group": lambda frame, path: frame.to_parquet(path.with_suffix(".parquet")),
    "arrow": lambda frame, path: pyarrow.feather.write_feather(
        pa.Table.from_pandas(frame), str(path.with_suffix(".arrow")), "uncompressed", chunksize=33
    ),
    "feather": lambda frame, path: frame.to_feather(path.with_suffix(".feather")),
}


def written(frame, tmp_path, way, name="table"):
    WAYS[way](frame, tmp_path / name)
    return next(tmp_path.glob(f"{name}.*"))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "csv"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_all_kinds_of_columns_are_those_of_a_frame(way, copy, tmp_path):
    frame = mixed()
    path = written(frame, tmp_path, way)
    read = pd.read_feather(path) if way in ("arrow", "feather") else pd.read_parquet(path)
    check_like_frame(sb.FileSource(path, target="y", copy=copy), read)


@pytest.mark.parametrize("way", WAYS)
def test_the_valuation_is_the_same_from_every_format(way, tmp_path):
    tables = {name: plain(seed) for seed, name in enumerate(("north", "south"))}
    rows = plain(7, 100)
    utility = sb.LinearUtility(rows.drop(columns="y").to_numpy(), rows["y"].to_numpy())

    def valued(sources):
        providers = [sb.Provider(name, source) for name, source in sources.items()]
        return sb.value(providers, utility, sampling=sb.Fresh(30), n_games=6, seed=0)

    arrays = {
        name: sb.ArraySource(frame.drop(columns="y").to_numpy(), frame["y"])
        for name, frame in tables.items()
    }
    paths = {name: written(frame, tmp_path, way, name) for name, frame in tables.items()}
    found = valued({name: sb.FileSource(path, target="y") for name, path in paths.items()})
    np.testing.assert_array_equal(found.games, valued(arrays).games)
    wrong = {name: sb.FileSource(path, target="y") for name, path in paths.items()}
    wrong["north"] = sb.FileSource(paths["north"], target="y", where=[("age", "<", 2.5)])
    assert not np.array_equal(valued(wrong).games, found.games)


@pytest.mark.parametrize("way", WAYS)
def test_a_file_source_keeps_the_rules_of_sources(way, tmp_path):
    sb.testing.check_source(sb.FileSource(written(plain(), tmp_path, way), target="y"))
