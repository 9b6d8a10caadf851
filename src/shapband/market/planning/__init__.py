"""What a budget will buy, said beforehand.

`pilot` buys a few records, plays some games and estimates what errors and times depend on;
`errors` and `seconds` predict both for any method; `solvers` and `samplings` list the methods to
choose from; `search` finds the best of each within the limits, and `proposals` is the table of
them. `bill` counts what a given valuation will ask for, without a pilot, and `prices` what that
costs.
"""
