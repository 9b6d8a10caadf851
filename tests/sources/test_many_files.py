"""Directories, patterns, partitions, addresses and conditions; files that are damaged or change."""

import os
import shutil
import threading
import time
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.sources.test_file_source import check_like_frame, plain, written

import shapband as sb
from shapband.errors import InvalidInput, LocalCopy, SourceError
from shapband.sources.reading import copies


@pytest.fixture
def lake(tmp_path):
    """Six Parquet files of two sites and three years, in directories named after both."""
    for seed, (site, year) in enumerate((s, y) for s in ("a b", "ü") for y in (2021, 2022, 2023)):
        folder = tmp_path / "lake" / f"site={site.replace(' ', '%20')}" / f"year={year}"
        folder.mkdir(parents=True)
        plain(seed, 30).to_parquet(folder / "part.parquet", row_group_size=7)
    (tmp_path / "lake" / "_SUCCESS").write_text("")
    (tmp_path / "lake" / ".part.crc").write_text("")
    return tmp_path / "lake"


def lake_frame():
    return pd.concat(
        plain(seed, 30).assign(site=site, year=year)
        for seed, (site, year) in enumerate(
            (s, y) for s in ("a b", "ü") for y in (2021, 2022, 2023)
        )
    ).reset_index(drop=True)


def in_order(frame):
    return frame[["age", "dose", "weight", "count", "site", "year", "y"]]


@pytest.mark.parametrize("copy", [None, True, False])
def test_names_of_directories_are_columns(lake, copy):
    check_like_frame(sb.FileSource(lake, target="y", copy=copy), in_order(lake_frame()))
    pattern = f"{lake}/site=*/year=202[12]/*.parquet"
    frame = in_order(lake_frame())
    chosen = frame[frame["year"] < 2023].reset_index(drop=True)
    check_like_frame(sb.FileSource(pattern, target="y", copy=copy), chosen)


CONDITIONS: list[tuple[list[tuple[str, str, Any]], Any]] = [
    ([("year", ">=", 2022)], lambda f: f["year"] >= 2022),
    ([("site", "==", "ü")], lambda f: f["site"] == "ü"),
    ([("age", "<", 0.3), ("dose", ">", -1)], lambda f: (f["age"] < 0.3) & (f["dose"] > -1)),
    ([("site", "!=", "ü"), ("count", "<", 5e8)], lambda f: (f["site"] != "ü") & (f["count"] < 5e8)),
    ([("year", "in", [2021, 2023])], lambda f: f["year"].isin([2021, 2023])),
    ([("year", "not in", [2021]), ("age", ">", 1)], lambda f: (f["year"] > 2021) & (f["age"] > 1)),
]  # fmt: skip


@pytest.mark.parametrize(("where", "mask"), CONDITIONS)
@pytest.mark.parametrize("copy", [None, True])
def test_conditions_choose_the_rows_that_pandas_chooses(where, mask, copy, lake):
    frame = in_order(lake_frame())
    chosen = frame[mask(frame)].reset_index(drop=True)
    check_like_frame(sb.FileSource(lake, target="y", where=where, copy=copy), chosen)


def test_conditions_may_name_columns_that_are_no_features(lake):
    source = sb.FileSource(lake, target="y", features=["dose"], where=[("age", ">", 0.5)])
    frame = lake_frame()
    check_like_frame(source, frame[frame["age"] > 0.5][["dose", "y"]].reset_index(drop=True))


@pytest.mark.parametrize("way", ["csv", "rows 64", "arrow"])
@pytest.mark.parametrize("protocol", ["memory://", "file://"])
def test_files_may_be_at_addresses(way, protocol, tmp_path):
    frames = [plain(seed, 60) for seed in range(3)]
    for place, frame in enumerate(frames):
        written(frame, tmp_path, way, f"part-{place}")
    if protocol == "memory://":
        memory = fsspec.filesystem("memory")
        memory.store.clear()
        for path in tmp_path.iterdir():
            memory.pipe(f"/there/{path.name}", path.read_bytes())
    base = "memory://there" if protocol == "memory://" else f"file://{tmp_path}"
    whole = pd.concat(frames, ignore_index=True)
    check_like_frame(sb.FileSource(base, target="y"), whole)
    check_like_frame(
        sb.FileSource(f"{base}/part-[12].*", target="y"), whole[60:].reset_index(drop=True)
    )
    one = next(tmp_path.glob("part-1.*")).name
    check_like_frame(sb.FileSource(f"{base}/{one}", target="y"), frames[1])
    sb.testing.check_source(sb.FileSource(base, target="y"))


def test_types_that_differ_between_files_are_joined_as_pandas_does(tmp_path):
    first = pd.DataFrame({"n": [1, 2], "w": ["a", None], "y": [1, 2]})
    second = pd.DataFrame({"y": [3.5], "w": ["b"], "n": np.array([2.5], "float32")})
    first.to_parquet(tmp_path / "1.parquet")
    second.to_parquet(tmp_path / "2.parquet")
    check_like_frame(
        sb.FileSource(tmp_path, target="y"), pd.concat([first, second], ignore_index=True)
    )
    second.assign(n="three").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InvalidInput, match=r"'n' has ints in .*1.parquet, and strings in .*2.parq"):
        sb.FileSource(tmp_path, target="y")


def test_a_name_that_differs_by_a_letter_is_reported_alone(tmp_path):
    frame = pd.DataFrame({"creatinine": [1.0, 2.0], "age": [1, 2], "y": [0, 1]})
    frame.to_parquet(tmp_path / "north.parquet")
    frame.rename(columns={"creatinine": "creatinin"}).to_parquet(tmp_path / "south.parquet")
    for make in (sb.FileSource, sb.providers_from_files):
        with pytest.raises(
            InvalidInput, match=r"has the column creatinin: did you mean creatinine\?"
        ):
            make(tmp_path, target="y")
    with pytest.raises(InvalidInput, match=r"no column creatinin: did you mean creatinine\?"):
        sb.FileSource(tmp_path / "north.parquet", target="y", features=["creatinin"])
    frame.assign(bmi=1.0).to_parquet(tmp_path / "south.parquet")
    with pytest.raises(InvalidInput, match=r"the column bmi, which the first .* pass features="):
        sb.FileSource(tmp_path, target="y")
    assert sb.FileSource(tmp_path, target="y", features=["age"]).size == 4


def test_one_provider_is_made_of_each_file_or_directory(lake, tmp_path):
    made = sb.providers_from_files(lake, target="y")
    assert [one.name for one in made] == ["a b", "ü"]
    frame = lake_frame()
    for one in made:
        own = frame[frame["site"] == one.name].reset_index(drop=True)
        check_like_frame(one.source, own[["age", "dose", "weight", "count", "year", "y"]])
    by_year = sb.providers_from_files(lake, target="y", by="year", features=["age"])
    assert [(one.name, one.source.size) for one in by_year] == [
        ("2021", 60),
        ("2022", 60),
        ("2023", 60),
    ]
    folder = tmp_path / "flat"
    folder.mkdir()
    for name in ("north", "south.west"):
        plain().to_csv(folder / f"{name}.csv.gz", index=False)
    made = sb.providers_from_files(f"{folder}/*", target="y")
    assert [one.name for one in made] == ["north", "south.west"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda at: shutil.copy(at / "a.csv", at / "a.csv.gz"),
            r"two files are named 'a': .*a.csv",
        ),
        (lambda at: (at / "b").mkdir() or shutil.copy(at / "a.csv", at / "b"), "received both"),
        (lambda at: shutil.copy(at / "a.csv", at / "c.xlsx"), None),
    ],
)
def test_files_that_name_no_provider_clearly_are_refused(change, message, tmp_path):
    plain(0, 20).to_csv(tmp_path / "a.csv", index=False)
    change(tmp_path)
    if message is None:
        assert [one.name for one in sb.providers_from_files(tmp_path, target="y")] == ["a"]
        return
    with pytest.raises(InvalidInput, match=message):
        sb.providers_from_files(tmp_path, target="y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z"}, "target='z' is not a column; known are age"),
        ({"target": 3}, "target must be the name of a column; received int"),
        ({"target": "y", "features": "age"}, "features must be a list of names"),
        ({"target": "y", "features": ["age", "y"]}, "features must not hold the target 'y'"),
        ({"target": "y", "features": []}, "a feature is needed"),
        ({"target": "y", "features": ["age", "age"]}, "must have different names"),
        ({"target": "y", "where": "age > 3"}, r"where must be a list of conditions .* 'age > 3'"),
        ({"target": "y", "where": [("age", "~", 3)]}, r"operators ==, .* \('age', '~', 3\)"),
        ({"target": "y", "where": [("age", "in", 3)]}, "'in' needs a list of values; received 3"),
        ({"target": "y", "where": [("age", "<", "3")]}, "where cannot compare .* '3'"),
        ({"target": "y", "where": [("aeg", "<", 3)]}, "no column aeg: did you mean age"),
        ({"target": "y", "where": [("age", ">", 1e9)]}, "no row fulfils where"),
        ({"path": 3, "target": "y"}, "path must be a path, .* received 3"),
        ({"path": "", "target": "y"}, "path must be a path, .* received ''"),
        ({"path": "nix/*.parquet", "target": "y"}, "there is no file nix"),
        ({"path": "s3://b/x.csv", "target": "y"}, "s3://b/x.csv needs .* pip install s3fs"),
        ({"path": "nix://b/x.csv", "target": "y"}, "nix://b/x.csv cannot be opened"),
    ],
)
def test_bad_arguments_are_refused_with_the_remedy(options, message, tmp_path):
    path = written(plain(0, 20), tmp_path, "rows 7")
    with pytest.raises(InvalidInput, match=message):
        sb.FileSource(options.pop("path", path), **options)


@pytest.mark.parametrize("way", ["rows 64", "arrow", "csv"])
def test_a_damaged_file_is_named(way, tmp_path):
    for name in ("one", "two", "three"):
        path = written(plain(), tmp_path, way, name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if way != "csv" else b'a,"b\n1,2\n' + bytes(99))
    with pytest.raises(InvalidInput, match=rf"FileSource: .*{path.name}"):
        sb.FileSource(tmp_path, target="y")


def test_a_damaged_row_group_is_named_when_it_is_drawn(tmp_path):
    path = written(plain(), tmp_path, "rows 64")
    source = sb.FileSource(path, target="y")
    content = bytearray(path.read_bytes())
    before = os.stat(path)
    content[400:4000] = bytes(3600)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SourceError, match=r"table.parquet cannot be read"):
        source.take(np.arange(60))


@pytest.mark.parametrize("way", ["rows 64", "arrow"])
def test_a_file_that_changes_is_an_error_that_names_the_provider(way, tmp_path):
    path = written(plain(), tmp_path, way)
    source = sb.FileSource(path, target="y", copy=False)
    version = source.version
    assert sb.FileSource(path, target="y").version == version
    written(plain(1), tmp_path, way)
    os.utime(path, ns=(0, 1))
    assert sb.FileSource(path, target="y").version != version
    with pytest.raises(SourceError, match=r"'north'.*table\.\w+ has changed since it was opened"):
        sb.value(
            [sb.Provider("north", source)],
            sb.AdditiveUtility(),
            sampling=sb.Fresh(5),
            n_games=2,
        )
    path.unlink()
    with pytest.raises(SourceError, match="is gone"):
        source.take(np.array([0]))


def test_missing_targets_are_an_error(tmp_path):
    path = tmp_path / "x.parquet"
    plain().assign(y=lambda f: f["y"].where(f.index != 7)).to_parquet(path)
    source = sb.FileSource(path, target="y")
    source.take(np.arange(5))
    with pytest.raises(InvalidInput, match="target column 'y' holds missing"):
        source.take(np.arange(10))


def test_dates_are_refused_before_any_request(tmp_path):
    path = tmp_path / "x.parquet"
    plain(0, 5).assign(day=pd.Timestamp("2024-01-01")).to_parquet(path)
    with pytest.raises(InvalidInput, match=r"column 'day' holds dates.* out of features"):
        sb.FileSource(path, target="y")
    assert sb.FileSource(path, target="y", features=["age"]).size == 5


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """Copies of any size go to a directory of the test."""
    monkeypatch.setenv("SHAPBAND_COPIES", str(tmp_path / "copies"))
    monkeypatch.setattr(copies, "IN_MEMORY", 0)
    return tmp_path / "copies"


@pytest.mark.parametrize("way", ["csv", "rows 7", "one group", "feather"])
def test_a_copy_on_the_disk_has_the_same_rows(way, tmp_path, on_disk):
    path = written(plain(), tmp_path, way)
    check_like_frame(sb.FileSource(path, target="y", copy=True), plain())
    assert len(list(on_disk.iterdir())) == 1
    assert on_disk.stat().st_mode & 0o777 == 0o700
    before = next(on_disk.iterdir()).stat().st_ino
    check_like_frame(sb.FileSource(path, target="y", copy=True), plain())
    assert next(on_disk.iterdir()).stat().st_ino == before
    written(plain(1), tmp_path, way)
    os.utime(path, ns=(0, 1))
    check_like_frame(sb.FileSource(path, target="y", copy=True), plain(1))
    assert len(list(on_disk.iterdir())) == 1


def test_several_processes_may_use_a_copy(tmp_path, on_disk):
    path = written(plain(), tmp_path, "rows 64")
    first = sb.FileSource(path, target="y", copy=True)
    check_like_frame(sb.FileSource(path, target="y", copy=True), plain())
    check_like_frame(first, plain())
    next(on_disk.iterdir()).rename(tmp_path / "kept")
    sb.FileSource(path, target="y", copy=True)  # another process has written it at the same time
    check_like_frame(first, plain())


def test_a_copy_is_made_when_it_pays_and_is_announced(tmp_path, on_disk):
    path = written(plain(), tmp_path, "rows 64")
    source = sb.FileSource(path, target="y")
    source.take(np.arange(100))
    assert not on_disk.exists()
    source.take(np.arange(0, 500, 7))
    with pytest.warns(LocalCopy, match=r"writes an Arrow copy of 0 MB to .*copies"):
        source.take(np.arange(3))
    assert len(list(on_disk.iterdir())) == 1
    check_like_frame(source, plain())
    never = sb.FileSource(path, target="y", copy=False)
    for _ in range(3):
        never.take(np.arange(0, 500, 7))
    assert len(list(on_disk.iterdir())) == 1


def test_a_copy_needs_room(tmp_path, on_disk, monkeypatch):
    path = written(plain(), tmp_path, "rows 64")
    full = shutil._ntuple_diskusage(10, 10, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(InvalidInput, match=r"has room for 0 MB, .* set SHAPBAND_COPIES"):
        sb.FileSource(path, target="y", copy=True)
    source = sb.FileSource(path, target="y")
    for _ in range(3):
        source.take(np.arange(500))
    check_like_frame(source, plain())
    assert list(on_disk.iterdir()) == []


def test_unfinished_and_unused_copies_are_removed(tmp_path, on_disk):
    on_disk.mkdir()
    kept, old, unfinished = (on_disk / name for name in ("a-1.arrow", "b-1.arrow", "c.part"))
    for one in (kept, old, unfinished):
        one.write_bytes(b"")
    month, days = time.time() - 31 * 86400, time.time() - 2 * 86400
    os.utime(old, (month, month))
    os.utime(unfinished, (days, days))
    os.utime(kept, (days, days))
    sb.FileSource(written(plain(), tmp_path, "csv"), target="y", copy=True)
    assert kept.exists()
    assert not old.exists()
    assert not unfinished.exists()


def test_many_threads_may_ask_at_once(tmp_path):
    source = sb.FileSource(written(plain(), tmp_path, "rows 7"), target="y")
    whole = sb.FrameSource(plain(), "y").records
    wrong = []

    def ask(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            rows = rng.choice(500, 30)
            if not np.array_equal(source.take(rows).y, whole.take(rows).y):
                wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_row_groups_are_read_once_for_many_draws(tmp_path, monkeypatch):
    source = sb.FileSource(written(plain(), tmp_path, "rows 64"), target="y", copy=False)
    read = []
    original = pyarrow.parquet.ParquetFile.read_row_group
    monkeypatch.setattr(
        pyarrow.parquet.ParquetFile,
        "read_row_group",
        lambda self, part, columns: (
            read.append((part, columns)) or original(self, part, columns=columns)
        ),
    )
    rng = np.random.default_rng(0)
    source.take_many([rng.choice(500, 20) for _ in range(50)])
    assert sorted(part for part, _ in read) == list(range(8))
    narrow = sb.FileSource(tmp_path / "table.parquet", target="y", features=["dose"], copy=False)
    read.clear()
    narrow.take(np.array([70]))
    assert read == [(1, ["dose", "y"])]


def test_files_without_statistics_are_read(tmp_path):
    table = pa.table({"n": pa.array([1, None, 3]), "y": [1.0, 2.0, 3.0]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", write_statistics=False)
    check_like_frame(sb.FileSource(tmp_path / "x.parquet", target="y"), table.to_pandas())
