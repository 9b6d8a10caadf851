"""The one way to a source: every request is checked against the budget, timed and counted.

Samplings call `Access.fetch`. `Budget` says what may be spent, `Usage` what was spent, and
`AccessReport` is the account that a valuation carries.
"""
