"""Labels that pools and draws may lack, from the records known before the first game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shapband.engine.arguments import Arguments
from shapband.records.batch import Batch
from shapband.sampling.base import Realisation
from shapband.sampling.rare import LabelCounts, RareLabel, rare_labels, unseen_labels
from shapband.sampling.sizes import stock_of
from shapband.sources.base import FiniteSource


class Lacking(NamedTuple):
    """The labels that pools or fresh draws may lack, and the labels that single draws lack.

    The second are empty unless models are scored by the log loss.
    """

    rare: tuple[RareLabel, ...] = ()
    unseen: tuple[RareLabel, ...] = ()


def find_lacking(
    given: Arguments,
    realisation: Realisation,
    stocks: Sequence[Batch | None],
    *,
    from_sources: bool = False,
) -> Lacking:
    """Find labels of the validation rows that pools or draws may lack by chance.

    Games of a sampling that has neither pools nor fresh draws from the sources are left out. With
    `from_sources`, single draws are made from the sources even if there are pools.
    """
    design, labels, pools = realisation.design, given.utility.labels, realisation.pools
    if labels is None or not (pools or design.estimand_code == "sources"):
        return Lacking()
    sizes = design.draw_sizes if design.pool_sizes is None else design.pool_sizes
    counted = count_labels(given, stocks)
    if not any(label in one.counts for one in counted for label in labels):
        return Lacking()  # the labels are spelled in another way, so nothing can be counted
    known = {one.name for one in counted}
    places = [at for at, name in enumerate(given.names) if name in known]
    chosen = [pools[at] for at in places] if pools else []
    rare = rare_labels(counted, labels, sizes[places].tolist(), chosen)
    if not given.utility.scored_by_log_loss:
        return Lacking(rare)
    if pools and not from_sources:
        places = list(range(len(pools)))
        counted = [
            LabelCounts.of(
                name, pool, float("inf") if design.repeats else float(len(pool)), whole=True
            )
            for name, pool in zip(given.names, pools, strict=True)
        ]
    return Lacking(rare, unseen_labels(counted, labels, design.draw_sizes[places].tolist()))


def count_labels(given: Arguments, stocks: Sequence[Batch | None]) -> list[LabelCounts]:
    """Count the labels of all providers whose stock or pool is known; none if there are none."""
    found: list[LabelCounts] = []
    if given.utility.labels is None:
        return found
    for provider, records in zip(given.providers, stocks, strict=True):
        if records is None or len(records) == 0:
            continue
        source, stock = provider.source, stock_of(provider)
        whole = isinstance(source, FiniteSource) and len(records) == source.size
        size = float("inf") if stock is None else float(stock)
        found.append(LabelCounts.of(provider.name, records, size, whole=whole))
    return found
