"""What a valuation knows about the labels of the records."""

from __future__ import annotations

from shapband.sampling.design import Design
from shapband.sampling.rare import RareLabel
from shapband.sampling.targets import OddLabel


class LabelFacts:
    """The properties of `Valuation` that are about labels."""

    design: Design

    @property
    def one_label(self) -> tuple[str, ...]:
        """Providers whose records all have the same target, unless all records have it."""
        return self.design.one_label

    @property
    def odd_labels(self) -> tuple[OddLabel, ...]:
        """Providers that use their own label instead of one that all others use, with both labels.

        They are found in stocks in memory and in pools, for classifiers whose utility knows the
        labels of the validation rows.
        """
        return self.design.odd_labels

    @property
    def rare_labels(self) -> tuple[RareLabel, ...]:
        """Labels that a pool, or without pools a draw, lacks with some probability.

        They are labels of the validation rows that a provider has. The probabilities come from
        stocks in memory, and otherwise from the pools. Without pools, `probability` is about a
        single draw; the printed result also has the probability that all draws of the games in
        which the provider took part lack the label.
        """
        return self.design.rare_labels

    @property
    def unseen_labels(self) -> tuple[RareLabel, ...]:
        """The label that draws of a provider lack most often, if the score is the log loss."""
        return self.design.unseen_labels
