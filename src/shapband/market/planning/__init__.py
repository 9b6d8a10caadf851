"""Predictions of what a budget will buy.

`pilot` buys a few records, plays some games and estimates variances, noise and speed. `errors` and
`seconds` predict the errors and times of any method from these. `solvers` and `samplings` list the
methods to choose from, `search` finds the best settings of each within the limits, and `proposals`
is the table of the results. `bill` counts what a given valuation will take, without a pilot, and
`prices` converts that to money.
"""
