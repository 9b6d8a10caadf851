"""Money around a valuation: plans of what a budget buys, bills, the next batch, and payouts.

`plan`, `bill`, `next_batch` and `payouts` hold the public functions of these names, `prices` what
sources charge. `planning` and `paying` hold what plans and payouts are made of, and `gains` plays
the games of `next_batch`.
"""
