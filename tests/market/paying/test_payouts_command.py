"""The options of `shapband payouts` reach the amounts."""

import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app

CONFIG = """
n_games = 40
seed = 3
sampling = { kind = "fresh", n_sample = 20 }
providers = [{ source = { kind = "task", task = "wine" } }]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("payouts")
    (place / "shapband.toml").write_text(CONFIG)
    made = CliRunner().invoke(
        app, ["run", str(place / "shapband.toml"), "--out", str(place / "run")]
    )
    assert made.exit_code == 0, made.output
    return place / "run"


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--policy", "lower_bound"], {"policy": "lower_bound"}),
        (["--policy", "lower_bound", "--level", "0.5"], {"policy": "lower_bound", "level": 0.5}),
        (["--policy", "lower_bound", "--level", "0.99"], {"policy": "lower_bound", "level": 0.99}),
        (["--policy", "floor", "--floor", "12.5"], {"policy": "floor", "floor": "12.5"}),
        (["--policy", "risk", "--risk-aversion", "3"], {"policy": "risk", "risk_aversion": 3.0}),
        (["--currency", "KWD"], {"currency": "KWD"}),
    ],
    ids=str,
)
def test_the_command_pays_what_the_function_pays(run, options, arguments):
    made = CliRunner().invoke(app, ["payouts", str(run), "--amount", "1000", *options])
    assert made.exit_code == 0, made.output
    expected = sb.payouts(sb.load(run).valuation, 1000, **arguments)
    assert str(expected) in made.output


def test_levels_change_the_lower_bound(run):
    """The control of the test above: the amounts of two levels differ."""
    valuation = sb.load(run).valuation
    low, high = (sb.payouts(valuation, 1000, policy="lower_bound", level=p) for p in (0.5, 0.99))
    assert low.amounts != high.amounts
