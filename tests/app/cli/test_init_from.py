"""`shapband init --from` writes a configuration for tables that it finds, which runs as it is."""

import gzip

import fsspec
import numpy as np
import pandas as pd
import pytest
from tests.app.cli.test_cli import called, refused

import shapband as sb
from shapband.app.config import found_files
from shapband.app.config.config import Config


def table(seed, n=60, target="outcome"):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", 'dose "x" #1'])
    frame["ward"] = rng.choice(["a", "b"], n)
    frame["gaps"] = np.where(rng.random(n) < 0.2, np.nan, 1.0)
    return frame.assign(**{target: frame["age"] + rng.normal(size=n)})


def made(tmp_path, *options):
    """Write a configuration, and build it."""
    result = called("init", tmp_path / "run.toml", *options)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "run.toml").read_text()
    return text, Config.parse(text).build(tmp_path).arguments


@pytest.mark.parametrize("way", ["csv", "csv.gz", "parquet"])
def test_small_files_run_as_they_are(way, tmp_path):
    (tmp_path / "data").mkdir()
    for seed, name in enumerate(("north", "south")):
        path = tmp_path / "data" / f"{name}.{way}"
        table(seed).to_parquet(path) if way == "parquet" else table(seed).to_csv(
            path, index=False, sep=";", decimal=","
        )
    text, given = made(tmp_path, "--from", tmp_path / "data")
    assert [one.name for one in given.providers] == ["north", "south"]
    assert given.providers[0].source.schema.columns == ("age", 'dose "x" #1')
    assert "features, which must be numbers without gaps in all tables: ward, gaps" in text
    result = called("run", tmp_path / "run.toml", "--out", tmp_path / "run", "--quiet")
    assert result.exit_code == 0, result.output
    assert sb.load(tmp_path / "run").valuation.names == ("north", "south")


def labelled(frame, labels):
    return frame.assign(outcome=pd.cut(frame["outcome"], len(labels), labels=labels).astype(str))


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["no", "yes"], "LogisticUtility"), (["low", "mid", "high"], "NeighborUtility")],
)
def test_labels_are_classified(labels, kind, tmp_path):
    labelled(table(0), labels).to_csv(tmp_path / "all.csv", index=False)
    _, given = made(tmp_path, "--from", tmp_path / "all.csv")
    assert type(given.utility).__name__ == kind


def test_a_column_may_name_the_providers(tmp_path):
    frame = table(0).assign(site=np.repeat(["a", "b", "c"], [30, 20, 10]))
    frame.to_parquet(tmp_path / "all.parquet")
    _, given = made(tmp_path, "--from", tmp_path / "all.parquet")
    assert [one.name for one in given.providers] == ["a", "b", "c"]
    assert given.sampling.n_pool == 7


def test_a_file_called_validation_has_the_validation_rows(tmp_path):
    table(0).to_csv(tmp_path / "north.csv", index=False)
    table(1, 35).to_csv(tmp_path / "validation.csv", index=False)
    _, given = made(tmp_path, "--from", f"{tmp_path}/*.csv")
    assert [(one.name, one.source.size) for one in given.providers] == [("north", 60)]
    assert "35 validation rows" in repr(given.utility)


def test_large_files_are_read_row_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr(found_files, "_IN_MEMORY", 0)
    for seed, name in enumerate(("north", "south")):
        (tmp_path / "lake" / f"site={name}").mkdir(parents=True)
        table(seed).to_parquet(tmp_path / "lake" / f"site={name}" / "part.parquet")
    result = called("init", tmp_path / "run.toml", "--from", tmp_path / "lake")
    assert result.exit_code == 0
    text = (tmp_path / "run.toml").read_text()
    assert "Before it runs, name a file of validation rows" in text
    table(9).to_csv(tmp_path / "validation.csv", index=False)
    given = Config.parse(text).build(tmp_path).arguments
    assert [repr(one.source) for one in given.providers] == [
        "FileSource(60 records, 2 features)"
    ] * 2


def test_a_target_that_is_not_known_is_left_to_the_user(tmp_path):
    table(0, target="stay").to_csv(tmp_path / "north.csv", index=False)
    assert called("init", tmp_path / "one.toml", "--from", tmp_path / "north.csv").exit_code == 0
    text = (tmp_path / "one.toml").read_text()
    assert 'write the column to predict in place of "TARGET"' in text
    line = refused("run", tmp_path / "one.toml", "--out", tmp_path / "run")
    assert "has no column 'TARGET'" in line
    _, given = made(tmp_path, "--from", tmp_path / "north.csv", "--target", "stay")
    assert given.providers[0].name == "north"


def test_tables_may_be_at_an_address(tmp_path):
    memory = fsspec.filesystem("memory")
    memory.pipe("/init/north.csv", table(0).to_csv(index=False).encode())
    text, given = made(tmp_path, "--from", "memory://init")
    assert 'path = "memory:///init/north.csv"' in text
    assert given.providers[0].source.size == 42


@pytest.mark.parametrize("first", ["north", "south", "validation"])
def test_columns_that_a_table_lacks_are_left_out_and_named(first, tmp_path):
    (tmp_path / "data").mkdir()
    for seed, name in enumerate(("north", "south", "validation")):
        frame = table(seed).assign(beds=1.0, code="7" if name == "north" else "x")
        lesser = frame if name == first else frame.drop(columns="beds")
        lesser.to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    text, given = made(tmp_path, "--from", tmp_path / "data")
    assert given.providers[0].source.schema.columns == ("age", 'dose "x" #1')
    lacking = "south" if first == "north" else "north"
    assert f"beds (number, not in {lacking}.csv)" in text
    assert "code (number or string)" in text
    (line,) = (one for one in text.splitlines() if "Not among the features" in one)
    assert {"ward", "gaps", "beds", "code"} == set(line.partition(": ")[2].split(", "))
    result = called("run", tmp_path / "run.toml", "--out", tmp_path / "run", "--quiet")
    assert result.exit_code == 0, result.output


def test_a_column_that_all_tables_have_is_a_feature(tmp_path):
    (tmp_path / "data").mkdir()
    for seed, name in enumerate(("north", "south", "validation")):
        table(seed).assign(beds=1.0).to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    text, given = made(tmp_path, "--from", tmp_path / "data")
    assert given.providers[0].source.schema.columns == ("age", 'dose "x" #1', "beds")
    assert "not in" not in text


def test_a_target_that_a_table_lacks_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    table(0).to_csv(tmp_path / "data" / "north.csv", index=False)
    table(1).rename(columns={"outcome": "result"}).to_csv(tmp_path / "data/south.csv", index=False)
    given = ("--from", tmp_path / "data", "--target", "outcome")
    line = refused("init", tmp_path / "run.toml", *given)
    assert "--target outcome is not a column of south.csv: move this file elsewhere" in line
    assert called("init", tmp_path / "run.toml", *given[:2]).exit_code == 0
    assert 'in place of "TARGET"' in (tmp_path / "run.toml").read_text()


EMPTY = {"a.csv": b"", "b.csv": b"\n \n", "c.csv": b"age,outcome\n", "d.csv.gz": gzip.compress(b"")}


@pytest.mark.parametrize("empty", [*EMPTY, "all"])
def test_tables_without_rows_are_left_out_and_named(empty, tmp_path):
    (tmp_path / "data").mkdir()
    names = list(EMPTY) if empty == "all" else [empty]
    for name in names:
        (tmp_path / "data" / name).write_bytes(EMPTY[name])
    assert "no file has rows" in refused("init", tmp_path / "r.toml", "--from", tmp_path / "data")
    for seed, name in enumerate(("north", "south")):
        table(seed).to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    text, given = made(tmp_path, "--from", tmp_path / "data")
    assert f"2 providers (left out, without rows: {', '.join(names)})" in text
    assert [one.name for one in given.providers] == ["north", "south"]
    assert given.providers[0].source.schema.columns == ("age", 'dose "x" #1')


def test_an_empty_part_of_a_large_table_must_be_removed(tmp_path):
    for seed, name in enumerate(("north", "south")):
        (tmp_path / "lake" / name).mkdir(parents=True)
        for part in range(2):
            table(seed + part).to_csv(tmp_path / "lake" / name / f"{part}.csv", index=False)
    (tmp_path / "lake" / "south" / "2.csv").write_text("")
    table(9).to_csv(tmp_path / "validation.csv", index=False)
    result = called("init", tmp_path / "run.toml", "--from", tmp_path / "lake")
    assert "(left out, without rows: south/2.csv)" in result.output
    text = (tmp_path / "run.toml").read_text()
    assert "and remove south/2.csv, without rows:" in text
    with pytest.raises(sb.errors.InvalidInput, match=r"2.csv is empty: a CSV file begins with a"):
        Config.parse(text).build(tmp_path)
    (tmp_path / "lake" / "south" / "2.csv").unlink()
    assert len(Config.parse(text).build(tmp_path).arguments.providers) == 2


def test_every_format_is_named(tmp_path):
    (tmp_path / "data").mkdir()
    for seed, separator in enumerate("\t;\t"):
        table(seed).to_csv(tmp_path / "data" / f"{seed}.csv", index=False, sep=separator)
    result = called("init", tmp_path / "run.toml", "--from", tmp_path / "data")
    told = r"found 3 files (CSV, separator '\t'; CSV, separator ';'), 3 providers"
    assert result.stdout.splitlines()[0] == told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from", "nix"), "there is no file nix"),
        (("--from", "s3://b/x.csv"), "pip install s3fs"),
        (("--from", "{folder}", "--target", "outcom"), "did you mean outcome?"),
        (("--from", "{folder}/none.xlsx"), "there is no Parquet, Arrow or CSV file"),
        (("--from", "{folder}/bad.parquet"), "bad.parquet cannot be read"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_writes_no_file(options, message, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    table(0).to_csv(folder / "north.csv", index=False)
    (tmp_path / "data" / "none.xlsx").write_text("")
    if "bad" in options[1]:
        (folder / "bad.parquet").write_bytes(b"PAR1")
    options = [one.format(folder=folder) for one in options]
    assert message in refused("init", tmp_path / "run.toml", *options)
    assert not (tmp_path / "run.toml").exists()


def test_an_existing_file_is_left_alone(tmp_path):
    (tmp_path / "run.toml").write_text("mine")
    table(0).to_csv(tmp_path / "north.csv", index=False)
    assert "exists" in refused("init", tmp_path / "run.toml", "--from", tmp_path / "north.csv")
    assert (tmp_path / "run.toml").read_text() == "mine"
    assert called("init", tmp_path / "new.toml", "--target", "y").exit_code == 2
