"""The configuration that `shapband init --from` writes, from what is found at an address."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from shapband.app.config.written import to_toml, write_new
from shapband.checks import nearest, printable
from shapband.errors import InvalidInput
from shapband.secrets import hide

# Modules for addresses of other kinds than files, by what stands before "://". Each has a function
# `find(address, target, folder) -> Found`.
_DATABASES = ("sqlite", "postgresql", "postgres", "duckdb", "mysql", "mariadb", "mssql", "oracle")
_MODULES: Mapping[str, str] = dict.fromkeys(_DATABASES, "shapband.app.config.found_sql")
_FILES = "shapband.app.config.found_files"
_TARGETS = ("target", "y", "label", "labels", "class", "outcome", "response", "quality")
# Names of files and tables with validation rows, and of columns that name the provider of a row.
VALIDATION = ("validation", "valid", "val", "holdout", "hold_out", "test")
OWNERS = ("provider", "site", "hospital", "clinic", "center", "centre", "bank", "client", "owner")
_LARGEST_DRAW, _LARGEST_POOL = 60, 250
_WIDTH = 96  # columns are listed in lines of at most as many characters
PLACEHOLDER = "TARGET"  # written if the target is not known; runs refuse it by name


@dataclass(frozen=True)
class Column:
    """A column that was found.

    Attributes
    ----------
    name : its name
    kind : "number", "string", or another word for what cannot be a feature, such as "timestamp"
    gaps : whether values are missing
    lacking : a table without this column, or "" if all have it
    labels : number of different values if they are few, so that they may be classes, else None
    """

    name: str
    kind: str
    gaps: bool
    lacking: str = ""
    labels: int | None = None


@dataclass(frozen=True)
class Found:
    """What was found at an address.

    Attributes
    ----------
    about : a sentence without its end, such as "2 Parquet files"
    columns : of all providers
    tables : one `[[providers]]` table each, without target and features, and a remark
    smallest : records of the smallest provider
    target : the column with the targets, or None if it is not known
    validation : the table of the validation rows, a fraction to hold out, or None if the user must
        write it
    needs : what else the user must do before the configuration runs
    """

    about: str
    columns: Sequence[Column]
    tables: Sequence[tuple[dict[str, Any], str]]
    smallest: int
    target: str | None
    validation: dict[str, Any] | float | None
    needs: Sequence[str] = ()


def write_found(path: Path, address: str, target: str | None) -> Found:
    """Look at an address, and write the configuration of what is there."""
    if path.exists():
        write_new(path, "", str(path), ", or move it away")  # refuses before anything is read
    scheme = address.partition("://")[0].partition("+")[0] if "://" in address else ""
    module = import_module(_MODULES.get(scheme, _FILES))
    found: Found = module.find(address, target, path.parent)
    write_new(path, found_text(found, address, path.name), str(path))
    return found


def guess_target(names: Sequence[str], target: str | None) -> str | None:
    """Check the target that the user names, or find a column that is called like a target."""
    if target is not None:
        if target not in names:
            raise InvalidInput(f"--target {target} is not a column; {nearest(target, names)}")
        return target
    return next((name for word in _TARGETS for name in names if name.lower() == word), None)


def found_text(found: Found, address: str, file: str) -> str:
    """Write the configuration."""
    schema = Path(str(files("shapband.app.config").joinpath("shapband.schema.json"))).as_uri()
    sources = [table["source"] for table, _ in found.tables]
    reserved = {found.target, *(one.get(role) for one in sources for role in ("by", "key"))}
    features = [one.name for one in found.columns if _is_feature(one, reserved)]
    others = [one for one in found.columns if one.name not in (*features, *reserved)]
    known = found.target is not None and found.validation is not None
    ready = known and bool(features) and not found.needs
    lines = [f"#:schema {schema}", ""]
    lines += [f"# A run of shapband on {_comment(hide(address))}: {_comment(found.about)}."]
    lines += _how_to_run(found, features) if not ready else []
    lines += ["#", f"#     shapband run {_comment(file)} --out my-run", "#"]
    lines += ["# Columns:", *_listed(found.columns)]
    if others and found.target is not None:
        left = ", ".join(one.name for one in others)
        rule = "numbers without gaps in all tables"
        lines += [f"# Not among the features, which must be {rule}: {_comment(left)}"]
    lines += ["", "version = 1", "n_games = 200                # more games mean smaller errors"]
    lines += ["seed = 0                     # repeats the run bit for bit", ""]
    asked = {"target": found.target or PLACEHOLDER, "features": features}
    for table, remark in found.tables:
        source = to_toml({"source": {**table["source"], **asked}}).rstrip("\n")
        lines += ["[[providers]]" + (f"  # {_comment(remark)}" if remark else "")]
        lines += [to_toml({"name": table["name"]}).rstrip("\n")] if "name" in table else []
        lines += [source, ""]
    lines += [
        "# What a coalition's records are worth: a model, and the rows that it is scored on.",
        "",
    ]
    validation: Any = found.validation
    if not isinstance(validation, float):
        rows = validation or {"kind": "csv", "path": "validation.csv"}
        validation = {**rows, **asked}
    lines += ["[utility]", *to_toml(_utility(found)).splitlines()]
    held = "  # of every provider's records" if isinstance(validation, float) else ""
    lines += [to_toml({"validation": validation}).rstrip("\n") + held, ""]
    pool = max(2, min(_LARGEST_POOL, found.smallest))
    lines += ["[sampling]", 'kind = "pooled"']
    lines += [f"n_pool = {pool:<20}# records bought of every provider, once"]
    draw = max(1, min(_LARGEST_DRAW, pool // 4))
    lines += [f"n_boot = {draw:<20}# records of every provider in a game"]
    return "\n".join([*lines, "replace = false              # a game draws no record twice", ""])


def _how_to_run(found: Found, features: Sequence[str]) -> list[str]:
    """Say what is left to the user."""
    left = []
    if found.target is None:
        left.append(f'write the column to predict in place of "{PLACEHOLDER}"')
    if not features:
        left.append("name features that are numbers")
    if found.validation is None:
        left.append("name a file of validation rows that no provider has")
    left += found.needs
    return [f"# Before it runs, {', and '.join(left)}:"]


def _utility(found: Found) -> dict[str, Any]:
    """A model for the target: regression of numbers, classification of labels."""
    target = next((one for one in found.columns if one.name == found.target), None)
    if target is None or target.labels is None:
        return {"kind": "linear"}
    if target.labels == 2:
        return {"kind": "logistic"}
    return {"kind": "neighbors", "task": "classification"}


def _is_feature(column: Column, reserved: Collection[str | None]) -> bool:
    whole = column.kind == "number" and not column.gaps and not column.lacking
    return whole and column.name not in reserved


def _listed(columns: Sequence[Column]) -> list[str]:
    """The columns with their kinds, in comments."""
    lines: list[str] = []
    for column in columns:
        lacking = f", not in {_comment(column.lacking)}" if column.lacking else ""
        gaps = ", with gaps" if column.gaps else ""
        word = f"{_comment(column.name)} ({column.kind}{gaps}{lacking})"
        if lines and len(lines[-1]) + len(word) + 2 <= _WIDTH:
            lines[-1] += f", {word}"
        else:
            lines.append(f"#   {word}")
    return lines


def _comment(text: str) -> str:
    """A text that cannot end its comment."""
    return printable(text)
