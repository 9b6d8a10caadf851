"""What a valuation knows about how its games were made."""

from __future__ import annotations

from collections.abc import Mapping

from shapband._typing import FloatArray, IntArray
from shapband.sampling.design import Design
from shapband.sampling.shared import Held, Shared


class DesignFacts:
    """The properties of `Valuation` that come from its design."""

    design: Design

    @property
    def names(self) -> tuple[str, ...]:
        """The providers, in the order of all arrays."""
        return self.design.names

    @property
    def seed(self) -> int:
        """The seed; the same seed gives the same valuation."""
        return self.design.seed

    @property
    def setup(self) -> Mapping[str, str]:
        """Utility, v(∅), index, sampling, solver and participation as strings, with reasons."""
        return self.design.setup

    @property
    def index(self) -> str:
        """The index of these values as a string: ``Shapley()`` unless another was chosen."""
        return self.design.index

    @property
    def estimand(self) -> str:
        """The distribution that the moments refer to, such as draws of 60 from the sources."""
        return self.design.estimand

    @property
    def estimand_code(self) -> str:
        """The estimand as a code: ``sources``, ``pools``, ``population`` or ``other``."""
        return self.design.estimand_code

    @property
    def draw_sizes(self) -> IntArray:
        """(n,) records of each provider in a game."""
        return self.design.draw_sizes

    @property
    def sizes_by_name(self) -> dict[str, int]:
        """Records of each provider in a game, by name, as `Fresh`, `Pooled` and `Blocks` take them.

        ``sb.Pooled(250, first.sizes_by_name)`` draws as many records as a stratified `first`, so
        that `compare` compares equal draws.
        """
        return dict(zip(self.names, self.draw_sizes.tolist(), strict=True))

    @property
    def pool_sizes(self) -> IntArray | None:
        """(n,) records in each provider's pool, or None without pools."""
        return self.design.pool_sizes

    @property
    def distinct_records(self) -> FloatArray | None:
        """(n,) number of different records in each provider's pool, or without pools in its stock.

        They are counted up to the size of a draw; NaN where the number is not known, None if no
        number is known.
        """
        return self.design.distinct_records

    @property
    def shared_records(self) -> tuple[Shared, ...]:
        """Copies: pairs of providers with equal records, and providers that repeat their own.

        A pair has more than a third of its different records in common, in stocks that are in
        memory or in pools; columns such as an identifier, and last digits, may differ.
        """
        return self.design.shared_records

    @property
    def held_rows(self) -> tuple[Held, ...]:
        """Providers that hold validation rows, so that models are trained on what scores them.

        More than a third of the different validation rows, or of the different records of the
        provider if it has fewer, are equal beyond chance, in stocks that are in memory or in pools.
        """
        return self.design.held_rows
