"""Whether two valuations estimate the same thing, so that their difference says something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.sampling.sizes import format_sizes
from shapband.valuation.valuation import Valuation
from shapband.valuation.valued import method_of_value

# Draws with replacement from pools of 240 and 250 hold 53.1 and 53.4 different records of 60. Such
# small differences come from stocks that grow, and change values by less than usual errors.
_SAME_DISTINCT = 0.02


def different_estimands(one: Valuation, other: Valuation, names: Sequence[str]) -> tuple[str, ...]:
    """Say why the values of these providers have different expectations; empty if they do not.

    A change of the records, the model or the validation rows is no reason: it is what a comparison
    is to show.
    """
    reasons = _different_worth(one.setup, other.setup)
    if one.index != other.index:
        reasons.append(
            f"the valuations compute different indices, {one.index} and {other.index}: use one of "
            "them for both"
        )
    if one.setup.get("participation") != other.setup.get("participation"):
        reasons.append("providers take part in different ways: use the same participation")
    if _groups_of(one) != _groups_of(other):
        reasons.append("the providers are in different groups: use the same groups")
    draws = _different_draws(one, other, names)
    return (*reasons, draws) if draws else tuple(reasons)


def _different_worth(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Say why coalitions of two valuations are worth different things: score, target or v(∅).

    Another model under the same score is no reason. If a valuation does not name its score, what
    else is known of its utility must be equal.
    """
    reasons = []
    if "score" in one and "score" in other:
        if one["score"] != other["score"]:
            reasons.append(
                f"the values are parts of different scores, {one['score']} and {other['score']}: "
                "use the same score for both"
            )
    elif any(differ(one, other, word) for word in ("utility", "model")):
        reasons.append(
            f"the values are those of {method_of_value(one)} and of {method_of_value(other)}, "
            "which do not both name a score: use the same utility, or utilities that name their "
            "score"
        )
    if differ(one, other, "target"):
        reasons.append(
            f"the values are about different targets, {one['target']!r} and {other['target']!r}: "
            "use the same column, or give columns that mean the same one name"
        )
    if differ(one, other, "empty") and not _same_nobody(one["empty"], other["empty"]):
        reasons.append(
            f"a coalition of nobody is worth different things, {one['empty']} and "
            f"{other['empty']}, which moves all values: use the same empty= for both"
        )
    return reasons


def differ(one: Mapping[str, str], other: Mapping[str, str], word: str) -> bool:
    """Whether two setups have different entries; an entry that one lacks is not known."""
    return word in one and word in other and one[word] != other[word]


def _same_nobody(one: str, other: str) -> bool:
    """Whether two descriptions of v(∅) mean the same number, or the score of the same model.

    Examples
    --------
    >>> _same_nobody("v(∅) = 0.41 (a dummy model)", "v(∅) = 0.43 (a dummy model)")
    True
    >>> _same_nobody("v(∅) = 0", "v(∅) = 0.43 (a dummy model)")
    False
    """
    number, _, model = one.partition(" (")
    other_number, _, other_model = other.partition(" (")
    return number == other_number or model == other_model != ""


def same_draws(one: Valuation, other: Valuation) -> bool:
    """Whether games with the same number choose the same rows of every source or pool."""
    if one.seed != other.seed:
        return False
    if one.setup.get("sampling") == other.setup.get("sampling"):
        return True
    mine, yours = one.design, other.design
    return (
        one.sizes_by_name == other.sizes_by_name
        and one.pool_sizes is not None
        and other.pool_sizes is not None
        and _by_name(one, one.pool_sizes) == _by_name(other, other.pool_sizes)
        and (mine.replace, mine.per_shuffle) == (yours.replace, yours.per_shuffle)
    )


def on_uncovered_rows(valuations: Sequence[Valuation], labels: Sequence[str]) -> tuple[str, ...]:
    """Note that validation rows may differ whose choice the errors do not cover; else empty.

    Only the number of rows is kept with a valuation, so equally many rows may be different rows.
    """
    scored = [
        (label, rows.rows, one.estimate.moments.validation is not None)
        for label, one in zip(labels, valuations, strict=True)
        if (rows := one.design.validation) is not None
    ]
    uncovered = [label for label, _, covers in scored if not covers]
    if len(scored) < 2 or not uncovered:
        return ()
    whose = "" if len(uncovered) == len(valuations) else f" of {' and '.join(uncovered)}"
    known = dict.fromkeys(rows for _, rows, _ in scored if rows)
    if len(known) > 1:
        sizes = " and ".join(f"{rows:,}" for rows in known)
        which = f", which differ ({sizes} rows): differences"
    else:
        which = ": if the valuations have different rows, differences"
    return (
        f"note: the errors{whose} do not cover the choice of the validation rows{which} may be due "
        "to the rows alone",
    )


def _different_draws(one: Valuation, other: Valuation, names: Sequence[str]) -> str:
    sizes = [_of(each, each.draw_sizes, names) for each in (one, other)]
    if (sizes[0] != sizes[1]).any():
        drawn = " and ".join(format_sizes(size.astype(np.int64)) for size in sizes)
        return (
            f"the valuations draw different numbers of records ({drawn}), which changes values: "
            "play the second with the sizes of the first, sb.Pooled(n_pool, first.sizes_by_name) "
            "or sb.Fresh(first.sizes_by_name)"
        )
    if _kind(one) != _kind(other):
        return (
            f"the valuations estimate different things, {one.estimand}; and {other.estimand}: use "
            "the same sampling"
        )
    pools = [each.pool_sizes for each in (one, other)]
    if one.estimand_code == "pools" and pools[0] is not None and pools[1] is not None:
        m, other_m = _of(one, pools[0], names), _of(other, pools[1], names)
        different, others = (k * (1 - (1 - 1 / k) ** sizes[0]) for k in (m, other_m))
        if (np.abs(different / others - 1) > _SAME_DISTINCT).any():
            return (
                "the valuations draw with replacement from pools of different sizes, which changes "
                "how many different records a draw has: use pools of the same size, or "
                "replace=False"
            )
    return ""


def _kind(valuation: Valuation) -> str:
    """What draws are made from; other samplings are known by their sentence only."""
    code = valuation.estimand_code
    if code == "other":
        return valuation.estimand
    return "sources" if code == "population" else code


def _of(valuation: Valuation, numbers: IntArray, names: Sequence[str]) -> FloatArray:
    place = {name: at for at, name in enumerate(valuation.names)}
    return np.asarray(numbers, dtype=np.float64)[[place[name] for name in names]]


def _by_name(valuation: Valuation, numbers: IntArray) -> dict[str, int]:
    return dict(zip(valuation.names, numbers.tolist(), strict=True))


def _groups_of(valuation: Valuation) -> set[frozenset[str]]:
    """The members of every group of two or more; a group of one does not change the values."""
    groups = {} if valuation.groups is None else valuation.groups.members
    return {frozenset(members) for members in groups.values() if len(members) > 1}
