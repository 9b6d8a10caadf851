"""Utilities: the values of coalitions.

A utility has two methods: `summarise` turns a draw into a summary, the statistic that the utility
needs, and `evaluate` turns the summaries of all providers into the values of some coalitions.
Mergeable utilities (means, least squares, nearest neighbours) keep a small summary and do not need
the records again; the summary of a black box is the batch itself. Optional methods evaluate all
coalitions of many games, or the growing coalitions along permutations; they have defaults in `base`
and faster versions in mergeable utilities.
"""
