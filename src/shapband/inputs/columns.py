"""The columns of several tables, which must be the same in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.checks import printable
from shapband.errors import InvalidInput
from shapband.records.batch import Schema


def check_columns(whose: str, found: Schema, other: str, expected: Schema) -> None:
    """Check that the features of a table have the names of another table's, in the same order.

    Tables of which one is an array have no names to compare; the providers and the utility compare
    their kinds.
    """
    if found.columns is None or expected.columns is None or found.library != expected.library:
        return
    missing = [name for name in expected.columns if name not in found.columns]
    added = [name for name in found.columns if name not in expected.columns]
    if missing and added:
        raise InvalidInput(
            f"{whose} must have the columns of {other}, and lacks {_list(missing)}; received "
            f"{_list(added)} instead: rename them if they mean the same"
        )
    if missing:
        raise InvalidInput(
            f"{whose} must have the columns of {other}, and lacks {_list(missing)}; received "
            f"{_list(found.columns)}: add the missing ones, or leave them out everywhere"
        )
    if added:
        raise InvalidInput(
            f"{whose} must have the columns of {other} only; received {_list(added)} besides: "
            "leave them out, or add them everywhere"
        )
    if found.columns != expected.columns:
        raise InvalidInput(
            f"{whose} must have its columns in the order of {other}, {_list(expected.columns)}; "
            f"received {_list(found.columns)}: pass the frame with its columns reordered"
        )


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return printable(", ".join(map(repr, names[:5]))) + more
