"""Errors of a configuration in one line: the key, the rule and what was received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from shapband.app.config.parts import IndexTable, ParticipationTable, SamplingTable, SolverTable
from shapband.app.config.tables import RowsTable, SourceTable, UtilityTable, kinds_of
from shapband.checks import nearest, one_line

_KINDS = {
    "source": SourceTable,
    "validation": RowsTable,
    "utility": UtilityTable,
    "sampling": SamplingTable,
    "solver": SolverTable,
    "index": IndexTable,
    "participation": ParticipationTable,
}
_LONGEST = 60  # characters of a received value that are shown
_RULES = {
    "missing": "must be given",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "too_short": "must have at least {min_length} items",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must have the form module:name",
    "literal_error": "must be one of {expected}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "must be given",
    "unknown_key": "is not a known key",
    "rule": "{rule}",
}
_WITHOUT_VALUE = {"missing", "union_tag_not_found", "unknown_key", "rule"}


def format_error(error: ValidationError, document: Mapping[str, Any]) -> str:
    """Describe the first error of a document, and count the others."""
    every = error.errors(include_url=False)
    first = every[0]
    context = {name: _short(one) for name, one in first.get("ctx", {}).items()}
    kind = first["type"]
    path = key_path(first["loc"], document)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        path += ".kind"
    elif context.get("key"):
        path = f"{path}.{context['key']}".lstrip(".")
    rule = _RULES[kind].format_map(context) if kind in _RULES else one_line(first["msg"])
    text = f"{path}: {rule}" if path else rule
    text += _received(kind, str(first["loc"][-1] if first["loc"] else ""), first["input"], context)
    more = len(every) - 1
    return one_line(text) + (f" (and {more} more error{'s' * (more > 1)})" if more else "")


def key_path(loc: Sequence[int | str], document: Any) -> str:
    """Write pydantic's location as a key of the file: without the tags of unions.

    Examples
    --------
    >>> key_path(("sampling", "fresh", "n_sample"), {"sampling": {"kind": "fresh"}})
    'sampling.n_sample'
    >>> key_path(("providers", 0, "name"), {"providers": [{}]})
    'providers[0].name'
    """
    path, at, tag_passed = "", document, False
    for part in loc:
        if isinstance(at, dict) and at.get("kind") == part and not tag_passed:
            tag_passed = True
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
        at, tag_passed = _inside(at, part), False
    return path.lstrip(".")


def format_value(value: object) -> str:
    """Write a received value as TOML does, cut short."""
    if isinstance(value, bool):
        return str(value).lower()
    plain = repr(value) if isinstance(value, (str, int, float, list)) else str(value)
    text = "a table" if isinstance(value, dict) else one_line(plain)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _received(kind: str, table: str, value: object, context: Mapping[str, Any]) -> str:
    if kind == "unknown_key":
        return f"; {nearest(context['key'], context['known'])}"
    if kind == "union_tag_not_found":
        return f"; it is one of {', '.join(kinds_of(_KINDS[table]))}"
    if kind == "union_tag_invalid":
        return f"; received {format_value(context['tag'])}"
    return "" if kind in _WITHOUT_VALUE else f"; received {format_value(value)}"


def _short(limit: Any) -> Any:
    """Write a limit of 1.0 as 1."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _inside(at: Any, part: int | str) -> Any:
    if isinstance(at, dict):
        return at.get(str(part))
    if isinstance(at, list) and isinstance(part, int) and part < len(at):
        return at[part]
    return None
