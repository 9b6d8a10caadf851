"""Files in the configuration: of any size, compressed, at addresses; rows that are held out."""

import gzip

import fsspec
import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.app.config.config import Config
from shapband.errors import InvalidInput
from shapband.inputs.validation import hold_out

START = 'n_games = 3\nseed = 3\nsampling = { kind = "fresh", n_sample = 10 }\n'
NAMES = ("north", "south")


def linear(features=""):
    rows = f'kind = "csv", path = "rows.csv", target = "stay"{features}'
    return f'utility = {{ kind = "linear", validation = {{ {rows} }} }}\n'


def one(source, name=""):
    return f"providers = [{{ {name} source = {{ {source} }} }}]\n"


def table(seed, n=40):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "dose"])
    return frame.assign(stay=frame["age"] - 2 * frame["dose"] + rng.normal(size=n))


@pytest.fixture
def folder(tmp_path):
    for seed, name in enumerate(("north", "south")):
        table(seed).to_csv(tmp_path / f"{name}.csv", index=False)
        table(seed).to_parquet(tmp_path / f"{name}.parquet", row_group_size=9)
        (tmp_path / f"{name}.csv.gz").write_bytes(
            gzip.compress(table(seed).to_csv(index=False, sep=";", decimal=",").encode())
        )
        (tmp_path / "lake" / f"site={name}").mkdir(parents=True)
        table(seed).to_parquet(tmp_path / "lake" / f"site={name}" / "part.parquet")
        memory = fsspec.filesystem("memory")
        memory.pipe(f"/config/{name}.csv", (tmp_path / f"{name}.csv").read_bytes())
    table(9).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def games(text, folder):
    given = Config.parse(text).build(folder).arguments
    options = {"sampling": given.sampling, "n_games": given.n_games, "seed": 3}
    return sb.value(given.providers, given.utility, **options).games


def frames():
    return [
        sb.Provider(name, sb.FrameSource(table(seed), "stay")) for seed, name in enumerate(NAMES)
    ]


def two(kind, path):
    listed = []
    for name in NAMES:
        source = f'kind = "{kind}", path = "{path.format(name)}", target = "stay"'
        listed.append(f'{{ name = "{name}", source = {{ {source} }} }}')
    return f"providers = [{', '.join(listed)}]\n"


@pytest.mark.parametrize(
    "providers",
    [
        two("csv", "{}.csv"),
        two("csv", "{}.csv.gz"),
        two("csv", "memory://config/{}.csv"),
        two("files", "{}.parquet"),
        two("files", "{}.csv.gz"),
        one('kind = "files", path = "*.parquet", target = "stay"'),
        one('kind = "files", path = "memory://config/*.csv", target = "stay"'),
        one('kind = "files", path = "lake", by = "site", target = "stay"'),
        one('kind = "files", path = "lake", target = "stay"'),
    ],
)
def test_every_way_to_name_files_gives_the_same_games(providers, folder):
    rows = table(9)
    utility = sb.LinearUtility(rows[["age", "dose"]], rows["stay"])
    expected = sb.value(frames(), utility, sampling=sb.Fresh(10), n_games=3, seed=3)
    np.testing.assert_array_equal(games(START + providers + linear(), folder), expected.games)


def test_conditions_and_features_are_used(folder):
    source = 'kind = "files", path = "north.parquet", target = "stay", '
    source += 'features = ["dose"], where = [["age", ">", 0.5]]'
    text = START + one(source, 'name = "a",') + linear(', features = ["dose"]')
    (provider,) = Config.parse(text).build(folder).arguments.providers
    assert provider.source.size == (table(0)["age"] > 0.5).sum()
    assert provider.source.schema.columns == ("dose",)


S3 = r"s3://b/x.csv needs .*pip install s3fs"


@pytest.mark.parametrize(
    ("kind", "path", "others", "message"),
    [
        ("files", "nix", "", r"^providers\[0\]\.source: .*there is no file .*nix"),
        ("files", "s3://b/x.csv", "", rf"^providers\[0\]\.source: .*{S3}"),
        ("csv", "s3://b/x.csv", "", rf"^providers\[0\]\.source\.path: {S3}"),
        ("files", "north.csv", ', features = ["aeg"]', "did you mean age"),
        ("files", "north.csv", ', where = [["age", 1]]', r"source\.where\[0\]"),
        ("files", "north.csv", ', where = [["age", "~", 1]]', "with one of the operators"),
        ("files", "lake", ', by = "site"', r"name: must be left out"),
        ("files", "north.csv", ", separator = 1", "is not a known key"),
    ],
)
def test_bad_tables_of_files_are_refused_by_their_key(kind, path, others, message, folder):
    source = f'kind = "{kind}", path = "{path}", target = "stay"{others}'
    with pytest.raises(InvalidInput, match=message):
        Config.parse(START + one(source, 'name = "a",') + linear()).build(folder)


def test_rows_are_held_out_as_value_does(folder):
    text = START + two("csv", "{}.csv") + 'utility = { kind = "linear", validation = 0.3 }\n'
    players, rows = hold_out(frames(), 0.3, 3)
    assert len(rows) == 24
    utility = sb.LinearUtility(rows.X, rows.y)
    expected = sb.value(players, utility, sampling=sb.Fresh(10), n_games=3, seed=3)
    np.testing.assert_array_equal(games(text, folder), expected.games)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 3\n", "", r"^seed: must be given with utility\.validation = 0\.3"),
        ("0.3", "30", r"^utility\.validation: must be a table, or a fraction .* received 30"),
        ("0.3", "1.0", r"^utility\.validation: must be a table, or a fraction .* received 1\.0"),
        ("0.3", "true", r"^utility\.validation: must be a table, or a fraction"),
        (
            '"csv"',
            '"files"',
            "must hold out records in memory, and provider 'north' has a FileSource",
        ),
    ],
)
def test_a_fraction_that_cannot_be_held_out_is_refused(old, new, message, folder):
    text = START + two("csv", "{}.csv") + 'utility = { kind = "linear", validation = 0.3 }\n'
    with pytest.raises(InvalidInput, match=message):
        Config.parse(text.replace(old, new)).build(folder)
