"""Groups of providers that take part as one player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray


@dataclass(frozen=True)
class Grouping:
    """The groups of a valuation, by the positions of their members among all providers.

    Attributes
    ----------
    names : the groups
    members : for every group, the positions of its providers

    Examples
    --------
    >>> grouping = Grouping(("north",), ((0, 1),))
    >>> grouping.players(("a", "b", "c"))
    {'north': (0, 1), 'c': (2,)}
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    @property
    def nested(self) -> bool:
        """Whether any group has two members; otherwise every provider is a player."""
        return any(len(places) > 1 for places in self.members)

    def players(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The players of the game between groups, each with the positions of its providers.

        A provider alone in its group is a player by its own name, like one without a group, so
        that both have the same random orders.
        """
        group_at = {
            places[0]: (name, places)
            for name, places in zip(self.names, self.members, strict=True)
            if len(places) > 1
        }
        inside = {place for _, places in group_at.values() for place in places}
        found: dict[str, tuple[int, ...]] = {}
        for place, name in enumerate(names):
            if place in group_at:
                group, places = group_at[place]
                found[group] = places
            elif place not in inside:
                found[name] = (place,)
        return found

    def totals(self, columns: FloatArray) -> FloatArray:
        """Add up the members' columns: (..., n) to (..., n_groups).

        One column is added after the other, so that the bits of a row do not depend on the
        number of rows.
        """
        totals = np.empty((*columns.shape[:-1], len(self.members)))
        for group, places in enumerate(self.members):
            totals[..., group] = columns[..., places[0]]
            for place in places[1:]:
                totals[..., group] += columns[..., place]
        return totals

    def labels(self, n_providers: int) -> list[str]:
        """The name of every provider's group, empty for those without one."""
        labels = [""] * n_providers
        for name, places in zip(self.names, self.members, strict=True):
            for place in places:
                labels[place] = name
        return labels

    @staticmethod
    def of_labels(labels: Sequence[str]) -> Grouping | None:
        """Make the grouping whose `labels` these are, or None if nobody has a group.

        Examples
        --------
        >>> Grouping.of_labels(["north", "north", ""])
        Grouping(names=('north',), members=((0, 1),))
        """
        names = tuple(dict.fromkeys(label for label in labels if label))
        members = tuple(
            tuple(place for place, label in enumerate(labels) if label == name) for name in names
        )
        return Grouping(names, members) if names else None
