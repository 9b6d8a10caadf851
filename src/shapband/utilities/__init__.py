"""Utilities: the values of coalitions.

A utility has two methods: `summarise` turns a draw into the statistic that the
utility needs, and `evaluate` turns the summaries of all providers into the values of some
coalitions. Mergeable utilities (means, least squares, nearest neighbours) keep a small summary
and do not need the records again; black boxes keep the batch itself. Three optional methods, for
all coalitions of many games, for the growing coalitions along permutations and for coalitions given
as rows of members, have defaults in `base` and fast versions where a utility is mergeable.
"""
