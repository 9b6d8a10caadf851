"""Values of federated clients from the updates of one training run.

`rounds` holds what was recorded of one round, and `recording` checks the rounds of a run together.
`rebuilding` makes models of coalitions from them and scores them, `playing` solves the games, and
`checking` estimates the bias from coalitions that are retrained, with the solver in `pairs`.
`result` is what `value.value_recorded` returns, and `measured` how far each method was from exact
values in a study.
"""
