"""Beginning a run, and resuming it after any interruption."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from shapband.access.access import is_distant
from shapband.access.held import HeldPurchases
from shapband.checks import steady_repr
from shapband.engine.arguments import Arguments
from shapband.engine.leaving import LeftOut, arguments_without
from shapband.engine.play import Watch, play
from shapband.engine.workers.base import Workers
from shapband.errors import (
    BudgetExceeded,
    InvalidInput,
    ProviderFailed,
    RunError,
    VersionsChanged,
)
from shapband.indices import SHAPLEY
from shapband.runs import database
from shapband.runs.extending import (
    CODE,
    SOURCE_CODE,
    check_extension,
    extends,
    found_changes,
    leaving_extension,
    new_extension,
    why_not,
)
from shapband.runs.extensions import Change
from shapband.runs.fingerprints import fingerprint, fingerprint_object, is_same_data
from shapband.runs.ledger import now
from shapband.runs.older import (
    check_same_bits,
    is_older,
    sampling_now,
    with_stored_draws,
    with_stored_rules,
)
from shapband.runs.own_code import fingerprint_code, is_same_code
from shapband.runs.refused import check_refused, log_refused
from shapband.runs.store import RunStore, discard_untouched
from shapband.runs.stored import StoredConfig, sha256
from shapband.runs.trust import remember
from shapband.runs.versions import changes, versions
from shapband.sampling.participation import AVERAGED, DRAWN
from shapband.seeds import Seeds
from shapband.valuation.text import REASONS
from shapband.valuation.valuation import Valuation

# Makes the arguments of a run without some providers.
Without: TypeAlias = Callable[[Sequence[LeftOut]], Arguments]
_NOBODY_ABSENT = fingerprint_object(None)
_UTILITY = "settings or validation rows of the utility"
# Entries of `setup` for readers: another version of the library may choose other words.
_WORDS = {"model", "score", "target", *REASONS}


def begin(
    run: Path,
    given: Arguments,
    workers: Workers,
    watch: Watch,
    config: StoredConfig | None = None,
    held: HeldPurchases | None = None,
    without: Without | None = None,
) -> Valuation:
    """Begin a run in a new or empty directory, and play it to its end.

    `watch` is called with the progress after every chunk; `config` is the configuration file
    that describes the arguments, if there is one; `held` are records that were bought before,
    and they are stored first. If a provider fails for good, the run goes on with the arguments
    that `without` makes, or stops if this is None.
    """
    existed, manifest = run.exists(), _manifest(given, config)
    try:
        with RunStore.create(run, manifest) as store, store.lock():
            remember(store.start)
            if held is not None:
                held.copy_to(store.purchases())
                store.ledger.enter()  # so that the records held count from the beginning
            return _play(store, given, workers, watch, without)
    except (BudgetExceeded, InvalidInput):
        # Remove the empty run directory, so that the corrected call can use the same name.
        discard_untouched(run, keep=existed)
        raise


def resume(
    run: Path,
    given: Arguments,
    workers: Workers,
    watch: Watch,
    warn: Callable[[str], None] | None = None,
    *,
    seed_given: bool = False,
    ask_again: bool = False,
    settings: Mapping[str, str] | None = None,
    without: Without | None = None,
) -> Valuation:
    """Resume an interrupted run, extend a run, or return the result of a finished one.

    The arguments must be the same as when the run began, also the seed if `seed_given`; other
    games, larger pools, another stopping rule and another budget extend the run. If versions
    changed since then, `warn` receives one line; by default it becomes a VersionsChanged warning.
    Requests whose answers were refused are made again only if `ask_again`, and only then may the
    code of a source have changed. `settings` are the keys
    of the configuration by which the command line extends the run. `without` is the same as in
    `begin`; `given` has no provider that was left out before.
    """
    with RunStore.open(run) as store:
        finished = _verified_result(store)
        given = with_stored_rules(store.manifest, given)
        given = with_stored_draws(store.games.design(store.manifest), given)
        asked = _arguments(given)
        changes = _changes(store, given, asked, ask_again=ask_again)
        if finished is None or changes:
            check_same_bits(store.run, store.manifest["versions"], given)
        _check_same(store, given, asked, seed_given=seed_given, ask_again=ask_again)
        check_extension(store, given, changes)
    if finished is not None and not changes:
        return finished
    with RunStore.open(run, write=True) as store, store.lock():
        store.verify()
        if ask_again:
            log_refused(store.ledger)
        else:
            check_refused(store.ledger, run, given.names)
        if asked["providers"] != store.manifest["arguments"]["providers"]:
            raise RunError(f"another process has left out providers of the run {run}: resume again")
        store.mark_format()
        # Another process may have extended the run meanwhile.
        changes = _changes(store, given, asked, ask_again=ask_again)
        if changes:
            check_extension(store, given, changes)
            store.extend(new_extension(store, given, changes, settings))
        _check_versions(store, warn or _warn)
        return store.finished() or _play(store, given, workers, watch, without)


def value_in_run(
    run: Path,
    given: Arguments,
    workers: Workers,
    watch: Watch,
    *,
    seed_given: bool,
    ask_again: bool = False,
    held: HeldPurchases | None = None,
    without: Without | None = None,
) -> Valuation:
    """Begin a run, or resume it if the directory holds one."""
    if (run / database.NAME).exists():
        return resume(
            run,
            given,
            workers,
            watch,
            seed_given=seed_given,
            ask_again=ask_again,
            without=without,
        )
    return begin(run, given, workers, watch, held=held, without=without)


def finished_valuation(run: Path) -> Valuation | None:
    """The result of a run after verifying all of it, or None while it is not finished."""
    with RunStore.open(run) as store:
        return _verified_result(store)


def _verified_result(store: RunStore) -> Valuation | None:
    finished = store.finished()
    if finished is not None:
        store.verify()
    return finished


def _play(
    store: RunStore, given: Arguments, workers: Workers, watch: Watch, without: Without | None
) -> Valuation:
    seeds, valuation = Seeds(store.manifest["seed"]), None
    with workers:
        while valuation is None:
            seeded = replace(given, seeds=seeds)
            try:
                valuation = play(seeded, workers, watch, store.purchases(), store.games)
            except ProviderFailed as failure:
                if without is None:
                    raise
                given = arguments_without(failure, given, without)
                store.extend(leaving_extension(store, given, _manifest(given, None)))
    _check_data(store, _data(given))  # the data may have changed while the games were played
    store.finish(valuation)
    return valuation


def _manifest(given: Arguments, config: StoredConfig | None) -> dict[str, Any]:
    return {
        "config": None if config is None else config.text,
        "config_sha256": None if config is None else sha256(config.text),
        "base": None if config is None else str(config.base.resolve()),
        "created": now(),
        "seed": given.seeds.seed,
        "n_games": given.n_games,
        "providers": list(given.names),
        "groups": None if given.grouping is None else given.grouping.labels(len(given.names)),
        "setup": given.setup,
        "presence": _way_of_presence(given),
        "folds": len(given.rows_kept),
        **_further_columns(given),
        "arguments": _arguments(given),
        "versions": versions(),
    }


def _further_columns(given: Arguments) -> dict[str, int]:
    """Rounds whose values are stored, and how often games are played again; neither if none is."""
    rounds = given.utility.rounds if given.by_round else 0
    replays = 0 if given.replays is None else len(given.replays.other_presence)
    found = {"by_round": rounds, "replays": replays}
    return {word: number for word, number in found.items() if number}


def _arguments(given: Arguments) -> dict[str, str]:
    """Everything that determines the result except the seed, by its name in error messages."""
    return {
        "providers": _players(given),
        **_data(given),
        **{word: text for word, text in given.setup.items() if word not in _WORDS},
        _UTILITY: fingerprint_object(given.utility),
        "n_games": str(given.n_games),
        "budget": str(given.budget),
        "stop": steady_repr(given.stop),
        "keep_games": repr(given.keep_games),
        "participation": steady_repr(given.participation),
        "settings of the participation": fingerprint_object(given.participation),
        "way that presence enters": _way_of_presence(given),
        "fixed_validation": _way_of_rows(given),
        "validation_groups": fingerprint_object(given.rows_kept),
        "interactions": str(given.interactions),
        "by_round": str(given.by_round),
        "variance_parts": str(given.replays is not None),
        **_own_settings(given),
        **_codes(given),
    }


def _own_settings(given: Arguments) -> dict[str, str]:
    """Settings of objects of the user's classes, whose `repr` may not show them."""
    parts = _parts_with_settings(given)
    return {
        f"settings of the {word}": fingerprint_object(part)
        for word, part in parts.items()
        if part is not None and not type(part).__module__.startswith("shapband.")
    }


def _parts_with_settings(given: Arguments) -> dict[str, object]:
    return {
        "sampling": given.sampling,
        "solver": given.solver,
        "index": given.index,
        "stop": given.stop,
    }


def _codes(given: Arguments) -> dict[str, str]:
    """The user's code in all parts.

    Sources whose records are in memory are compared by their records alone.
    """
    parts = {
        "utility": given.utility,
        **_parts_with_settings(given),
        "participation": given.participation,
    }
    sources = {
        f"{SOURCE_CODE}{one.name!r}": fingerprint_code(one.source)
        for one in given.providers
        if is_distant(one)
    }
    return {f"{CODE}{word}": fingerprint_code(part) for word, part in parts.items()} | sources


def _data(given: Arguments) -> dict[str, str]:
    return {f"data of provider {one.name!r}": fingerprint(one.source) for one in given.providers}


def _way_of_presence(given: Arguments) -> str:
    return AVERAGED if given.averaging.averages else DRAWN


def _way_of_rows(given: Arguments) -> str:
    return "" if given.validation is None else given.validation.reason


def _players(given: Arguments) -> str:
    """All providers by name; the members of a group are in brackets after the group's name."""
    names = [repr(name) for name in given.names]
    if given.grouping is not None:
        for group, places in zip(given.grouping.names, given.grouping.members, strict=True):
            names[places[0]] = f"group {group!r} [{names[places[0]]}"
            names[places[-1]] += "]"
    return ", ".join(names)


def _check_same(
    store: RunStore,
    given: Arguments,
    asked: Mapping[str, str],
    *,
    seed_given: bool,
    ask_again: bool,
) -> None:
    """Raise RunError if an argument differs from the run's and cannot extend it; name the first."""
    before, data = _arguments_before(store, asked), _data(given)
    if before["providers"] == asked["providers"]:
        _check_data(store, data)
    for what in asked:
        if what in before and what not in data and before[what] != asked[what]:
            if extends(what, before[what], given.sampling, ask_again=ask_again):
                continue
            reason = why_not(what, before[what], given.sampling)
            raise _changed(store, what, before[what], asked[what], reason)
    if seed_given and given.seeds.seed != store.manifest["seed"]:
        raise RunError(
            f"the seed of the run {store.run} is {store.manifest['seed']}; received "
            f"{given.seeds.seed}: leave it out, or begin a new run"
        )


def _changes(
    store: RunStore, given: Arguments, asked: Mapping[str, str], *, ask_again: bool
) -> dict[str, Change]:
    """The changed arguments by which the run is extended."""
    before = _arguments_before(store, asked)
    return found_changes(before, asked, given.sampling, ask_again=ask_again)


def _arguments_before(store: RunStore, asked: Mapping[str, str]) -> dict[str, str]:
    """The arguments of the run, in the words of this version.

    Code that was compiled by another version of Python counts as unchanged.
    """
    # Versions that did not store these arguments computed Shapley values with everybody present.
    unsaid = {
        "index": repr(SHAPLEY),
        "participation": repr(None),
        "settings of the participation": _NOBODY_ABSENT,
        "way that presence enters": DRAWN,
        "interactions": str(False),
        "by_round": str(False),
        "variance_parts": str(False),
    }
    before: dict[str, str] = {**unsaid, **store.manifest["arguments"]}
    if "sampling" in before:
        before["sampling"] = sampling_now(before["sampling"])
    codes = [what for what in asked if what.startswith(CODE) and what in before]
    return before | {one: asked[one] for one in codes if is_same_code(before[one], asked[one])}


def _check_data(store: RunStore, data: Mapping[str, str]) -> None:
    """Raise RunError if the records of a provider changed since the run began."""
    before = store.manifest["arguments"]
    for what, found in data.items():
        if what in before and not is_same_data(before[what], found):
            raise _changed(store, what, before[what], found)


def _changed(store: RunStore, what: str, before: str, found: str, reason: str = "") -> RunError:
    hashed = found.startswith("sha256:") or before.startswith("sha256:")
    change = "" if hashed else f", from {before} to {found}"
    old = store.manifest["versions"].get("shapband", "")
    remedy = "use what the run was begun with, or begin a new run"
    if is_older(old) and what == _UTILITY:
        remedy += (
            f". If only their description changed since version {old}, which cannot be detected, "
            f"load({str(store.run)!r}) reads a finished run, and version {old} resumes this one"
        )
    if what.startswith(SOURCE_CODE):
        remedy += (
            ". If the records that it gave before are good and its code was corrected, resume with "
            "--ask-again, or from Python with value(..., ask_again=True)"
        )
    if what == "empty":
        what = "value of the empty coalition, which follows from the score,"
    elif what.startswith(CODE):
        what += ", or a value that it reads,"
    because = f" ({reason})" if reason else ""
    return RunError(
        f"the {what} changed since the run {store.run} began{change}{because}: {remedy}"
    )


def _check_versions(store: RunStore, warn: Callable[[str], None]) -> None:
    """Report and note which versions changed. The run can be resumed, but bits may differ."""
    found = versions()
    changed = changes(store.manifest["versions"], found)
    if changed:
        before = store.ledger.noted("versions") or []
        since = {"time": now(), "games": store.games.solved(), "versions": found}
        store.ledger.note("versions", [*before, since])
        warn(
            f"versions changed since the run began ({changed}): the games from here on may "
            "differ in their last bits"
        )


def _warn(line: str) -> None:
    warnings.warn(line, VersionsChanged, stacklevel=4)
