"""Write valuations of an older version, each with the text that this version printed.

Run it with the source of that version in PYTHONPATH. The files here are of the last version that
wrote format 3.
"""

import json
from pathlib import Path

import numpy as np

import shapband as sb


def providers() -> list[sb.Provider]:
    """Two providers with the same records, and one whose records all have one target."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40).round(2)
    stocks = {"north": (X, y), "south": (X[10:], y[10:]), "east": (X[:20] + 1, np.full(20, 0.5))}
    return [sb.Provider(name, sb.ArraySource(*stock)) for name, stock in stocks.items()]


def cases() -> dict[str, sb.Valuation]:
    """One valuation for each part that a document may have."""
    north, south, east = providers()
    utility, common = sb.AdditiveUtility(), {"n_games": 8, "seed": 4}
    sampled = {"sampling": sb.Fresh(5), "solver": sb.Permutation(2)}
    at_times = sb.Independent(0.5)
    everybody = [north, south, east]
    return {
        "groups": sb.value(
            [sb.Group("coast", [north, south]), east], utility, sampling=sb.Pooled(15, 5), **common
        ),
        "shuffles": sb.value(everybody, utility, sampling=sb.Blocks(20, 5), **common),
        "present": sb.value(everybody, utility, participation=at_times, **sampled, **common),
        "averaged": sb.value(
            everybody, utility, participation=at_times, sampling=sb.Pooled(15, 5), **common
        ),
    }


if __name__ == "__main__":
    for name, valuation in cases().items():
        found = {"document": json.loads(valuation.to_json()), "text": str(valuation)}
        path = Path(__file__).parent / f"{name}.json"
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
