"""Ten owners of one handwritten digit each, and a network that must know all ten.

Every game draws 20 images of each digit, and trains a small network for each of 120 coalitions of
their owners. After 20 games some ranks are certain and others are not, as the second table shows.

    python examples/digits.py [report.html]
"""

import sys

import shapband as sb


def main(report: str = "digits.html") -> None:
    task = sb.datasets.digits()
    utility = sb.NetworkUtility(task.X_val, task.y_val, hidden=(16,), max_iter=50, empty=0.0)
    valuation = sb.value(
        task.providers,
        utility,
        sampling=sb.Fresh(20),
        solver=sb.Strata(n_evaluations=120),
        n_games=20,
        seed=0,
    )
    print(valuation)
    print(valuation.ranks())
    valuation.report(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
