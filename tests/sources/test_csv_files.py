"""CSV files: how they are written is found in them, and parts have the cells of the whole."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.sources.files import read_csv
from shapband.sources.reading.addresses import find_file
from shapband.sources.reading.csv_parts import survey
from shapband.sources.reading.dialects import find_dialect

CELLS = {
    "whole": ["1", "-20", "300"],
    "float": ["1.5", "2", "-3e-7", "0.1234567890123456789"],
    "gaps": ["1", "", "2"],
    "long": ["9007199254740993", "1.5", "7"],
    "huge": ["1", "99999999999999999999999", "2"],
    "flag": ["True", "False", "true"],
    "flags": ["True", "", "False"],
    "word": ["a", "b b", "é"],
    "words": ["a", "", "b"],
    "codes": ["01", "1", "x"],
    "late": ["1", "2", "3", "3", "3", "3", "oops"],
    "spaced": ["1.5", " NaN", "2"],
    "spaced words": ["yes", " NA", "no"],
    "numbers and flags": ["1", "True", "0"],
    "nothing": ["", "", ""],
}


def table(seed, n=41, columns=CELLS):
    rng = np.random.default_rng(seed)
    chosen = rng.choice(list(columns), size=min(6, len(columns)), replace=False)
    return pd.DataFrame({name: rng.choice(columns[name], n) for name in chosen})


def of_parts(path, size):
    found = survey(find_file(path, "path"), "path", size)
    parts = list(found.parts(list(found.kinds), size))
    assert [len(part) for part in parts] == list(found.sizes)
    for part in parts:
        for name, kind in found.kinds.items():
            if kind == "bool":
                part[name] = part[name].astype(object)
    return pd.concat(parts, ignore_index=True), found


@pytest.mark.parametrize("seed", range(40))
def test_parts_have_the_cells_that_pandas_reads_from_the_whole(seed, tmp_path):
    path = tmp_path / "table.csv"
    table(seed).to_csv(path, index=False)
    whole = read_csv(path, None, "path")
    for size in (1, 5, 1000):
        parts, found = of_parts(path, size)
        assert list(parts.columns) == list(whole.columns)
        for name in whole:
            expected = whole[name].astype(float) if name == "huge" else whole[name]
            if expected.dtype.kind in "if":
                pd.testing.assert_series_equal(parts[name], expected, check_exact=True)
            else:
                assert parts[name].isna().tolist() == expected.isna().tolist()
                known = parts[name].notna()
                assert parts[name][known].tolist() == expected[known].tolist()
            assert (name in found.gaps) == expected.isna().any()


@pytest.mark.parametrize("seed", range(10))
def test_a_source_has_the_records_of_a_frame(seed, tmp_path):
    path = tmp_path / "table.csv"
    cells = {name: cells for name, cells in CELLS.items() if name != "numbers and flags"}
    table(seed, columns=cells).assign(y=np.arange(41) / 7).to_csv(path, index=False)
    frame = sb.FrameSource(pd.read_csv(path, na_values=[" NaN", " NA"]), "y").records
    taken = sb.FileSource(path, target="y").take(np.arange(41))
    for name in frame.X:
        mine, theirs = taken.X[name], frame.X[name]
        assert mine.dtype == theirs.dtype, name
        pd.testing.assert_series_equal(mine, theirs, check_exact=True)
    np.testing.assert_array_equal(taken.y, frame.y)


NUMBERS = pd.DataFrame({"größe": [1.5, 2.25, -3.0], "n": [1, 2, 3], "y": [0.1, 0.2, 0.3]})
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize(("separator", "decimal"), [",.", ";.", "\t.", "|.", ";,", "\t,", "|,"])
@pytest.mark.parametrize(
    ("encoding", "suffix"),
    [("utf-8", ".gz"), ("utf-8-sig", ""), ("utf-16", ".bz2"), ("cp1252", ".xz")],
)
def test_a_file_is_read_however_it_is_written(separator, decimal, encoding, suffix, tmp_path):
    text = NUMBERS.to_csv(index=False, sep=separator, decimal=decimal)
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(PACK[suffix](text.encode(encoding)))
    pd.testing.assert_frame_equal(read_csv(path, None, "path"), NUMBERS, check_exact=True)
    source = sb.FileSource(path, target="y")
    pd.testing.assert_frame_equal(source.take(np.arange(3)).X, NUMBERS[["größe", "n"]])
    assert f"separator {separator!r}" in source.format
    assert ("decimal comma" in source.format) == (decimal == ",")
    assert ("encoding" in source.format) == (encoding != "utf-8")


def test_a_zstandard_file_is_read(tmp_path):
    import pyarrow as pa

    path = tmp_path / "table.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(NUMBERS.to_csv(index=False).encode())
    pd.testing.assert_frame_equal(read_csv(path, None, "path"), NUMBERS)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_a_header_is_an_error(text, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(sb.errors.InvalidInput, match=r"x.csv is empty: a CSV file begins with a h"):
        sb.FileSource(tmp_path / "x.csv", target="y")


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a\n1\n2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a;b,c\n1;2\n", ";"),
        ('name,note\nx,"one;two;three"\n', ","),
        ("a|b|c\n1|2;3|4,5\n", "|"),
        ("a,b\n1,2,\n3,4,\n", ","),
    ],
)
def test_the_separator_is_found(text, separator, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert find_dialect(find_file(path, "path"), "path").separator == separator


def test_commas_are_decimal_only_without_decimal_points(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1,5;2.5\n3,5;4.5\n")
    assert read_csv(path, None, "path")["a"].tolist() == ["1,5", "3,5"]
    path.write_text("a;b\n1,5;2\n;4\n3;x,y\n")
    assert read_csv(path, None, "path")["a"].tolist()[::2] == [1.5, 3.0]


def test_a_letter_far_down_the_file_does_not_hide_its_encoding(tmp_path):
    path = tmp_path / "x.csv"
    lines = [b"word,y"] + [b"plain,1.5"] * 150_000 + [b"gr\xfc\xdfe,2.5"]
    path.write_bytes(b"\n".join(lines))
    assert read_csv(path, None, "path")["word"].iloc[-1] == "grüße"
    assert sb.FileSource(path, target="y").take(np.array([150_000])).X["word"].tolist() == ["grüße"]


def test_a_number_keeps_all_its_bits(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=5_000) * 10.0 ** rng.integers(-300, 300, 5_000)
    path = tmp_path / "x.csv"
    pd.DataFrame({"x": numbers, "y": 1.0}).to_csv(path, index=False)
    np.testing.assert_array_equal(read_csv(path, None, "path")["x"], numbers)


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as stream:
        stream.write(b"x,y\n")
        for _ in range(20):
            stream.write(bytes(2**20))
    path.write_bytes(packed.getvalue())
    with pytest.raises(InvalidInput, match=r"bomb.csv.gz.* a line of more than"):
        sb.FileSource(path, target="y")
    with pytest.raises(InvalidInput, match=r"bomb.csv.gz.* a line of more than"):
        read_csv(path, None, "path")
    monkeypatch.setattr("shapband.sources.reading.dialects._ALWAYS_ALLOWED", 10**6)
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,1\n" * 10**6))
    with pytest.raises(InvalidInput, match=r"bomb.csv.gz expands to more than 1,000,000 bytes"):
        sb.FileSource(path, target="y")


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_file_that_was_cut_off_is_named(cut, tmp_path):
    text = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 2)), columns=["x", "y"])
    packed = gzip.compress(text.to_csv(index=False).encode())
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(packed[: int(cut * len(packed))])
    with pytest.raises(InvalidInput, match=r"cut.csv.gz cannot be read"):
        sb.FileSource(path, target="y")
