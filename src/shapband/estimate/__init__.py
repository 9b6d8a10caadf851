"""Expectation and variance across games, with their errors by cause.

`estimator` folds games in order into `moments`, the sums over games, and `estimate` is the record
that everything else asks. How games depend on each other is known here and nowhere else:
`pool_games` folds games from pools, and `pools` has what the choice of the pools adds to the
errors, from the `influence` of their records; `presence` has games in which some providers are
absent, with `dependence` for chains; `averaged` has games averaged over who takes part, and
`participation` what a result says of both; `grouped` has groups of providers.

From an estimate follow: `errors` by cause, `intervals` of expectations and `variance` of variances,
with `shapes` for odd values; `joint` for several providers, with critical values from `simulate`;
`differences` of two valuations; `stopping` rules, with `sequences` that may be looked at often.
`tails` describes single games.
"""
