"""Extensions of a run, as its ledger stores them.

The manifest of a run never changes, because the ledger is chained to it. An extension is a note in
the ledger, and `extended` gives the manifest with the changes of all extensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from shapband.codec import decode, encode

NOTE = "extensions"  # the note that lists all extensions
RESULT = "result before extension"  # with its number, the note that holds the earlier result


class Change(NamedTuple):
    """An argument before and after an extension, as text."""

    before: str
    after: str


@dataclass(frozen=True)
class Extension:
    """One extension of a run: more games, larger pools, another stopping rule or another budget.

    Attributes
    ----------
    time : when the run was extended, UTC, ISO 8601
    changes : the arguments that changed, by name
    done : games that were played before
    replays : whether all games are played again, because the pools are larger
    n_games : games asked for since then
    entries : entries in the ledger before the extension
    versions : versions in use, by package
    settings : keys of the configuration with their new values as JSON, if the command line
        extended the run; None if Python did

    Examples
    --------
    >>> import shapband as sb, tempfile
    >>> task = sb.datasets.wine()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for n_games in (5, 8):
    ...         valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60),
    ...                              n_games=n_games, seed=0, run=f"{folder}/my-run")
    ...     (extension,) = sb.load(f"{folder}/my-run").status.extensions
    >>> print(extension)
    n_games from 5 to 8, after 5 games
    """

    time: str
    changes: Mapping[str, Change]
    done: int
    replays: bool
    n_games: int
    entries: int
    versions: Mapping[str, str]
    settings: Mapping[str, str] | None = None

    def __str__(self) -> str:
        said = [
            f"{what} from {change.before} to {change.after}"
            for what, change in self.changes.items()
            if not change.after.startswith("sha256:") and not change.before.startswith("sha256:")
        ]
        again = ", which are played again" if self.replays and self.done else ""
        return f"{', '.join(said or self.changes)}, after {self.done:,} games{again}"


def read_extensions(document: Any) -> tuple[Extension, ...]:
    """Read the note of all extensions; None means that there are none."""
    return tuple(decode(Extension, one) for one in document or ())


def written_extensions(extensions: Sequence[Extension]) -> Any:
    """The note of all extensions, which `read_extensions` reads."""
    return [encode(one) for one in extensions]


def extended(manifest: Mapping[str, Any], extensions: Sequence[Extension]) -> dict[str, Any]:
    """The manifest of a run after its extensions.

    After an extension that plays all games again, no game is of earlier versions.
    """
    changed = dict(manifest)
    for one in extensions:
        after = {what: change.after for what, change in one.changes.items()}
        changed["arguments"] = {**changed["arguments"], **after}
        changed["n_games"] = one.n_games
        if one.replays:
            changed["versions"] = dict(one.versions)
    return changed


def first_entry(extensions: Sequence[Extension]) -> int:
    """The entry of the ledger from which on games count: those before were played again."""
    return max((one.entries for one in extensions if one.replays), default=0)
