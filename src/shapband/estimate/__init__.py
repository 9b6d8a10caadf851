"""Expectation and variance across games, with their errors by cause.

`estimator` folds games in order into `moments`, the sums over games, and `estimate` is the record
from which everything else is computed. Only this package knows how games depend on each other:

- `pool_games` folds games from pools, and `pools` computes what the choice of the pools adds to the
  errors, from the `influence` of their records;
- `presence` treats games in which some providers are absent, with `dependence` for chains of games;
- `averaged` treats games averaged over who takes part;
- `participation` has what a result reports about participation;
- `grouped` treats groups of providers.

These follow from an estimate: `errors` by cause; `intervals` of expectations; `variance`, the
intervals of variances; `shapes`, for values that are constant, two-valued or skewed; `joint`
statements about several providers, with critical values from `simulate`; `differences` of two
valuations; `stopping` rules, with `sequences` of intervals that may be checked often. `tails`
describes the distribution of single games.
"""
