"""`shapband resume` extends a run."""

import json

import pytest
from tests.app.cli.test_cli import called, refused
from tests.runs.test_extended_runs import bits, bought_twice

import shapband as sb

CONFIG = """
n_games = {n_games}
seed = 3
providers = [{{ source = {{ kind = "task", task = "wine" }} }}]
sampling = {sampling}
solver = {{ kind = "permutation", n_iter = 2 }}
{more}
"""
POOLED = '{{ kind = "pooled", n_pool = {}, n_boot = 20 }}'
FRESH = '{ kind = "fresh", n_sample = 20 }'


def begun(folder, name, n_games=30, sampling=FRESH, more=""):
    text = CONFIG.format(n_games=n_games, sampling=sampling, more=more)
    (folder / f"{name}.toml").write_text(text)
    result = called("run", folder / f"{name}.toml", "--out", folder / name, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    return folder / name


CASES = {
    "games": ({"n_games": 30}, ["--games", 60], {"n_games": 60}),
    "pools": (
        {"sampling": POOLED.format(100)},
        ["--n-pool", 160],
        {"sampling": POOLED.format(160)},
    ),
    "both": (
        {"n_games": 10, "sampling": POOLED.format(100)},
        ["--n-pool", 160, "--games", 20],
        {"n_games": 20, "sampling": POOLED.format(160)},
    ),
    "precision": (
        {"n_games": 128, "more": "stop = { absolute = 0.5 }"},
        ["--precision", 0.03],
        {"n_games": 128, "more": "stop = { absolute = 0.03 }"},
    ),
    "budget": (
        {"more": "budget = { records = 1200 }"},
        ["--max-records", 3000, "--max-requests", 120],
        {"more": "budget = { records = 3000, requests = 120 }"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_options_of_resume_give_the_bits_of_a_direct_run(tmp_path, case):
    before, options, after = CASES[case]
    run = begun(tmp_path, "run", **before)
    first = sb.load(run).valuation
    result = called("resume", run, *options)
    assert result.exit_code == 0, result.output
    assert "\nextended: " in result.stdout
    found = sb.load(run).valuation
    assert bits(found) == bits(sb.load(begun(tmp_path, "direct", **after)).valuation)
    assert bits(found) != bits(first)
    assert bought_twice(run) == []
    sb.load(run).verify()
    # Without options, and with the same options, the result is the same.
    assert called("resume", run, *options, "--json").stdout == called("show", run, "--json").stdout
    assert len(json.loads(called("resume", run, "--json").stdout)["extensions"]) == 1
    called("report", run, "--out", tmp_path / "page.html")
    assert "Extended" in (tmp_path / "page.html").read_text()


def test_an_interrupted_extension_is_resumed_without_its_options(tmp_path, monkeypatch):
    from shapband.runs.solved import StoredGames

    run, store = begun(tmp_path, "run"), StoredGames.store_games

    def fail(self, games, *rest):
        raise RuntimeError("power is off")

    monkeypatch.setattr(StoredGames, "store_games", fail)
    assert called("resume", run, "--games", 60).exit_code != 0
    monkeypatch.setattr(StoredGames, "store_games", store)
    assert sb.load(run).status.state == "interrupted"
    assert sb.load(run).status.n_games == 60
    assert called("resume", run).exit_code == 0
    assert bits(sb.load(run).valuation) == bits(
        sb.load(begun(tmp_path, "direct", n_games=60)).valuation
    )
    assert called("resume", run, "--games", 70).exit_code == 0
    assert sb.load(run).valuation.n_games == 70


REFUSED = {
    "fewer games": (["--games", 20], "has played 30 games, more than the 20 asked for"),
    "no games": (["--games", 0], "n_games: "),
    "no pools": (["--n-pool", 200], "--n-pool: the sampling of the run must have pools"),
    "precision": (["--precision", -1], "stop.absolute: "),
    "budget": (["--max-records", 10], "has used 6,000 records in 300 requests"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_extend_a_run_is_one_line_and_leaves_it_untouched(tmp_path, case):
    options, said = REFUSED[case]
    run = begun(tmp_path, "run")
    digest = sb.load(run).status.digest
    assert said in refused("resume", run, *options)
    assert sb.load(run).status.digest == digest


def test_stratified_pools_cannot_grow(tmp_path):
    stratified = '{ kind = "stratified", n_pool = 100, n_boot = 20, alpha = 0.5 }'
    run = begun(tmp_path, "run", sampling=stratified)
    assert "Stratified takes the sizes of its draws" in refused("resume", run, "--n-pool", 200)


def test_a_run_that_python_extended_is_extended_by_python(tmp_path):
    run, task = begun(tmp_path, "run"), sb.datasets.wine()
    sb.value(
        task.providers, task.utility, sampling=sb.Fresh(20), solver=sb.Permutation(2), n_games=40,
        run=run,
    )  # fmt: skip
    assert called("resume", run).exit_code == 0
    assert "was extended from Python: call value(" in refused("resume", run, "--games", 50)
