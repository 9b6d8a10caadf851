"""Expectation and variance across games, with errors and confidence intervals.

`accumulate` holds the sums over games, `fold` makes them in one pass, `grouped` makes those of
groups of providers, and `documents` writes them as JSON; `decompose` separates the variance between
data draws from the solver's noise. `influence` finds what the pools do to the values, `pools` what
they add to the errors, and `errors` splits an error by cause. `intervals` turns both moments into
confidence intervals, with `shapes` for odd values; `joint` does so for several providers together,
with critical values from `simulate`; `tails` describes single games. `stopping` decides when enough
games were played, with `sequences` that may be looked at often.
"""
