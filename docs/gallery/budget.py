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
pd.DataFrame(
    {name: {"records": one.records.sum(), "money": one.money} for name, one in bills.items()}
)

# %%
# A plan asks the owners for a few records, the pilot, and predicts the errors of all methods from
# them. Its table has a row for each sampling and solver; here is the smallest error of each
# sampling. The times and numbers of games, which the table has too, depend on the machine.

found = sb.plan(
    task.providers, task.utility, n_sample=60, prices=prices, money=600, minutes=0.1, seed=0
)
found.to_frame().groupby("sampling")[["half_width_mean", "records", "money"]].min().round(3)

# %%
# Fresh draws are out of reach for this money. Draws from pools reach about the same error with and
# without replacement, because most of it comes from the records that are in the pools. One row is
# recommended:

print(found.recommended.sampling)

# %%
# ``value`` plays it. The records of the pilot are not bought again, and the number of records is
# the predicted one.

valuation = found.value()
print(f"{valuation.access.records:,} records in {valuation.access.requests} requests")
print(f"predicted: {found.recommended.records:,} records")
valuation.plot.forest()

# %%
# The errors came out as predicted, within the accuracy of a pilot:

low, high = valuation.interval(0.95).T
print(f"mean half width {((high - low) / 2).mean():.3f}")
print(f"predicted       {found.recommended.half_width.mean():.3f}")

# %%
# How much would another budget buy? For 350, the pools are smaller and the errors larger.

smaller = sb.plan(
    task.providers, task.utility, n_sample=60, prices=prices, money=350, minutes=0.1, seed=0
)
best = smaller.recommended
print(f"{best.sampling}: mean half width {best.half_width.mean():.3f}")
