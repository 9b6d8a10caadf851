"""The description of the protocol, docs/http-source.openapi.json, and what is really sent."""

import json
import re

import jsonschema
import numpy as np
import pytest
import urllib3
from openapi_spec_validator import validate
from tests.printed import ROOT

import shapband as sb

OPENAPI = json.loads((ROOT / "docs" / "http-source.openapi.json").read_text("utf-8"))


def check(document, name):
    """Check a document against a schema of the description."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": OPENAPI["components"]}
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)


def ask(url, method, body=None, accept="application/json"):
    answer = urllib3.request(
        "GET" if body is None else "POST",
        f"{url}/v1/{method}",
        json=body,
        headers={"Accept": accept},
        retries=False,
    )
    return answer.status, answer.headers["Content-Type"], answer.data


def frame_source():
    import pandas as pd

    table = pd.DataFrame({"x": [0.5, np.nan], "s": ["a", None], "n": [1, 2], "b": [True, False]})
    return sb.FrameSource(table.assign(y=["u", "v"]), target="y")


def test_the_description_is_valid_openapi():
    validate(OPENAPI)
    broken = {**OPENAPI, "paths": {"schema": {}}}
    with pytest.raises(Exception, match="schema"):
        validate(broken)


def test_the_schema_of_the_reference_server_is_as_described():
    sources = {
        "array": sb.ArraySource([[1.0]], [2.0]),
        "frame": frame_source(),
        "draw": sb.FunctionSource(lambda size, rng: (np.ones(size), np.ones(size))),
    }
    with sb.testing.serve(sources) as server:
        for url in server.urls.values():
            status, kind, content = ask(url, "schema")
            assert (status, kind) == (200, "application/json")
            check(json.loads(content), "Schema")


def test_requests_of_the_client_and_answers_of_the_server_are_as_described(monkeypatch):
    from shapband.sources.http import client

    monkeypatch.setattr(client, "has_arrow", lambda: False)
    sources = {
        "take": frame_source(),
        "draw": sb.FunctionSource(lambda size, rng: (rng.normal(size=size), np.ones(size))),
    }
    sent = {}
    with sb.testing.serve(sources) as server:
        for name, url in server.urls.items():
            source = sb.HTTPSource(url)
            real = source._client.ask

            def spied(path, document=None, real=real):
                kind, content = real(path, document)
                sent[path] = document, json.loads(content)
                return kind, content

            source._client.ask = spied
            if name == "take":
                source.take_many([np.array([1, 0]), np.array([1])])
            else:
                source.draw(3, np.random.default_rng(0))
    check(sent["take"][0], "TakeRequest")
    check(sent["draw"][0], "DrawRequest")
    for _, answer in sent.values():
        check(answer, "Records")
    assert sent["take"][1] == {
        "columns": {
            "x": [None, 0.5, None], "s": [None, "a", None], "n": [2, 1, 2],
            "b": [False, True, False], "target": ["v", "u", "v"],
        }
    }  # fmt: skip


KEY = "k" * 64


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [
        ("take", {}, 400),
        ("take", [], 400),
        ("take", {"version": None, "draws": 7}, 400),
        ("take", {"version": None, "draws": [{"key": KEY, "rows": [2]}]}, 400),
        ("take", {"version": None, "draws": [{"key": KEY, "rows": [-1]}]}, 400),
        ("take", {"version": None, "draws": [{"key": KEY, "rows": [True]}]}, 400),
        ("take", {"version": None, "draws": [{"key": KEY, "rows": []}]}, 400),
        ("take", {"version": None, "draws": [{"key": KEY, "rows": "01"}]}, 400),
        ("take", {"version": None, "draws": [{"key": "short", "rows": [0]}]}, 400),
        ("take", {"version": "other", "draws": [{"key": KEY, "rows": [0]}]}, 412),
        ("draw", {"version": None, "draws": [{"key": KEY, "size": 1, "seed": "0"}]}, 404),
        ("steal", {}, 404),
        ("schema", {}, 404),
        ("take", None, 404),
    ],
)
def test_the_reference_server_refuses_bad_requests(method, body, status):
    with sb.testing.serve(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])) as server:
        found, _, content = ask(server.url, method, body)
        assert found == status
        check(json.loads(content), "Error")
        assert str(status) in {*OPENAPI["paths"]["/take"]["post"]["responses"]}
        assert server.charged[""].records == 0


def test_too_many_draws_are_refused():
    with sb.testing.serve(sb.ArraySource([[1.0]], [0.0])) as server:
        version = json.loads(ask(server.url, "schema")[2])["version"]
        draws = [{"key": f"{at:064d}", "rows": [0]} for at in range(101)]
        assert ask(server.url, "take", {"version": version, "draws": draws})[0] == 413
        assert ask(server.url, "take", {"version": version, "draws": []})[0] == 413
        assert server.charged[""].records == 0


def test_the_page_names_every_key_of_the_schema():
    page = (ROOT / "docs" / "connect-http.md").read_text("utf-8")
    for key in OPENAPI["components"]["schemas"]["Schema"]["required"]:
        assert re.search(rf"`{key}`", page), key


def test_a_failing_source_does_not_show_its_error():
    def draw(size, rng):
        if size > 1:
            raise ValueError("password=hush-hush")
        return np.ones(size), np.ones(size)

    with sb.testing.serve(sb.FunctionSource(draw)) as server:
        source = sb.HTTPSource(server.url)
        with pytest.raises(sb.errors.TemporaryFailure, match=r"the source failed: ValueError$"):
            source.draw(2, np.random.default_rng(0))


@pytest.mark.parametrize("thing", [7, {"a": 7}, None])
def test_only_sources_are_served(thing):
    with (
        pytest.raises(sb.errors.InvalidInput, match="sources must be a source"),
        sb.testing.serve(thing),
    ):
        pass
