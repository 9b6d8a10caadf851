"""shapband plan, and shapband run --dry-run."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests.app.cli.test_cli import called, refused

import shapband as sb
from shapband.app.config.config import Config
from shapband.app.config.written import to_toml

CONFIG = """
seed = 3
n_games = 30
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "pooled", n_pool = 200, n_boot = 40 }
budget = { records = 2000 }
prices = { record = "0.02", request = 1 }
"""
pytestmark = pytest.mark.usefixtures("warm_kernels")
QUICK = ("--minutes", "0.3")


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(CONFIG)
    return file


def test_a_dry_run_says_what_the_run_takes(config, tmp_path):
    result = called("run", "--dry-run", config)
    assert result.exit_code == 0, result.output
    assert "total                    10    2,000" in result.stdout
    assert result.stdout.splitlines()[-2:] == [
        "coalitions to evaluate: 30,690", "money: 50.00",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.toml"]
    bill = json.loads(called("run", config, "--dry-run", "--json").stdout)
    called("run", config, "--out", tmp_path / "run", "--quiet")
    valuation = sb.load(tmp_path / "run").valuation
    assert bill["records"] == valuation.access.records
    assert bill["requests"] == valuation.access.requests
    assert bill["evaluations"] == valuation.evaluations
    assert bill["money"] == "50.00"
    assert len(bill["providers"]) == 10


@pytest.mark.parametrize(
    "table",
    [
        'participation = { kind = "cohort", k = 4 }',
        'index = { kind = "banzhaf" }',
        'providers = [{ group = "wine", source = { kind = "task", task = "wine" } }]',
        'sampling = { kind = "pooled", n_pool = 0.5, n_boot = 0.1 }',
        "fixed_validation = true",
    ],
)
def test_a_plan_keeps_what_the_file_says_about_the_games(config, tmp_path, table):
    key = table.split()[0]
    kept = [line for line in CONFIG.splitlines() if not line.startswith(key)]
    config.write_text("\n".join([*kept, table]))
    new, run = tmp_path / "new.toml", tmp_path / "run"
    result = called("plan", config, "--minutes", "0.05", "--write", new, "--out", run)
    assert result.exit_code == 0, result.output
    before, after = (tomllib.loads(file.read_text()) for file in (config, new))
    if key == "sampling":
        assert after["sampling"].get("n_boot", after["sampling"].get("n_sample")) == 0.1
    else:
        assert after[key] == before[key]
    valuation = sb.load(run).valuation
    assert valuation.access.records <= 2000
    by_hand = Config.read(new).build(tmp_path).arguments
    assert valuation.design.setup == by_hand.setup
    assert (valuation.design.grouping, valuation.design.participation) == (
        by_hand.grouping,
        by_hand.participation,
    )


def test_a_draw_that_a_stock_cannot_give_is_refused_by_the_name_of_its_provider(config):
    config.write_text(CONFIG.replace("n_boot = 40", "n_boot = 300"))
    message = refused("plan", config, *QUICK)
    assert "provider" in message
    assert "fewer than n_sample=300" in message


def test_a_run_needs_a_directory(config):
    result = called("run", config)
    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_a_dry_run_beyond_the_budget_is_refused(config):
    config.write_text(CONFIG.replace("records = 2000", "records = 1000"))
    assert "does not pay for the pools" in refused("run", "--dry-run", config)


def test_a_plan_is_printed_written_and_played(config, tmp_path):
    written, run, again = tmp_path / "new.toml", tmp_path / "run", tmp_path / "again"
    result = called("plan", config, *QUICK, "--write", written, "--out", run)
    assert result.exit_code == 0, result.output
    assert "10 providers: the smallest error within 2,000 records and 0.3 min" in result.stdout
    assert "\n→ " in result.stdout
    document = tomllib.loads(written.read_text())
    before = tomllib.loads(CONFIG)
    for key in ("providers", "budget", "prices", "seed"):
        assert document[key] == before[key]
    assert called("run", written, "--out", again, "--quiet").exit_code == 0
    planned, plain = sb.load(run).valuation, sb.load(again).valuation
    np.testing.assert_array_equal(planned.games, plain.games)
    assert planned.n_games == document["n_games"]
    assert planned.access.records <= 2000
    sb.load(run).verify()
    assert called("resume", run).exit_code == 0


def test_a_plan_for_programs(config):
    result = called("plan", config, "--error", "0.02", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    (best,) = [row for row in found["rows"] if row["recommended"]]
    assert best["half_width_worst"] <= 0.02
    assert float(best["money"]) == pytest.approx(0.02 * best["records"] + best["requests"])
    assert found["pilot"]["records"] == 800
    assert found["seed"] == 3


def test_quiet_prints_nothing(config, tmp_path):
    result = called("plan", config, *QUICK, "--quiet", "--write", tmp_path / "new.toml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert Config.read(tmp_path / "new.toml").seed == 3


def test_the_seed_of_the_pilot_is_written(config, tmp_path):
    config.write_text(CONFIG.replace("seed = 3", ""))
    assert called("plan", config, *QUICK, "--write", tmp_path / "new.toml").exit_code == 0
    assert Config.read(tmp_path / "new.toml").seed is not None


def test_time_of_the_file_is_the_limit(config):
    config.write_text(CONFIG + "stop = { seconds = 3 }\n")
    assert "and 0.05 min" in called("plan", config).stdout


def test_what_a_plan_refuses(config, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    assert "must be in the folder of" in refused("plan", config, "--write", other / "new.toml")
    assert "exists" in refused("plan", config, "--write", config)
    assert "name a new or empty directory" in refused("plan", config, "--out", tmp_path)
    assert "minutes must be above 0" in refused("plan", config, "--minutes", "0")
    assert "money must be an amount" in refused("plan", config, "--money", "much")
    config.write_text(CONFIG.replace("prices", "# prices"))
    assert "money needs prices" in refused("plan", config, "--money", "5")
    config.write_text(f'{CONFIG}workers = "ray"\n')
    assert 'workers: a plan measures this machine, not a cluster; received "ray"' in refused(
        "plan", config
    )


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ("{ record = -1 }", "prices.record: must be an amount of at least 0"),
        ('{ request = "much" }', "prices.request: must be an amount"),
        ("{ recrod = 1 }", "prices.recrod: is not a known key; did you mean record?"),
        ("{ record = [1] }", "prices.record"),
    ],
)
def test_bad_prices_point_to_their_key(config, prices, message):
    config.write_text(CONFIG.replace('{ record = "0.02", request = 1 }', prices))
    assert message in refused("run", "--dry-run", config)


def test_a_sampling_of_ones_own_has_no_size(config, tmp_path, monkeypatch):
    (tmp_path / "own_sampling.py").write_text(
        "import shapband as sb\n"
        "class Own(sb.Sampling):\n"
        "    def check(self, providers): pass\n"
        "    def prepare(self, access): pass\n"
    )
    config.write_text(
        CONFIG.replace(
            '{ kind = "pooled", n_pool = 200, n_boot = 40 }',
            '{ kind = "object", object = "own_sampling:Own" }',
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "use a sampling with n_sample or n_boot" in refused("plan", config)
    assert "Own does not say what it will ask for" in refused("run", "--dry-run", config)


@pytest.mark.parametrize(
    "document",
    [
        {"a": 1, "b": {"c d": [1.5, True, {"é": 'x"\\\n\x7f\x01😀'}]}, "empty": {}, "none": []},
        {"big": 10**12, "small": 1e-300, "negative": -0.5, "nested": [[1], [2, 3]], "a.b": "x"},
        tomllib.loads("d = 2020-01-02\nt = 2020-01-02T03:04:05Z\n"),
    ],
)
def test_toml_that_is_written_is_read_back(document):
    assert tomllib.loads(to_toml(document)) == document


def test_the_folder_of_the_configuration_may_be_named_in_any_way(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert called("plan", "run.toml", *QUICK, "--quiet", "--write", "new.toml").exit_code == 0
    assert Path("new.toml").exists()


def test_the_data_of_a_plan_that_is_played_is_loaded_once(config, tmp_path, monkeypatch):
    (tmp_path / "counted_source.py").write_text(
        "import numpy as np, shapband as sb\n"
        "made = []\n"
        "class Counted(sb.ArraySource):\n"
        "    def __init__(self, shift):\n"
        "        made.append(shift)\n"
        "        super().__init__(np.arange(300.0).reshape(-1, 1), np.arange(300.0) % 7 + shift)\n"
        "class Sums(sb.AdditiveUtility):\n"
        "    def __init__(self):\n"
        "        made.append('utility')\n"
        "        super().__init__()\n"
    )
    source = '{ kind = "object", object = "counted_source:Counted", options = { shift = %d } }'
    providers = ", ".join(f'{{ name = "{n}", source = {source % n} }}' for n in range(3))
    config.write_text(
        f"seed = 3\nn_games = 10\nproviders = [{providers}]\n"
        'sampling = { kind = "fresh", n_sample = 20 }\n'
        'utility = { kind = "object", object = "counted_source:Sums" }\n'
        "budget = { records = 9000 }\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    # The plan is played for as long as it may take.
    result = called("plan", config, "--minutes", "0.02", "--quiet", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    import counted_source

    assert counted_source.made == [0, 1, 2, "utility"]
