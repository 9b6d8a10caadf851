"""Errors of a configuration in one line: the key, the rule and what was received."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from shapband.checks import one_line

_LONGEST = 60  # a received value is cut to this many characters
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
    "too_short": "must have at least {min_length} items",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must have the form module:name",
    "literal_error": "must be one of {expected}",
    "rule": "{rule}",
}


# What to write for keys that newcomers leave out.
_EXAMPLES = {
    "target": 'target = "COLUMN", the column of outcomes',
    "path": 'path = "north.csv"',
    "name": 'name = "north"',
    "n_sample": "n_sample = 60",
    "n_pool": "n_pool = 250",
    "n_boot": "n_boot = 60",
    "providers": "[[providers]] with a source",
    "source": 'source = { kind = "csv", path = "north.csv", target = "COLUMN" }',
    "sampling": '[sampling] with kind = "pooled", n_pool = 250, n_boot = 60',
    "budget": "[budget] with records = 2000",
    "prices": '[prices] with record = "0.02"',
    "stop": "[stop] with absolute = 0.01",
}
_NUMBERS = ("int_type", "float_type")


def format_error(error: ValidationError) -> str:
    """Describe the first error of a document, and count the others."""
    every = error.errors(include_url=False)
    first, more = every[0], len(every) - 1
    kind, context = first["type"], {name: _short(one) for name, one in first.get("ctx", {}).items()}
    keys = [*first["loc"], *filter(None, [context.get("key")])]
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    rule = _RULES[kind].format_map(context) if kind in _RULES else one_line(first["msg"])
    if kind not in ("missing", "rule"):
        rule += f"; received {format_value(first['input'])}"
    rule += _remedy(kind, keys, first["input"])
    line = one_line(f"{path}: {rule}" if path else rule)
    return line + (f" (and {more} more error{'s' * (more > 1)})" if more else "")


def _remedy(kind: str, keys: list[Any], received: object) -> str:
    """What to write instead, for errors whose rule does not say it."""
    example = _EXAMPLES.get(str(keys[-1]), "") if keys else ""
    if example and kind in ("missing", "dict_type", "model_type"):
        return f": add {example}" if kind == "missing" else f": write {example}"
    if kind in _NUMBERS and isinstance(received, str):
        return ": write a number without quotes"
    return ""


def format_value(value: object) -> str:
    """Write a received value as TOML does, cut short."""
    if isinstance(value, bool):
        return str(value).lower()
    plain = repr(value) if isinstance(value, (str, int, float, list)) else str(value)
    text = "a table" if isinstance(value, dict) else one_line(plain)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _short(limit: Any) -> Any:
    """Write a limit of 1.0 as 1."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit
