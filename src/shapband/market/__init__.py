"""Money around a valuation: plans of what a budget buys, bills, and payouts.

`plan`, `bill` and `payouts` hold the public functions of these names, `prices` what sources charge.
`planning` and `paying` hold what plans and payouts are made of.
"""
