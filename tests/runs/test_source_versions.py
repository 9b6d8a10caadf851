"""A run compares the versions that sources state, and says which data it does not check."""

import numpy as np
import pytest

import shapband as sb
from shapband.app.cli.views import shown
from shapband.errors import ConformanceError, InvalidInput, RunError
from shapband.runs.fingerprints import fingerprint
from shapband.runs.versions import changes


class Remote(sb.GenerativeSource):
    """Records behind an address; the first part of the address is their version."""

    def __init__(self, version, shift=0.0, fail_at=None):
        self.version, self.shift, self.fail_at, self.asked = version, shift, fail_at, 0

    def draw(self, size, rng):
        self.asked += 1
        if self.asked == self.fail_at:
            raise ConnectionError("no route")
        X = rng.normal(size=(size, 2)) + self.shift
        return X, X[:, 0]


def value(source, run=None):
    providers = [sb.Provider("remote", source), sb.Provider("near", near())]
    utility = sb.AdditiveUtility()
    return sb.value(providers, utility, sampling=sb.Fresh(5), n_games=6, seed=0, run=run)


def near(shift=0.0):
    numbers = np.arange(60.0).reshape(30, 2) + shift
    return sb.ArraySource(numbers, numbers[:, 0])


def test_an_interrupted_run_is_not_resumed_with_another_version(tmp_path):
    run = tmp_path / "run"
    with pytest.raises(sb.errors.SourceError):
        value(Remote("monday", fail_at=4), run)
    with pytest.raises(RunError, match=r"remote.*version monday to Remote, version tuesday"):
        value(Remote("tuesday", shift=9.0), run)
    with pytest.raises(RunError, match="not in memory"):
        value(Remote(None, shift=9.0), run)
    resumed = value(Remote("monday"), run)
    np.testing.assert_array_equal(resumed.games, value(Remote("monday")).games)


def test_a_finished_run_is_not_given_for_another_version(tmp_path):
    run = tmp_path / "run"
    first = value(Remote("monday"), run)
    with pytest.raises(RunError, match="version monday to Remote, version tuesday"):
        value(Remote("tuesday"), run)
    np.testing.assert_array_equal(value(Remote("monday"), run).games, first.games)


def test_a_version_that_changes_while_a_run_is_played_ends_it_without_a_result(tmp_path):
    class Moving(Remote):
        @property
        def version(self):
            return "monday" if self.asked < 4 else "tuesday"

        @version.setter
        def version(self, version):
            pass

    with pytest.raises(RunError, match="version monday to Moving, version tuesday"):
        value(Moving(""), tmp_path / "run")
    assert sb.load(tmp_path / "run").status.state == "interrupted"


def test_show_and_report_say_that_data_without_a_version_is_not_checked(tmp_path):
    from shapband.report.page import write_page

    run = tmp_path / "run"
    value(Remote(None), run)
    status = sb.load(run).status
    assert status.unchecked == ("remote",)
    assert "data not checked for changes: remote" in shown(run, as_json=False)
    write_page(tmp_path / "page.html", status.valuation, status=status)
    assert "Remote, not in memory: not checked" in (tmp_path / "page.html").read_text()


def test_show_is_silent_if_all_data_are_checked(tmp_path):
    value(Remote("monday"), tmp_path / "run")
    assert "not checked" not in shown(tmp_path / "run", as_json=False)


def test_sources_of_the_library_state_a_digest():
    assert near().version == near().version == fingerprint(near())
    assert near().version != near(1.0).version
    assert sb.with_delay(near(), 0.0).version == near().version
    assert sb.FunctionSource(lambda size, rng: None, version="3").version == "3"


def test_delayed_records_that_changed_are_refused(tmp_path):
    value(sb.with_delay(near(), 0.0), tmp_path / "run")
    with pytest.raises(RunError, match="data of provider 'remote' changed"):
        value(sb.with_delay(near(1.0), 0.0), tmp_path / "run")


def test_a_version_that_is_stated_later_cannot_be_compared(tmp_path):
    first = value(Remote(None), tmp_path / "run")
    np.testing.assert_array_equal(value(Remote("monday"), tmp_path / "run").games, first.games)


@pytest.mark.parametrize("version", [3, ""])
def test_a_version_is_a_string(tmp_path, version):
    with pytest.raises(InvalidInput, match="version must be a string"):
        value(Remote(version), tmp_path / "run")
    with pytest.raises(ConformanceError, match="version must be a string"):
        sb.testing.check_source(Remote(version))


def test_all_versions_that_changed_are_listed():
    before = {"python": "3.11", "numpy": "2.0", "scipy": "1.14"}
    after = {"python": "3.12", "numpy": "2.0", "scipy": "1.15"}
    assert changes(before, after) == "python from 3.11 to 3.12, scipy from 1.14 to 1.15"
    assert changes(before, before) == ""
