"""
A market with payouts
=====================

A buyer has 10,000 EUR for the sellers of patient records. One of them sells noise, and one sells
the records of another. The records are the diabetes data of scikit-learn.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

import shapband as sb

rng = np.random.default_rng(0)
X, y = load_diabetes(return_X_y=True)
order = rng.permutation(len(y))
X, y = X[order], (y[order] - y.mean()) / y.std()

# %%
# "Mallory" sells records whose outcomes are shuffled. "Echo" sells the records of "Bergen" again.

stocks = {
    "Aarhus": (X[:90], y[:90]),
    "Bergen": (X[90:150], y[90:150]),
    "Cork": (X[150:210], y[150:210]),
    "Mallory": (X[210:270], rng.permutation(y[210:270])),
    "Echo": (X[90:150], y[90:150]),
}
sellers = [sb.Provider(name, sb.ArraySource(*stock)) for name, stock in stocks.items()]
utility = sb.LinearUtility(X[270:], y[270:], score="r2", alpha=0.1)  # ridge regression

# %%
# Every game draws 30 records of each seller. The data is at hand, so draws cost nothing and 200
# games are quick.

valuation = sb.value(sellers, utility, sampling=sb.Fresh(30), n_games=200, seed=0)
valuation.plot.forest()

# %%
# The library compares the records of all sellers before the first game, and reports copies.

for found in valuation.shared_records:
    print(f"{found.records} records of {found.other} equal records of {found.one}")

# %%
# A copy takes value from what it was copied from. Without Echo, Bergen is worth more:

honest = [seller for seller in sellers if seller.name != "Echo"]
without = sb.value(honest, utility, sampling=sb.Fresh(30), n_games=200, seed=0)
change = sb.compare(valuation, without)
pd.DataFrame(
    {"with Echo": change.first, "without Echo": change.second, "std. error": change.standard_error},
    index=change.names,
).round(4)

# %%
# The buyer leaves Echo out, and pays by the lower ends of the intervals: a seller whose value is
# uncertain gets less, and Mallory, whose value is below zero, gets nothing.

sb.payouts(without, 10_000, currency="EUR", policy="lower_bound")
