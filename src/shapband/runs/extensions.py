"""Extensions of a run, as its ledger stores them.

The manifest of a run never changes, because the ledger is chained to it. An extension is a note in
the ledger, and `extended` gives the manifest with the changes of all extensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from shapband.codec import decode, encode
from shapband.engine.leaving import LeftOut

NOTE = "extensions"  # the note that lists all extensions
RESULT = "result before extension"  # with its number, the note that holds the earlier result


class Change(NamedTuple):
    """An argument before and after an extension, as text."""

    before: str
    after: str


@dataclass(frozen=True)
class Remaining:
    """The entries of the manifest that depend on who takes part, without those who were left out.

    Attributes
    ----------
    providers, groups, setup, presence, folds : as in the manifest of a run
    """

    providers: tuple[str, ...]
    groups: tuple[str, ...] | None
    setup: Mapping[str, str]
    presence: str
    folds: int

    @staticmethod
    def of(manifest: Mapping[str, Any]) -> Remaining:
        """Take the entries from a manifest."""
        return Remaining(**{one.name: manifest[one.name] for one in fields(Remaining)})

    def entries(self) -> dict[str, Any]:
        """The entries for a manifest."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {key: list(one) if isinstance(one, tuple) else one for key, one in found.items()}


@dataclass(frozen=True)
class Extension:
    """One change of a run: more games, larger pools, another stopping rule or another budget.

    A provider that fails for good and is left out is such a change too.

    Attributes
    ----------
    time : when the run was extended, UTC, ISO 8601
    changes : the arguments that changed, by name
    done : games that were played before
    replays : whether all games are played again, because the pools are larger or a provider was
        left out
    n_games : games asked for since then
    entries : entries in the ledger before the extension
    versions : versions in use, by package
    settings : keys of the configuration with their new values as JSON, if the command line
        extended the run; None if Python did
    left_out : the provider that failed, if the run goes on without it, and why
    remaining : what the manifest says without this provider, else None

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
    left_out: LeftOut | None = None
    remaining: Remaining | None = None

    def __str__(self) -> str:
        again = ", which are played again" if self.replays and self.done else ""
        if self.left_out is not None:
            return f"without {self.left_out.reason}, after {self.done:,} games{again}"
        said = [
            f"{what} from {change.before} to {change.after}"
            for what, change in self.changes.items()
            if not change.after.startswith("sha256:") and not change.before.startswith("sha256:")
        ]
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
        if one.remaining is not None:
            changed |= one.remaining.entries()
        if one.replays:
            changed["versions"] = dict(one.versions)
    return changed


def left_out_by(extensions: Sequence[Extension]) -> tuple[LeftOut, ...]:
    """The providers that a run goes on without, in the order in which they failed."""
    return tuple(one.left_out for one in extensions if one.left_out is not None)


def first_entry(extensions: Sequence[Extension]) -> int:
    """The entry of the ledger from which on games count: those before were played again."""
    return max((one.entries for one in extensions if one.replays), default=0)
