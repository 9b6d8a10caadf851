"""Secrets, which must never be shown or stored.

A secret is named in a configuration and read from the environment, or found in a source: a URL
with a password, or an attribute that is called `password`, `token` or the like. Everything that is
printed or written to disk about an error goes through `hide`, because libraries repeat the secrets
they are given in their errors: whole or in parts, plain, quoted, encoded or cut off. Passwords in
URLs and values of parameters such as ``token=`` are hidden even if nobody declared them.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from types import CellType, FunctionType, MethodType
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

import numpy as np

from shapband.checks import censors, printable
from shapband.errors import InvalidInput

_SHORTEST = 4  # shorter values are not hidden, because that would make messages unreadable
_SHORTEST_LINE = 8  # the same limit for one line of several, and for a secret that was cut off
_DEEPEST, _MOST_ITEMS = 4, 100  # how far the attributes of a source are followed
_NAMES = (
    r"passwords?|passwd|passphrase|pwd|secrets?|tokens?|credentials?|api_?-?keys?|"
    r"(?:access|account|private|shared|secret)_?-?(?:access)?_?-?keys?|signature|sig|sas"
)
_SENSITIVE = re.compile(rf"(?i)(?:^|[_\W]|(?<=[a-z]))(?:{_NAMES})$")
# The password in the address of a database or the like, with an '@' or a slash in it.
_UP_TO_LAST_AT = re.compile(
    r"(?i)(\b(?!https?:)[a-z][a-z0-9+.-]*://[^\s/@:'\"<>]*:)(?!\d*/)[^\s'\"<>]+(?=@)"
)
# Places in a text where secrets stand: user:password@, password=..., Authorization headers.
_PLACES = (
    _UP_TO_LAST_AT,
    re.compile(r"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/@:'\"<>]*:)[^\s/'\"<>]+(?=@)"),
    # A password with a plain slash in an address of HTTP, whose paths may have an '@'.
    re.compile(
        r"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/@:'\"<>]*:)(?!\d*/)[^\s/@'\"<>]*/[^\s'\"<>]*(?=@)"
    ),
    re.compile(
        rf"(?i)((?<![a-z])(?:[a-z]+[_-])*(?:{_NAMES})\s?=\s?['\"]?)(?!\*\*\*)[^\s&;,'\"<>)]+"
    ),
    re.compile(r"(?i)(\b(?:basic|bearer)\s+)(?=[\w+/.~=-]*\d)[\w+/.~=-]{8,}"),
)
# An address begins with words that are no secret; its secret parts are known one by one.
_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.%-]*(?::|%(?:25)*3a)(?:/|%(?:25)*2f){2}")
_PAIRS = re.compile(
    rf"(?i)(?:^|[\s;&?])(?:[a-z]+[_-])*(?:{_NAMES})\s*=\s*('[^']*'|\"[^\"]*\"|[^\s;&]+)"
)
_QUOTED: tuple[Callable[[str], str], ...] = (
    lambda text: repr(text)[1:-1],
    lambda text: repr('"' + text)[
        2:-1
    ],  # quoted with single quotes, because the text holds double ones
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: quote(text, errors="surrogateescape"),
    lambda text: quote(text, safe="", errors="surrogateescape"),
    lambda text: quote_plus(text, errors="surrogateescape"),
)
# Exact types that hold no strings; a valuation looks at the attributes of thousands of sources.
_WITHOUT_STRINGS = {int, float, bool, bytes, type(None), np.ndarray}
_revealed: set[str] = set()


def reveal(options: Any, key: str) -> Any:
    """Replace ``{"env": "NAME"}``, at any depth, by the value of the environment variable."""
    if isinstance(options, list):
        return [reveal(part, f"{key}[{at}]") for at, part in enumerate(options)]
    if not isinstance(options, dict):
        return options
    if set(options) == {"env"}:
        return _variable(options["env"], key)
    return {name: reveal(part, f"{key}.{name}") for name, part in options.items()}


def learn(thing: object) -> None:
    """Find the secrets that an object holds, such as a source, so that `hide` knows them.

    Examples
    --------
    >>> class Source:
    ...     url = "https://reader:open-sesame@db.example.org/north"
    >>> learn(Source())
    >>> hide("401: open-sesame is wrong")
    '401: *** is wrong'
    """
    for name, text in _strings(thing, "", 0):
        if is_sensitive(name):
            _register(text)
        else:
            for part in _parts(text):
                _register(part)


def is_sensitive(name: str) -> bool:
    """Whether an attribute, key or variable of this name is taken to hold a secret.

    Examples
    --------
    >>> is_sensitive("API_KEY"), is_sensitive("keys")
    (True, False)
    """
    return _SENSITIVE.search(name) is not None


def hide(text: str) -> str:
    """Replace every secret in a string by asterisks, in all its forms.

    Examples
    --------
    >>> hide("nothing to hide")
    'nothing to hide'
    >>> hide("no answer from postgresql://reader:open@db.example.org/north")
    'no answer from postgresql://reader:***@db.example.org/north'
    """
    longest_first = sorted(_revealed, key=len, reverse=True)
    for secret in longest_first:
        text = text.replace(secret, "***")
    for place in _PLACES:
        text = place.sub(r"\1***", text)
    for secret in longest_first:  # only now, because a whole secret may begin like another secret
        if not _ADDRESS.match(secret):
            text = _without_beginning(text, secret)
    return text


censors.append(hide)


def _variable(name: object, key: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{key}.env: must be the name of an environment variable")
    value = os.environ.get(name)
    if value is None:
        raise InvalidInput(f"{key}: the environment variable {name} is not set: set it")
    _register(value)
    return value


def _register(secret: str) -> None:
    """Let `hide` know a secret and its parts, in all their forms."""
    for part in (secret, *_parts(secret)):
        if len(part) >= _SHORTEST:
            _revealed.update(_forms(part))


def _parts(text: str) -> Iterator[str]:
    """The parts of a URL or a list of parameters that are secret themselves.

    Examples
    --------
    >>> list(_parts("https://me:a%20b@example.org/x?token=abc"))
    ['me:a%20b@example.org', 'me:a%20b', 'a%20b', 'me:a b', 'a b', 'abc']
    >>> list(_parts("host=db user=me password=hush"))
    ['hush']
    """
    try:
        url = urlsplit(text)
        password, query = url.password, parse_qsl(url.query)
    except ValueError:  # such as an unfinished IPv6 address: there is no password to be found
        return
    if url.scheme and password:
        user = url.username or ""
        yield url.netloc
        yield from dict.fromkeys(
            [f"{user}:{password}", password, f"{unquote(user)}:{unquote(password)}"]
        )
        if unquote(password) != password:
            yield unquote(password)
        if "@" in password:  # others may split the address at the first of them
            yield from password.split("@")
    if wide := _UP_TO_LAST_AT.match(text):
        yield wide[0].partition("://")[2]
    if url.scheme:
        yield from (value for name, value in query if _SENSITIVE.search(name))
    else:
        yield from (found.strip("'\"") for found in _PAIRS.findall(text))


def _strings(thing: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """The strings that an object holds, each with the name of its attribute, key or variable."""
    if isinstance(thing, str):
        yield name, thing
    elif depth < _DEEPEST and type(thing) not in _WITHOUT_STRINGS:
        for part, value in list(_held(thing))[:_MOST_ITEMS]:
            yield from _strings(value, part or name, depth + 1)


def _held(thing: object) -> Iterator[tuple[str, object]]:
    """The parts of an object: its attributes, its items, or the closure of a function."""
    if isinstance(thing, Mapping):
        yield from ((str(key), value) for key, value in thing.items())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from (("", value) for value in thing)
    elif isinstance(thing, functools.partial):
        yield "", thing.func
        yield "", thing.args
        yield "", thing.keywords
    elif isinstance(thing, MethodType):
        yield "", thing.__self__
        yield "", thing.__func__
    elif isinstance(thing, FunctionType):
        code, cells = thing.__code__, thing.__closure__ or ()
        for name, cell in zip(code.co_freevars, cells, strict=True):
            if cell != CellType():  # a variable that has no value yet
                yield name, cell.cell_contents
        defaults = thing.__defaults__ or ()
        positional = code.co_varnames[: code.co_argcount]
        yield from zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
        yield "", thing.__kwdefaults__ or {}
        used = ((name, thing.__globals__.get(name)) for name in code.co_names)
        yield from ((name, value) for name, value in used if isinstance(value, str))
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        own = (pair for pair in vars(type(thing)).items() if isinstance(pair[1], str))
        yield from (pair for pair in own if not pair[0].startswith("__"))
        yield from vars(thing).items()


def _without_beginning(text: str, secret: str) -> str:
    """Replace the beginning of a secret where a string was cut off inside the secret."""
    lead = secret[:_SHORTEST_LINE]
    if len(secret) <= _SHORTEST_LINE or "://" in secret[: 2 * _SHORTEST_LINE]:
        return text  # the beginning of a URL is not secret; its password is hidden separately
    at = text.find(lead)
    while at >= 0:
        same = (one == other for one, other in zip(text[at:], secret, strict=False))
        end = at + sum(takewhile(bool, same))
        text = f"{text[:at]}***{text[end:]}"
        at = text.find(lead, at + 3)
    return text


def _forms(secret: str) -> set[str]:
    """The forms in which a secret may appear in a string."""
    lines = (line.strip() for line in secret.splitlines())
    forms = {secret, *(line for line in lines if len(line) >= _SHORTEST_LINE)}
    for _ in range(2):  # an error may quote another one that quotes the secret
        forms |= {quoted(form) for form in forms for quoted in _QUOTED}
    forms |= {printable(" ".join(form.split())) for form in forms} | _base64_forms(secret)
    return {form for form in forms if len(form) >= _SHORTEST}


def _base64_forms(secret: str) -> set[str]:
    """The base64 encodings of a secret, alone or inside a longer text such as ``user:secret``.

    Base64 writes three bytes as four characters, so a text inside another has three possible
    alignments. The characters at its ends depend on its neighbours and are left out.
    """
    forms = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for skipped in range(3):
            data = bytes(skipped) + secret.encode(errors="surrogateescape")
            # Leave out characters that also hold bits of the bytes before or after the secret.
            first = -(-skipped * 8 // 6)
            whole = len(data) * 8 // 6
            forms.add(encode(data).decode()[first:whole])
        forms.add(encode(secret.encode(errors="surrogateescape")).decode().rstrip("="))
    return forms
