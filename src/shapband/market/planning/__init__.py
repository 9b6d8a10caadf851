"""Predictions of what a budget will buy.

`pilot` buys a few records, plays some games and estimates what errors and times depend on;
`solvers` and `ways` list the methods to choose from; `presence` counts who takes part; `errors` and
`seconds` predict the errors and the time of any method; `search` finds the best settings of each
method within the limits, and `proposals` is the table of the results.
"""
