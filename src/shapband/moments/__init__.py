"""Expectation and variance across games, with errors and confidence intervals.

`accumulate` folds games into sums in one pass; `decompose` separates the variance between data
draws from the solver's noise; `errors` splits the error of the expectation by cause, with that of
`pools`; `intervals` turns both moments into errors and confidence intervals; `joint` does so for
several providers together, with critical values from `simulate`; `tails` describes single games;
`stopping` decides when enough games were played.
"""
