"""Checks that utility, sampling, solver and stopping rule are objects of their kind.

The errors say what to write instead of common mistakes, such as a number or the name of a class.
"""

from __future__ import annotations

from typing import Any

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.estimate.stopping import StoppingRule
from shapband.sampling.base import Sampling
from shapband.solvers.base import Solver
from shapband.utilities.base import Utility

_RULES = {
    "utility": "a shapband utility",
    "sampling": "a shapband sampling, such as Pooled(n_pool, n_boot, replace=False)",
    "solver": "a shapband solver, such as Exact(), or None to let the library choose",
    "stop": "a stopping rule, such as Precision(absolute=0.01), or None",
}
_SAMPLINGS = {"fresh": "Fresh(60)", "pooled": "Pooled(250, 60, replace=False)",
              "stratified": "Stratified(250, 60, 0.5)"}  # fmt: skip
_SOLVERS = {"exact": "Exact()", "known": "Known()", "arcs": "Arcs(20)", "strata": "Strata(400)",
            "permutation": "Permutation(200)", "balancedpermutation": "BalancedPermutation(200)",
            "balanced": "BalancedPermutation(200)"}  # fmt: skip


def check_kinds(utility: Any, sampling: Any, solver: Any, stop: Any) -> None:
    """Check the kinds of a valuation's parts."""
    for name, thing, kind in (
        ("utility", utility, Utility),
        ("sampling", sampling, Sampling),
        ("solver", solver, Solver | None),
        ("stop", stop, StoppingRule | None),
    ):
        if not isinstance(thing, kind):
            raise InvalidInput(f"{name} must be {_RULES[name]}; received {_received(name, thing)}")


def _received(name: str, thing: Any) -> str:
    """Say what was received, and what to write instead if it can be guessed."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}: pass an object, {thing.__name__}(...)"
    if isinstance(thing, str):
        known = {"sampling": _SAMPLINGS, "solver": _SOLVERS}.get(name, {})
        found = known.get(thing.lower())
        return written(thing) + (f": use {name}=sb.{found}" if found else "")
    if isinstance(thing, int | float) and not isinstance(thing, bool):
        remedy = f": use sampling=sb.Fresh({thing}) for new draws of that size in every game"
        a_size = 0 < thing < 1 or (isinstance(thing, int) and thing > 0)
        return written(thing) + (remedy if name == "sampling" and a_size else "")
    return type(thing).__name__
