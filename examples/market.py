"""A market for data: six sellers of patient records, one with noise and one with a copy.

The records are the diabetes data of scikit-learn: ten measurements, and how far the disease went on
in a year. "Mallory" sells records whose outcomes are shuffled. "Echo" sells the records of
"Bergen" again. A buyer has 10,000 EUR and divides them by two rules.

    python examples/market.py [report.html]
"""

import sys

import numpy as np
from sklearn.datasets import load_diabetes

import shapband as sb

SELLERS = {"Aarhus": 90, "Bergen": 60, "Cork": 60, "Dijon": 40, "Mallory": 60}


def sellers(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> list[sb.Provider]:
    """Deal the records to the sellers, then spoil one seller's records and copy another's."""
    stocks, first = {}, 0
    for name, size in SELLERS.items():
        stocks[name] = X[first : first + size], y[first : first + size]
        first += size
    stocks["Mallory"] = stocks["Mallory"][0], rng.permutation(stocks["Mallory"][1])
    stocks["Echo"] = stocks["Bergen"]
    return [sb.Provider(name, sb.ArraySource(*stock)) for name, stock in stocks.items()]


def main(report: str = "market.html") -> None:
    rng = np.random.default_rng(0)
    X, y = load_diabetes(return_X_y=True)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    everybody = sellers(X[:-132], y[:-132], rng)
    utility = sb.LinearUtility(X[-132:], y[-132:], score="r2", alpha=0.1)  # ridge regression
    sampling = sb.Fresh(0.5)  # of the records of each seller
    valuation = sb.value(everybody, utility, sampling=sampling, n_games=100, seed=0)
    print(valuation)
    honest = [seller for seller in everybody if seller.name != "Echo"]
    without = sb.value(honest, utility, sampling=sampling, n_games=100, seed=0)
    worth = without.expectation[without.names.index("Bergen")]
    print(f"Without Echo, Bergen would be worth {worth:.4f}.\n")

    by_value = sb.payouts(valuation, 10_000, currency="EUR")
    by_bound = sb.payouts(valuation, 10_000, currency="EUR", policy="lower_bound")
    print(by_value)
    print("\nby the lower ends of the intervals, and the change:")
    for name, amount in by_bound.amounts.items():
        print(f"{name:8} {amount:>9,} {amount - by_value.amounts[name]:>+8,}")
    print()
    print(by_value.statement("Bergen"))
    valuation.report(report, payouts=by_value)


if __name__ == "__main__":
    main(*sys.argv[1:2])
