"""Labels that a pool, all draws of a valuation, or a single draw may lack by chance.

No estimate shows the worth of records that no game has seen. If a pool of 200 is bought from a
stock in which 5 of 1,000 records have a label, 33 % of such pools hold none of them, and intervals
from these pools are about other games.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from shapband.checks import printable
from shapband.records.batch import Batch
from shapband.sampling.targets import label_order, spelled

LIKELY = 0.01  # a label that is missed with a lower probability is not reported
# A draw without a label costs 36 per validation row with the label. At a probability of 0.001 this
# moves an expectation by at most 0.036 / n, less than the errors of a few hundred games.
_LIKELY_UNSEEN = 0.001
_NEGLIGIBLE = 35.0  # exp(-35) is below 1e-15
_STORED = 20  # a result keeps at most this many of them, the most probable ones
_NAMED = 3  # a message names at most this many
_EXCLUDED = 3.0  # none among m records excludes shares above 3/m, at 95 % (the rule of three)
_POOLS_REMEDY = "no error shows the worth of records that a pool does not hold: buy larger pools"
_GAMES_REMEDY = "no error shows the worth of records that no game has seen: play more games"
LOG_LOSS_REMEDY = (
    "with the log loss, a coalition that lacks a label costs 36 for every validation row of it, "
    "which outweighs everything else: use score='neg_brier_score', or larger draws"
)


class RareLabel(NamedTuple):
    """A label that a pool or a draw of a provider may lack by chance.

    Attributes
    ----------
    name : the provider
    label : the label, as a string
    records : how many of the known records have it
    known : number of known records: the whole stock if it is in memory, otherwise the pool
    size : records in a pool, or in a draw
    probability : that a pool, or without pools a single draw, of this size holds no record of the
        label; NaN if no known record has it and the stock is not known
    held : records of the label in the pool that was bought, or None without pools
    """

    name: str
    label: str
    records: int
    known: int
    size: int
    probability: float
    held: int | None = None


class LabelCounts(NamedTuple):
    """How often each label occurs among the known records of a provider.

    Attributes
    ----------
    name : the provider
    counts : records of each label
    known : number of known records
    stock : records that are drawn from without replacement; infinite if records may repeat
    whole : whether all records are known
    """

    name: str
    counts: Mapping[Any, int]
    known: int
    stock: float
    whole: bool

    @staticmethod
    def of(name: str, records: Batch, stock: float, *, whole: bool) -> LabelCounts:
        """Count the labels of some records."""
        return LabelCounts(name, Counter(records.y.tolist()), len(records), stock, whole)

    def missed(self, label: Any, size: int) -> float:
        """Probability that `size` records hold none of a label; NaN if it is not known.

        If not all records are known, the shares of the known ones are used.

        Examples
        --------
        >>> stock = LabelCounts("north", {"rare": 5, "usual": 995}, 1000, 1000, whole=True)
        >>> round(stock.missed("rare", 200), 4)
        0.3269
        """
        count = self.counts.get(label, 0)
        if count == 0:
            return 1.0 if self.whole else math.nan
        share = count / self.known
        if math.isinf(self.stock):
            return float((1 - share) ** size)
        return missed_without_replacement(int(self.stock), round(share * self.stock), size)


@lru_cache(maxsize=4096)  # many providers have stocks of one size and similar counts
def missed_without_replacement(stock: int, count: int, size: int) -> float:
    """Probability that a draw of `size` from `stock` records holds none of `count` of them.

    It is C(N - K, m) / C(N, m), the hypergeometric probability of 0.

    Examples
    --------
    >>> missed_without_replacement(4, 1, 3)
    0.25
    """
    # (1 - K/N)^m is an upper bound; below 1e-15 the exact number does not matter.
    if size > stock - count or size * count > _NEGLIGIBLE * stock:
        return 0.0
    # The smaller of two equal products: over the draws, or over the records of the label.
    few, many = sorted((size, count))
    logs = (math.log1p(-many / (stock - at)) for at in range(few))
    return round(math.exp(math.fsum(logs)), 12)


def rare_labels(
    known: Iterable[LabelCounts],
    labels: Collection[Any] | None,
    sizes: Sequence[int],
    pools: Sequence[Batch] = (),
) -> tuple[RareLabel, ...]:
    """Find labels that pools or draws of these sizes may lack, the most probable ones first.

    Labels that a provider does not have at all are left out.

    Parameters
    ----------
    known : what is known about the labels of some providers
    labels : labels of the validation rows, or None if targets are no labels
    sizes : records of a pool or draw of each of these providers
    pools : their pools, if there are any

    Examples
    --------
    >>> stock = LabelCounts("north", {"rare": 5, "usual": 995}, 1000, 1000, whole=True)
    >>> [one.label for one in rare_labels([stock], ["rare", "usual"], [400])]
    ["'rare'"]
    """
    found = []
    for at, (one, size) in enumerate(zip(known, sizes, strict=True)):
        for label in sorted(labels or (), key=label_order):
            missed = one.missed(label, size)
            if missed <= LIKELY or (one.whole and label not in one.counts):
                continue
            held = int((pools[at].y == label).sum()) if pools else None
            counted = one.counts.get(label, 0), one.known
            found.append(RareLabel(one.name, spelled(label), *counted, size, missed, held))
    return _most_probable(found)


def unseen_labels(
    known: Iterable[LabelCounts], labels: Collection[Any] | None, sizes: Sequence[int]
) -> tuple[RareLabel, ...]:
    """Find the label that draws of each provider lack most often, the most probable ones first.

    Parameters
    ----------
    known : what is known about the records that the draws are made from
    labels : labels of the validation rows
    sizes : records of a draw of each of these providers
    """
    found = []
    for one, size in zip(known, sizes, strict=True):
        missed = {label: one.missed(label, size) for label in labels or ()}
        likely = [label for label in missed if missed[label] > _LIKELY_UNSEEN]
        if likely:
            label = min(likely, key=lambda label: (-missed[label], label_order(label)))
            counted = one.counts.get(label, 0), one.known
            found.append(RareLabel(one.name, spelled(label), *counted, size, missed[label]))
    return _most_probable(found)


def _most_probable(found: list[RareLabel]) -> tuple[RareLabel, ...]:
    """The most probable ones; a probability that is not known comes last."""
    found.sort(key=lambda one: -2.0 if math.isnan(one.probability) else one.probability)
    return tuple(reversed(found[-_STORED:]))


def label_caveats(
    rare: Sequence[RareLabel], unseen: Sequence[RareLabel], draws: Mapping[str, int] | None
) -> list[tuple[str, str]]:
    """What to check and the remedy, for labels that pools and draws may lack.

    `draws` are the numbers of games for which each provider makes a fresh draw, or None with pools.
    """
    remedy = _POOLS_REMEDY if draws is None else _GAMES_REMEDY
    lines = [(format_unseen(unseen), LOG_LOSS_REMEDY), (format_rare(rare, draws), remedy)]
    return [(said, remedy) for said, remedy in lines if said]


def format_rare(rare: Sequence[RareLabel], draws: Mapping[str, int] | None = None) -> str:
    """Say which labels pools, or with `draws` all draws of a provider, may lack; empty if none.

    Examples
    --------
    >>> format_rare([RareLabel("north", "1", 5, 1000, 200, 0.327, 0)])[:58]
    'rare labels: a pool of 200 of north lacks label 1 with pro'
    """
    if draws is None:
        return _listed("rare labels: ", [_of_pool(one) for one in rare])
    # A provider that is absent from all games makes no draw.
    found = [(one, draws[one.name]) for one in rare if draws[one.name] > 0]
    return _listed(
        "rare labels: ",
        [_of_draws(one, count) for one, count in found if one.probability**count > LIKELY],
    )


def format_unseen(unseen: Sequence[RareLabel]) -> str:
    """Say which labels single draws lack, and how often; empty if there are none."""
    return _listed(
        "unseen labels: ",
        [
            f"a draw of {one.size:,} of {printable(one.name)} lacks label {printable(one.label)} "
            f"with probability {_percent(one.probability)}"
            for one in unseen
        ],
    )


def _of_pool(one: RareLabel) -> str:
    pool, label = f"pool of {one.size:,} of {printable(one.name)}", f"label {printable(one.label)}"
    if math.isnan(one.probability):
        share = _percent(_EXCLUDED / one.known)
        return f"the {pool} lacks {label}, which does not exclude a share of up to {share}"
    bought = "; this pool holds none" if one.held == 0 else ""
    return (
        f"a {pool} lacks {label} with probability {_percent(one.probability)} "
        f"({one.records:,} of {one.known:,} records have it{bought})"
    )


def _of_draws(one: RareLabel, count: int) -> str:
    several = count > 1
    what = f"all {count:,} draws" if several else "the only draw"
    single = f"a single draw with {_percent(one.probability)}, " if several else ""
    return (
        f"{what} of {one.size:,} of {printable(one.name)} lack{'s' * (not several)} label "
        f"{printable(one.label)} with probability {_percent(one.probability**count)} "
        f"({single}{one.records:,} of {one.known:,} records have it)"
    )


def _listed(title: str, said: Sequence[str]) -> str:
    more = ", and others" if len(said) > _NAMED else ""
    return f"{title}{', '.join(said[:_NAMED])}{more}" if said else ""


def _percent(probability: float) -> str:
    return f"{100 * min(probability, 1.0):.2g} %" if probability < 0.995 else "100 %"
