"""Expectation and variance across games, with errors and confidence intervals.

`accumulate` folds games into sums in one pass; `decompose` separates the variance between data
draws from the solver's noise; `intervals` turns both into errors and confidence intervals;
`stopping` decides when enough games were played.
"""
