"""Runs of older versions, whose games this version may compute with different bits.

The games of a run are averaged, so all of them must be computed in the same way. An unfinished run
is refused if this version computes its games differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband.engine.shortcuts import choose_averaging, why_certain
from shapband.errors import RunError
from shapband.sampling.base import Purchases, Realisation, Sampling
from shapband.sampling.participation import AVERAGED
from shapband.sampling.validation import Validation
from shapband.valuation.older import upgraded_design

if TYPE_CHECKING:
    from shapband.access.access import Access
    from shapband.engine.arguments import Arguments
    from shapband.providers import Provider
    from shapband.sampling.design import Design

_CHANGED = (0, 2, 0)  # the version in which the results of some methods changed
_STRATA_CHANGED = (0, 3, 0)


def is_older(version: str) -> bool:
    """Whether a version is older than the last version that changed results.

    Examples
    --------
    >>> is_older("0.1.0"), is_older("0.2.0"), is_older("0.10.1")
    (True, False, False)
    """
    return _parts(version) < _CHANGED


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def design_of_facts(manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a design from what runs before 0.2.0 recorded of their games."""
    setup = dict(manifest["setup"])
    parts = {"names": manifest["providers"], "seed": manifest["seed"], "setup": setup, **facts}
    return {
        **upgraded_design(parts, manifest.get("groups")),
        "unseen": facts.get("unseen"),
        "replace": True if facts.get("unseen") is None else facts["replace"],
        "per_shuffle": facts["group"],
        "participation": facts.get("participation"),
        "averaged": manifest.get("presence") == AVERAGED,
    }


def with_stored_rules(manifest: Mapping[str, Any], given: Arguments) -> Arguments:
    """Finish a run of an older version by the rules with which it was begun.

    Versions before 0.3.0 did not leave out folds of the validation rows in the first games.
    """
    if "folds" not in manifest and given.validation is not None and given.rows_kept:
        before = manifest["versions"].get("shapband", "")
        reason = f"the run was begun with shapband {before}"
        rows = Validation(given.validation.rows, reason=reason)
        given = replace(given, validation=rows, rows_kept=())
    return _with_stored_solver(manifest, given)


def _with_stored_solver(manifest: Mapping[str, Any], given: Arguments) -> Arguments:
    """Take the solver that an older version chose, if the user named none, neither then nor now."""
    before = str(manifest["arguments"].get("solver"))
    stored = re.fullmatch(r"Exact\(\)|Strata\(n_evaluations=(\d+)\)", before)
    if not (given.reason and "chosen" in manifest["setup"] and stored):
        return given
    from shapband.solvers.exact import Exact
    from shapband.solvers.strata import Strata

    solver = Strata(int(stored[1])) if stored[1] else Exact()
    parts = given.index, given.names
    return replace(
        given,
        solver=solver,
        reason=manifest["setup"]["chosen"],
        averaging=choose_averaging(given.participation, given.sampling, solver, *parts),
        certain=why_certain(
            given.providers, given.utility, given.sampling, solver, given.participation
        ),
    )


def with_stored_draws(design: Design | None, given: Arguments) -> Arguments:
    """Keep the independent draws of a run that was begun before draws were dealt from shuffles."""
    from shapband.sampling.pooled import Pooled

    dealt = isinstance(given.sampling, Pooled) and not given.sampling.replace
    if not dealt or design is None or design.per_shuffle is not None:
        return given
    return replace(given, sampling=_IndependentDraws(given.sampling))


@dataclass(frozen=True)
class _IndependentDraws(Sampling):
    """The draws without replacement of versions before 0.3.0, which are independent of each other.

    Parameters
    ----------
    pooled : the sampling that describes them
    """

    pooled: Sampling

    def __repr__(self) -> str:
        return repr(self.pooled)

    def check(self, providers: Sequence[Provider]) -> None:
        self.pooled.check(providers)

    def purchases(self, providers: Sequence[Provider]) -> Purchases | None:
        return self.pooled.purchases(providers)

    def prepare(self, access: Access) -> Realisation:
        made = self.pooled.prepare(access)
        return replace(made, design=replace(made.design, per_shuffle=None))


def sampling_now(text: str) -> str:
    """The description of a sampling in the words of this version.

    Examples
    --------
    >>> sampling_now("Blocks(n_pool=240, n_sample=60)"), sampling_now("Fresh(n_sample=60)")
    ('Pooled(n_pool=240, n_boot=60, replace=False)', 'Fresh(n_sample=60)')
    """
    found = re.fullmatch(r"Blocks\(n_pool=(\d+), n_sample=(.*)\)", text)
    return f"Pooled(n_pool={found[1]}, n_boot={found[2]}, replace=False)" if found else text


def dealt_design(document: dict[str, Any]) -> dict[str, Any]:
    """Return the design of a run with `Blocks` as that of the draws without replacement it had."""
    if document.get("per_shuffle") is None or document.get("estimand_code") != "population":
        return document
    words = r"from the population that the pools of (.*) were drawn from"
    estimand = re.sub(words, r"from the sources, by way of pools of \1", document["estimand"])
    return {**document, "replace": False, "estimand": estimand, "estimand_code": "sources"}


def check_same_bits(run: Path, versions: Mapping[str, str], given: Arguments) -> None:
    """Raise RunError if this version would compute the remaining games of a run differently."""
    from shapband.solvers.strata import Strata

    before = versions.get("shapband", "")
    since, change = "0.2.0", _change(given) if is_older(before) else ""
    if isinstance(given.solver, Strata) and _parts(before) < _STRATA_CHANGED:
        since, change = "0.3.0", "Strata computes other values"
    if change:
        raise RunError(
            f"the run {run} was begun with shapband {before}, and since version {since} {change}: "
            "old and new games must not be mixed. Finish it with the version that began it (pip "
            f"install shapband=={before}), or begin a new run in another directory, which asks "
            "the sources again"
        )


def _change(given: Arguments) -> str:
    """What changed in the results for these arguments; empty if nothing did.

    Only a run of an older version that is resumed needs the classes imported here.
    """
    from shapband.utilities.class_sums import ClassSumsUtility
    from shapband.utilities.linear import LinearUtility
    from shapband.utilities.logistic import LogisticUtility
    from shapband.utilities.neighbors import NeighborUtility
    from shapband.utilities.networks.network import NetworkUtility

    compiled = LogisticUtility | ClassSumsUtility | NeighborUtility | NetworkUtility
    if isinstance(given.utility, LinearUtility):
        return "the last digits of LinearUtility are different"
    if isinstance(given.utility, compiled):
        name = type(given.utility).__name__
        return f"{name} treats ties of scores, and digits lost to rounding, differently"
    if given.utility.training:
        return "models with an unset random_state get one from the seed"
    return ""
