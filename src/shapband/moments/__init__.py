"""Expectation and variance across games, and how well they are known.

`accumulate` folds games into sums in one pass; `decompose` separates what varies between data
draws from the solver's own noise; `intervals` turns both into errors and confidence intervals;
`stopping` says when enough games were played.
"""
