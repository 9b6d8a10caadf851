"""Providers behind HTTP endpoints, in the configuration."""

import numpy as np
import pytest

import shapband as sb
from shapband.app.config.config import Config
from shapband.errors import InvalidInput, SourceError

FILE = """
n_games = 4
seed = 0
sampling = {{ kind = "fresh", n_sample = 3 }}
utility = {{ kind = "additive" }}

[[providers]]
{name}
source = {{ kind = "http", url = "{url}"{more} }}
"""
SECRET = "0p3n-sesame-of-the-north"  # noqa: S105


def stock():
    rng = np.random.default_rng(0)
    return sb.ArraySource(rng.normal(size=(20, 2)), rng.normal(size=20))


def text(url, more="", name='name = "north"'):
    return FILE.format(url=url, more=more, name=name)


def test_a_provider_behind_an_endpoint_has_its_records(tmp_path, monkeypatch):
    monkeypatch.setenv("NORTH_TOKEN", SECRET)
    with sb.testing.serve(stock(), token=SECRET) as server:
        config = Config.parse(
            text(server.url, ', token = { env = "NORTH_TOKEN" }, concurrent = 2, timeout = 50')
        )
        (provider,) = config.build(tmp_path).arguments.providers
        assert (provider.name, provider.source.size, provider.source.concurrent) == ("north", 20, 2)
        assert isinstance(provider.source, sb.HTTPSource)
        rows = np.array([3, 1])
        assert provider.source.take(rows).X.tolist() == stock().take(rows).X.tolist()
    assert SECRET not in config.text


def test_a_run_that_came_from_elsewhere_needs_trust_to_send_a_secret():
    config = Config.parse(text("https://north.example.org", ', token = { env = "HOME" }'))
    assert config.objects == ["https://north.example.org"]


@pytest.mark.parametrize(
    ("more", "name", "told"),
    [
        ("", "", "providers[0].name: must be given"),
        (', token = "abc"', 'name = "north"', "providers[0].source.token: must be a table"),
        (', token = { env = "" }', 'name = "north"', "token.env"),
        (", timeout = 0", 'name = "north"', "providers[0].source.timeout"),
        (", verify = false", 'name = "north"', "source.verify: is not a known key"),
    ],
)
def test_bad_tables_are_refused(more, name, told):
    with pytest.raises(InvalidInput) as caught:
        Config.parse(text("http://127.0.0.1:9", more, name))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("url", "more", "told"),
    [
        ("ftp://north", "", "providers[0].source: HTTPSource: url must be an address"),
        ("http://127.0.0.1:9", ', token = { env = "NO_SUCH_NAME" }', "NO_SUCH_NAME is not set"),
        ("http://127.0.0.1:9", ', ca_file = "no.pem"', "ca_file must be a file"),
    ],
)
def test_bad_values_are_refused_when_the_run_is_built(url, more, told, tmp_path):
    with pytest.raises(InvalidInput) as caught:
        Config.parse(text(url, more)).build(tmp_path)
    assert told in str(caught.value)


def test_an_endpoint_that_refuses_names_the_provider(tmp_path):
    with (
        sb.testing.serve(stock(), token=SECRET) as server,
        pytest.raises(SourceError, match=r"provider 'north': .* 401 .*check the token"),
    ):
        Config.parse(text(server.url)).build(tmp_path)
