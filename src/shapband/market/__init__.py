"""Money around a valuation: plans of what a budget buys, bills, and payouts.

`plan`, `bill` and `payouts` hold the public functions of these names; `planning` and `paying` hold
their implementation.
"""
