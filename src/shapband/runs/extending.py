"""Which changed arguments extend a run, and whether it can be extended by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapband.access.budget import Cost
from shapband.errors import BudgetExceeded, RunError
from shapband.runs.extensions import Change, Extension, Remaining
from shapband.runs.ledger import now
from shapband.runs.purchases import pool_parts
from shapband.runs.versions import versions
from shapband.sampling.pooled import Pooled
from shapband.sampling.stratified import Stratified

if TYPE_CHECKING:
    from shapband.engine.arguments import Arguments
    from shapband.runs.store import RunStore
    from shapband.sampling.base import Sampling

CODE = "code of the "  # begins the name of an argument that is code of the user
SOURCE_CODE = f"{CODE}source of provider "
_STOP_SETTINGS = "settings of the stop"
# The settings of a rule are stored only if its class is the user's, so they may come and go.
_ALWAYS = ("n_games", "budget", "stop", _STOP_SETTINGS, f"{CODE}stop")


def extends(what: str, before: str, sampling: Sampling, *, ask_again: bool) -> bool:
    """Whether a run can be extended by a change of this argument, whose text was `before`.

    `ask_again` allows the corrected code of a source.
    """
    if what.startswith(SOURCE_CODE):
        return ask_again
    if what == "sampling":
        return _is_pooled_alike(before, sampling)
    return what in _ALWAYS


def _is_pooled_alike(before: str, sampling: Sampling) -> bool:
    """Whether a sampling is a `Pooled` that differs from a text at most in its `n_pool`."""
    if not isinstance(sampling, Pooled):
        return False
    opening = f"Pooled(n_pool={sampling.n_pool}"
    rest = repr(sampling).removeprefix(opening)
    return before.startswith("Pooled(n_pool=") and before.endswith(rest)


def why_not(what: str, before: str, sampling: Sampling) -> str:
    """The reason why a run cannot be extended by this change, if there is a special one."""
    if what == "sampling" and isinstance(sampling, Stratified) and before.startswith("Stratified("):
        return (
            "Stratified takes the sizes of its draws from the pools, so its games would be others"
        )
    return ""


def found_changes(
    before: Mapping[str, str], found: Mapping[str, str], sampling: Sampling, *, ask_again: bool
) -> dict[str, Change]:
    """The changed arguments by which a run is extended; all others are equal."""
    changes = {}
    sources = [what for what in found if what.startswith(SOURCE_CODE)]
    for what in ("sampling", *_ALWAYS, *sources):
        if what != _STOP_SETTINGS and not (what in before and what in found):
            continue  # versions that did not store an argument did not have it
        change = Change(before.get(what, ""), found.get(what, ""))
        if change.before != change.after and extends(
            what, change.before, sampling, ask_again=ask_again
        ):
            changes[what] = change
    return changes


def check_extension(store: RunStore, given: Arguments, changes: Mapping[str, Change]) -> None:
    """Raise RunError or BudgetExceeded, before anything is stored, if a run cannot be extended."""
    done = store.games.solved()
    if "n_games" in changes and given.n_games < done:
        raise RunError(
            f"n_games: the run {store.run} has played {done:,} games, more than the "
            f"{given.n_games:,} asked for: ask for at least {done:,}, or begin a new run"
        )
    more = Cost()
    if "sampling" in changes:
        more = _cost_of_pools(store, given)
    if "sampling" in changes or "budget" in changes:
        _check_budget(store, given, more)


def _cost_of_pools(store: RunStore, given: Arguments) -> Cost:
    """The records and requests that larger pools take; smaller pools are refused."""
    bought = {name: sum(parts) for name, parts in pool_parts(store.ledger).items()}
    purchases = given.sampling.purchases(given.providers)
    sizes = () if purchases is None else purchases.once
    missing = []
    for name, size in zip(given.names, sizes, strict=True):
        held = bought.get(name, 0)
        if size < held:
            raise RunError(
                f"n_pool: the run {store.run} has bought a pool of {held:,} records of provider "
                f"{name!r}, more than the {size:,} asked for: ask for at least {held:,}, or begin "
                "a new run"
            )
        missing.append(size - held)
    return Cost(sum(one > 0 for one in missing), sum(missing))


def _check_budget(store: RunStore, given: Arguments, more: Cost) -> None:
    used = store.usage().values()
    spent = Cost(sum(one.requests for one in used), sum(one.records for one in used))
    if not given.budget.allows(spent, more):
        further = f", and the larger pools take {more.records:,} more" if more.records else ""
        raise BudgetExceeded(
            f"budget: the run {store.run} has used {spent.records:,} records in "
            f"{spent.requests:,} requests{further}, but the budget is {given.budget}: raise it"
        )


def new_extension(
    store: RunStore,
    given: Arguments,
    changes: Mapping[str, Change],
    settings: Mapping[str, str] | None,
) -> Extension:
    """The record of an extension that begins now."""
    last = store.ledger.last()
    return Extension(
        time=now(),
        changes=changes,
        done=store.games.solved(),
        replays="sampling" in changes,
        n_games=given.n_games,
        entries=0 if last is None else last.id,
        versions=versions(),
        # The corrected code of a source changes no key of the configuration.
        settings={} if all(what.startswith(SOURCE_CODE) for what in changes) else settings,
    )


def leaving_extension(store: RunStore, given: Arguments, manifest: Mapping[str, Any]) -> Extension:
    """The record of a run that goes on without the last provider of `given.left_out`.

    `manifest` is the one of a run that is begun with these arguments.
    """
    before, after = store.manifest["arguments"], manifest["arguments"]
    changes = {
        what: Change(before.get(what, ""), text)
        for what, text in after.items()
        if before.get(what, "") != text
    }
    return replace(
        new_extension(store, given, changes, settings={}),  # no key of the configuration changes
        replays=True,
        left_out=given.left_out[-1],
        remaining=Remaining.of(manifest),
    )
