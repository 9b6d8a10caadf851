"""Predictions of what a budget will buy.

`pilot` buys a few records, plays some games and estimates what errors and times depend on;
`solvers` and `ways` list the methods to choose from; `errors` and `seconds` predict both for any
way to value; `search` finds the best of each method within the limits, and `proposals` is the
table of them.
"""
