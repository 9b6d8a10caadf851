"""
Planning a budget
=================

Records cost money. A bill says what a method will cost, and a plan says which method gives the
smallest errors for the money, before it is spent.
"""

import pandas as pd

import shapband as sb

task = sb.datasets.wine()
prices = sb.Prices(record="0.25", request="2")

# %%
# Ten owners of wine data charge 0.25 for a record and 2 for a request. A bill is exact. Thirty
# games with fresh draws of 60 records cost a lot more than 30 games with draws from a pool of 150
# records that is bought once:

samplings = {"Fresh": sb.Fresh(60), "Pooled": sb.Pooled(150, 60)}
bills = {
    name: sb.bill(task.providers, task.utility, sampling=sampling, n_games=30, prices=prices)
    for name, sampling in samplings.items()
}
pd.DataFrame({name: {"records": one.records, "money": one.money} for name, one in bills.items()})

# %%
# A plan asks the owners for a few records, the pilot, and predicts the errors of all methods from
# them. Its table has one row for each method. The columns of times and games are left out here,
# because they depend on the machine.

found = sb.plan(
    task.providers, task.utility, n_sample=60, prices=prices, money=600, minutes=0.1, seed=0
)
columns = ["sampling", "solver", "half_width_mean", "records", "money"]
found.to_frame()[columns].round(3)

# %%
# Fresh draws are out of reach for this money. Draws from pools reach the same error with every
# solver, because most of the error comes from the records that are in the pools. One row is
# recommended:

print(found.recommended.sampling)

# %%
# `value` plays it. The records of the pilot are not bought again, and the bill is kept.

valuation = found.value()
print(f"{valuation.access.records:,} records in {valuation.access.requests} requests")
print(f"predicted: {found.recommended.records:,} records")

# %%
# The errors came out as predicted, within the accuracy of a pilot:

low, high = valuation.interval(0.95).T
print(f"mean half width {((high - low) / 2).mean():.3f}")
print(f"predicted       {found.recommended.half_width.mean():.3f}")

# %%
# How much would another budget buy? With half the money, the pools are smaller and the errors
# larger.

smaller = sb.plan(
    task.providers, task.utility, n_sample=60, prices=prices, money=350, minutes=0.1, seed=0
)
best = smaller.recommended
print(f"{best.sampling}: mean half width {best.half_width.mean():.3f}")
