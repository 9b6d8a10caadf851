"""Arguments of `HTTPSource`, its token, and certificates."""

import ssl
from http.server import ThreadingHTTPServer

import numpy as np
import pytest
import trustme
from tests.sources.test_http_bad_answers import SCHEMA, answering

import shapband as sb
from shapband.secrets import hide

SECRET = "s3cret-of-the-north"  # noqa: S105


def stock():
    return sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (7, "received 7"),
        ("north.example.org", "received 'north.example.org'"),
        ("ftp://north.example.org", "url must be an address"),
        ("file:///etc/passwd", "url must be an address"),
        ("https://", "url must be an address"),
        ("https://a:b", "url must be an address"),
        ("https://[::1", "url must be an address"),
        ("https://a b/", "url must be an address"),
        ("https://a/\r\nHost: b", "url must be an address"),
        ("https://a/?token=abcdefgh", "must not have a query"),
        ("https://a/#part", "must not have a query or a fragment"),
        ("https://me:hush-hush@a/", "must not hold a user or password"),
        ("https://me:P@hush-hush@a/", "must not hold a user or password"),
        ("https://me:P@hush-hush@a:b/", "must not hold a user or password"),
        ("https://me:hush/hush@a/", "must not hold a user or password"),
        ("https://me:12#hush@a/", "must not have a query or a fragment"),
    ],
)
def test_bad_addresses_are_refused_before_anything_is_asked(url, told):
    with pytest.raises(sb.errors.InvalidInput, match="HTTPSource: url must") as caught:
        sb.HTTPSource(url)
    assert told in str(caught.value)
    assert "hush" not in str(caught.value)
    assert "abcdefgh" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"timeout": 0}, "timeout must be above 0"),
        ({"concurrent": 0}, "concurrent must be a whole number of at least 1"),
        ({"max_bytes": 1.5}, "max_bytes must be a whole number"),
        ({"token": ""}, "token must be a string"),
        ({"token": "a\nb"}, "token must be a string"),
        ({"token": {"env": "SHAPBAND_NO_SUCH_TOKEN"}}, "SHAPBAND_NO_SUCH_TOKEN is not set"),
        ({"ca_file": "no/such/file"}, "ca_file must be a file"),
        ({"ca_file": __file__}, "ca_file must hold certificates"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_asked(options, told):
    with pytest.raises(sb.errors.InvalidInput, match=told):
        sb.HTTPSource("http://127.0.0.1:9", **options)


def test_a_token_is_not_sent_in_clear_text():
    with pytest.raises(sb.errors.InvalidInput, match="only sent over https") as caught:
        sb.HTTPSource("http://north.example.org", token=SECRET)
    assert SECRET not in str(caught.value)


def test_a_token_is_needed_sent_and_never_shown(monkeypatch):
    monkeypatch.setenv("NORTH_TOKEN", SECRET)
    with sb.testing.serve(stock(), token=SECRET) as server:
        with pytest.raises(sb.errors.SourceError, match=r"answered 401 .*check the token"):
            sb.HTTPSource(server.url)
        with pytest.raises(sb.errors.SourceError, match="answered 401"):
            sb.HTTPSource(server.url, token=SECRET[1:])
        for token in (SECRET, {"env": "NORTH_TOKEN"}):
            source = sb.HTTPSource(server.url, token=token)
            assert source.take(np.array([1])).y.tolist() == [1.0]
            assert SECRET not in repr(source)
    assert hide(f"Authorization: Bearer {SECRET}") == "Authorization: Bearer ***"


def test_a_token_that_a_server_repeats_is_hidden():
    def repeat(handler):
        handler.send_response(400)
        handler.send_header("Content-Type", "application/json")
        content = f'{{"error": "bad {handler.headers["Authorization"]}"}}'.encode()
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    with answering(repeat, SCHEMA) as url:
        source = sb.HTTPSource(url, token=SECRET)
        with pytest.raises(sb.errors.SourceError, match=r"bad Bearer \*\*\*"):
            source.take(np.array([0]))


def test_certificates_are_verified(tmp_path, monkeypatch):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    made = ThreadingHTTPServer.__init__

    def encrypted(self, *arguments):
        made(self, *arguments)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    monkeypatch.setattr(ThreadingHTTPServer, "__init__", encrypted)
    with sb.testing.serve(stock(), token=SECRET) as server:
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        source = sb.HTTPSource(url, ca_file=tmp_path / "ca.pem", token=SECRET)
        assert source.take(np.array([1])).y.tolist() == [1.0]
        with pytest.raises(sb.errors.SourceError, match=r"cannot be verified .*ca_file") as caught:
            sb.HTTPSource(url, token=SECRET)
        assert not isinstance(caught.value, sb.errors.TemporaryFailure)
        other = url.replace("localhost", "127.0.0.1")  # the certificate is for another name
        with pytest.raises(sb.errors.SourceError, match="cannot be verified"):
            sb.HTTPSource(other, ca_file=tmp_path / "ca.pem", token=SECRET)


def test_a_missing_package_is_named(monkeypatch):
    import builtins

    from shapband.sources.http import client

    real = builtins.__import__

    def without(name, *arguments, **named):
        if name == "urllib3":
            raise ImportError(name)
        return real(name, *arguments, **named)

    client._pools.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(sb.errors.InvalidInput, match=r"pip install 'shapband\[http\]'"):
        sb.HTTPSource("http://127.0.0.1:9")
