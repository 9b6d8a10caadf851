"""Experiments with other sizes: checked, stated in every output, and apart from the page."""

import re

import pandas as pd
import pytest

from reproduction.__main__ import main
from reproduction.changes import change
from reproduction.latex import document, escape, long_table
from reproduction.run import EXPERIMENTS
from tests.reproduction.tiny import TINY


@pytest.mark.parametrize(
    ("name", "setting", "key", "value"),
    [
        ("source-budget", "n_boot=40", "n_boot", 40),
        ("source-budget", " alpha = 0.75 ", "alpha", 0.75),
        ("source-budget", "games=10,50", "games", (10, 50)),
        ("baseline-grid", "n_boot=500,40", "n_boot", (500, 40)),
        ("digits", "n_iter=12", "n_iter", 12),
        ("sensitivity", "alphas=0.5,1.0", "alphas", (0.5, 1.0)),
        ("latency", "milliseconds=0,5", "milliseconds", (0, 5)),
    ],
)
def test_a_value_has_the_type_of_its_field(name, setting, key, value):
    plain = EXPERIMENTS[name]["quick"]
    changed = change(plain, [setting])
    found = getattr(changed.experiment, key)
    assert (found, type(found)) == (value, type(value))
    assert changed.experiment.cells(0) != plain.cells(0)
    assert changed.words.startswith(f"{key} ")
    assert changed.folder != name


def test_none_solves_digits_exactly():
    assert change(EXPERIMENTS["digits"]["paper"], ["n_iter=none"]).experiment.n_iter is None


@pytest.mark.parametrize("key", ["n_boot", "n_pool", "alpha"])
@pytest.mark.parametrize("name", ["source-budget", "digits", "latency"])
def test_the_sizes_of_pools_and_games_reach_the_cells(name, key):
    value = {"n_boot": 20, "n_pool": 150, "alpha": 0.6}[key]
    cells = change(EXPERIMENTS[name]["quick"], [f"{key}={value}"]).experiment.cells(0)
    assert {cell[key] for cell in cells if key in cell} == {value}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("n_boots=40", "source-budget has no n_boots; its keys are replications=20, games=10,20"),
        ("=40", "has no empty key"),
        ("n_boot", "--set needs KEY=VALUE"),
        ("n_boot=4.5", "n_boot must be a whole number from 1"),
        ("n_boot=0", "n_boot must be a whole number from 1"),
        ("n_boot=", "n_boot must be a whole number from 1"),
        ("n_boot=9999999999", "n_boot must be a whole number from 1"),
        ("n_boot=251", "n_boot must be at most n_pool"),
        ("n_boot=60", "--set changes nothing"),
        ("replications=1", "replications must be a whole number from 2"),
        ("alpha=nan", "alpha must be above 0 and at most 1"),
        ("alpha=1.5", "alpha must be above 0 and at most 1"),
        ("games=", "games must be numbers in ascending order"),
        ("games=50,10", "games must be numbers in ascending order"),
        ("name=other", "has no name"),
        ("__class__=1", "has no __class__"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_measured(tmp_path, capsys, setting, message):
    with pytest.raises(SystemExit, match="2"):
        main(["source-budget", "--set", setting, "--out", str(tmp_path / "out")])
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "replications=3"], "--set changes one experiment: give its name"),
        (["example", "--set", "pools=9", "--docs", "docs"], "leave out --docs"),
        (["example", "--set", "pools=9", "--set", "pools=8"], "pools is given twice"),
        (["baseline-grid", "--set", "n_boot=40"], "n_boot must be 2 numbers"),
    ],
)
def test_a_wrong_call_is_refused(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--out", str(tmp_path / "out")])
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small(monkeypatch):
    for name in ("example", "latency"):
        monkeypatch.setitem(EXPERIMENTS, name, {"quick": TINY[name]})


@pytest.mark.long
def test_a_changed_run_says_so_everywhere_and_leaves_the_page_alone(tmp_path, capsys, small):
    out = tmp_path / "out"
    main(["example", "--out", str(out)])
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    capsys.readouterr()
    main(["example", "--set", "pools=12", "--latex", "--out", str(out)])
    printed = capsys.readouterr().out.splitlines()
    words = "CHANGED: pools 10 -> 12"
    assert printed[0].startswith(words)
    assert printed[-1].startswith(words)
    assert {path: path.read_bytes() for path in before} == before
    folder = out / "changed" / "example-pools=12"
    page = (folder / "comparison.md").read_text("utf-8").splitlines()
    assert page[2].startswith(f"> **{words}.**")
    assert set(pd.read_csv(folder / "data.csv").changed) == {"pools 10 -> 12"}
    assert (folder / "figure.svg").read_text("utf-8").startswith("<?xml")
    for name in ("comparison.tex", "data.tex"):
        text = (folder / name).read_text("utf-8")
        assert "% CHANGED: pools 10 -> 12" in text
        assert r"(CHANGED: pools 10 -\textgreater{} 12)" in text
    main(["example", "--out", str(out)])
    assert "CHANGED" not in (out / "reproduction.md").read_text("utf-8")


def test_data_are_kept_if_the_claims_cannot_be_compared(tmp_path, capsys, small, monkeypatch):
    def conclude(self, frame):
        raise KeyError("n_games")

    monkeypatch.setattr(type(TINY["example"]), "conclude", conclude)
    main(["example", "--set", "pools=5", "--out", str(tmp_path)])
    assert "cannot be compared" in capsys.readouterr().out
    folder = tmp_path / "changed" / "example-pools=5"
    assert set(pd.read_csv(folder / "data.csv").changed) == {"pools 10 -> 5"}
    assert "KeyError" in (folder / "comparison.md").read_text("utf-8")
    with pytest.raises(KeyError):  # an unchanged experiment that fails is a bug
        main(["example", "--out", str(tmp_path)])


@pytest.mark.long
def test_sizes_that_the_paper_has_no_numbers_for_leave_the_data(tmp_path, capsys, small):
    main(["latency", "--set", "milliseconds=0,3", "--out", str(tmp_path)])
    assert "cannot be compared" in capsys.readouterr().out
    folder = tmp_path / "changed" / "latency-milliseconds=0,3"
    assert set(pd.read_csv(folder / "data.csv").delay) == {0, 3}
    assert "cannot be compared" in (folder / "comparison.md").read_text("utf-8")


def cells_of(text):
    """Rows of a LaTeX table, by the marks that are not escaped."""
    body = text.split("\\endfoot\n")[1].split(r"\end{longtable}")[0]
    rows = [row for row in body.split("\\\\\n") if row.strip()]
    return [re.split(r"(?<!\\)&", row) for row in rows]


def test_latex_tables_have_the_rows_of_the_page(tmp_path, small):
    main(["example", "--latex", "--out", str(tmp_path)])
    folder = tmp_path / "example"
    text = (folder / "comparison.tex").read_text("utf-8")
    page = (folder / "comparison.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    rows = [row for part in text.split(r"\begin{longtable}")[1:] for row in cells_of(part)]
    assert len(rows) == len(lines) - 2 * page.count("\n## ")
    assert {len(row) for row in rows} == {7}
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert rule in text
    data = pd.read_csv(folder / "data.csv")
    rows = cells_of((folder / "data.tex").read_text("utf-8"))
    assert (len(rows), len(rows[0])) == data.shape
    assert "CHANGED" not in text


def test_nothing_that_is_special_to_latex_is_left():
    evil = r"50 % of $v_1$ & {x} # ~ ^ \input{/etc/passwd} < > | ± ×"
    plain = re.sub(r"\\(textbackslash|text[a-z]+)\{\}|\\[&%$#_{}]|\$[^$]*\$", "", escape(evil))
    assert not re.search(r"[&%$#_{}~^\\<>|]", plain)
    table = long_table(evil, [evil, "b"], [[evil, evil]])
    assert cells_of(table) == [[f"{escape(evil)} ", f" {escape(evil)} "]]
    assert r"\input" not in document([table], "")


@pytest.mark.long  # it runs all experiments of the quick profile
def test_all_words_of_the_claims_can_be_set_by_pdflatex(all_found):
    for report in all_found.values():
        for row in [*report.claims, *report.table, *report.beyond]:
            assert escape(" ".join(vars(row).values())).isascii(), row
