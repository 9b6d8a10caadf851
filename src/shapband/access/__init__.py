"""Access to the sources: every request is checked against the budget, timed and counted.

Samplings call `Access.fetch`. `Budget` limits the records and requests, `Usage` counts them,
and `AccessReport` is the summary in a valuation.
"""
