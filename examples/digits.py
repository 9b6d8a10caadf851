"""Ten owners of one handwritten digit each, and a network that must know all ten.

Every game trains small networks on 20 images of each digit. Which digit is worth most to the others,
and how much does its worth change with the images that are drawn?

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
        solver=sb.Strata(n_evaluations=200),
        n_games=30,
        seed=0,
    )
    print(valuation)
    ranks = valuation.ranks()
    print(ranks)
    valuation.report(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
