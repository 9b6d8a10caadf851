"""`value` of named data and a model gives the same bits as the objects that they stand for."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import shapband as sb
from shapband.errors import InvalidInput

RNG = np.random.default_rng(11)
FEATURES = ["age", "dose"]


def stays(n: int) -> pd.DataFrame:
    frame = pd.DataFrame(RNG.normal(size=(n, 2)), columns=FEATURES)
    return frame.assign(stay=frame["age"] - frame["dose"] + RNG.normal(size=n))


NORTH, SOUTH, ROWS = stays(60), stays(44), stays(50)
DRAWS = sb.Pooled(n_pool=60, n_boot=11, replace=False)  # a quarter of 44


def expected(frames: bool = True) -> sb.Valuation:
    """The valuation of the same data, written with providers, a utility and a sampling."""

    def source(frame: pd.DataFrame) -> sb.Source:
        if frames:
            return sb.FrameSource(frame, "stay")
        return sb.ArraySource(frame[FEATURES].to_numpy(), frame["stay"].to_numpy())

    rows = ROWS[FEATURES] if frames else ROWS[FEATURES].to_numpy()
    return sb.value(
        [sb.Provider("north", source(NORTH)), sb.Provider("south", source(SOUTH))],
        sb.utility_for(LinearRegression(), rows, ROWS["stay"]),
        sampling=DRAWS,
        n_games=6,
        seed=0,
    )


def arrays(frame: pd.DataFrame) -> tuple[Any, Any]:
    return frame[FEATURES].to_numpy(), frame["stay"].to_numpy()


def check_same(found: sb.Valuation, other: sb.Valuation) -> None:
    assert found.names == other.names
    assert found.games.tolist() == other.games.tolist()
    assert found.standard_error.tolist() == other.standard_error.tolist()


@pytest.mark.parametrize(
    "form",
    [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, lambda frame: pl.LazyFrame(frame)],
    ids=["pandas", "polars", "arrow", "lazy"],
)
def test_frames_of_all_libraries_have_the_same_values(form):
    data = {"north": form(NORTH), "south": form(SOUTH)}
    found = sb.value(
        data, LinearRegression(), target="stay", validation=form(ROWS), n_games=6, seed=0
    )
    check_same(found, expected())


def test_a_lazy_frame_is_collected_once():
    collected = []
    lazy = {
        name: pl.LazyFrame(frame).map_batches(lambda batch: collected.append(1) or batch)
        for name, frame in {"north": NORTH, "south": SOUTH}.items()
    }
    found = sb.value(
        lazy, LinearRegression(), target="stay", validation=pl.from_pandas(ROWS), n_games=6, seed=0
    )
    check_same(found, expected())
    assert len(collected) == 2


def test_tuples_have_the_values_of_arrays():
    data = {"north": arrays(NORTH), "south": arrays(SOUTH)}
    found = sb.value(data, LinearRegression(), validation=arrays(ROWS), n_games=6, seed=0)
    check_same(found, expected(frames=False))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_have_the_values_of_their_frames(kind, tmp_path):
    paths = {name: tmp_path / f"{name}.{kind}" for name in ("north", "south", "rows")}
    for (_, path), frame in zip(paths.items(), (NORTH, SOUTH, ROWS), strict=True):
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    rows = paths.pop("rows")
    found = sb.value(paths, LinearRegression(), target="stay", validation=rows, n_games=6, seed=0)
    check_same(found, expected())
    texts = {name: str(path) for name, path in paths.items()}
    found = sb.value(
        texts, LinearRegression(), target="stay", validation=str(rows), n_games=6, seed=0
    )
    check_same(found, expected())


def test_files_may_be_compressed_separated_by_semicolons_arrow_and_at_addresses(tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    with memory.open("/there/north.csv.gz", "wb") as file:
        file.write(gzip.compress(NORTH.to_csv(index=False, sep=";", decimal=",").encode()))
    SOUTH.to_feather(tmp_path / "south.arrow")
    found = sb.value(
        {"north": "memory://there/north.csv.gz", "south": tmp_path / "south.arrow"},
        LinearRegression(),
        target="stay",
        validation=ROWS,
        n_games=6,
        seed=0,
    )
    check_same(found, expected())


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "north.xlsx"
    path.write_text("no table")
    with pytest.raises(InvalidInput, match=r"\.csv or \.parquet file; received .*north.xlsx"):
        sb.value({"north": path}, LinearRegression(), target="stay", validation=ROWS)


def test_pairs_sources_and_providers_may_be_mixed():
    source = sb.FrameSource(SOUTH, "stay")
    forms: list[Any] = [
        [("north", NORTH), ("south", SOUTH)],
        [("north", NORTH), sb.Provider("south", source)],
        {"north": NORTH, "south": source},
    ]
    for form in forms:
        found = sb.value(
            form, LinearRegression(), target="stay", validation=ROWS, n_games=6, seed=0
        )
        check_same(found, expected())


def test_named_data_work_with_a_utility_and_a_sampling():
    utility = sb.utility_for(LinearRegression(), ROWS[FEATURES], ROWS["stay"])
    data = {"north": NORTH, "south": SOUTH}
    found = sb.value(data, utility, target="stay", sampling=DRAWS, n_games=6, seed=0)
    check_same(found, expected())
    assert "sampling_chosen" not in found.setup


def test_groups_work_with_a_model():
    members = [sb.Provider("north", sb.FrameSource(NORTH, "stay"))]
    players = [sb.Group("coast", members), ("south", SOUTH)]
    found = sb.value(players, LinearRegression(), target="stay", validation=ROWS, n_games=6, seed=0)
    assert found.names == ("north", "south")
    assert found.groups is not None
    assert found.groups.names == ("coast",)


def test_the_score_is_used():
    def flagged(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(stay=np.where(frame["stay"] > 0, "long", "short"))

    data = {"north": flagged(NORTH), "south": flagged(SOUTH)}
    rows = flagged(ROWS)
    options: dict[str, Any] = {"target": "stay", "validation": rows, "n_games": 4, "seed": 0}
    values = {
        score: sb.value(data, LogisticRegression(), score=score, **options)
        for score in ("roc_auc", "accuracy", None)
    }
    assert values["accuracy"].games.tolist() == values[None].games.tolist()
    assert values["roc_auc"].games.tolist() != values[None].games.tolist()
    assert "0.5 (a dummy model)" in values["roc_auc"].setup["empty"]


def test_a_pipeline_takes_strings():
    def with_ward(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(ward=np.where(frame["age"] > 0, "a", "b"))

    encoder = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    found = sb.value(
        {"north": with_ward(NORTH), "south": with_ward(SOUTH)},
        make_pipeline(encoder, LinearRegression()),
        target="stay",
        validation=with_ward(ROWS),
        n_games=2,
        seed=0,
    )
    assert np.isfinite(found.expectation).all()


def test_a_score_of_ones_own_and_odd_names_are_taken():
    def nearness(fitted: Any, X: Any, y: Any) -> float:
        return -float(np.abs(fitted.predict(X) - y).mean())

    data = {"north's": NORTH, "süd [2]\n": SOUTH}
    found = sb.value(
        data, LinearRegression(), target="stay", validation=ROWS, score=nearness, n_games=2, seed=0
    )
    assert found.names == tuple(data)
    assert "\n]" not in str(found)
