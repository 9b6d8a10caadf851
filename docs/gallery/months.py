"""
Comparing two months
====================

The same providers are valued every month. Did the value of one of them change, or is it chance?
"""

import numpy as np
import pandas as pd

import shapband as sb

SLOPE = np.array([1.0, -2.0, 0.5])


def records(rng, count, noise):
    X = rng.normal(size=(count, 3))
    return X, X @ SLOPE + noise * rng.normal(size=count)


def valued(month, noise):
    """Value four providers with new records of this month, whose outcomes have this noise."""
    rng = np.random.default_rng(month)
    providers = [
        sb.Provider(name, sb.ArraySource(*records(rng, 300, deviation)))
        for name, deviation in noise.items()
    ]
    return sb.value(providers, utility, sampling=sb.Fresh(15), n_games=150, seed=month)


utility = sb.LinearUtility(*records(np.random.default_rng(0), 400, 1.0))

# %%
# From June to July the records of "west" became noisy. All providers have new records in July, so
# all values differ a little.

noise = {"north": 1.0, "south": 1.0, "east": 1.0, "west": 1.0}
june = valued(6, noise)
july = valued(7, noise | {"west": 4.0})
july.plot.beside("July", {"June": june})

# %%
# ``compare`` tests every provider, and corrects for testing four of them. The value of "west" has
# fallen. The others are worth more in July, because a coalition with "west" now needs them more.

change = sb.compare(june, july)
pd.DataFrame(
    {
        "June": change.first,
        "July": change.second,
        "std. error": change.standard_error,
        "beyond chance": change.beyond_chance,
    },
    index=change.names,
).round(4)

# %%
# Other records of the same quality show what chance alone does: no provider is flagged.

again = valued(8, noise)
print(sb.compare(june, again).beyond_chance)

# %%
# Over several months, ``compare_series`` tests every provider for a change since the first month.
# In September the records of "west" are as good as in June again.

months = {
    "June": june,
    "July": july,
    "August": valued(9, noise | {"west": 4.0}),
    "September": valued(10, noise),
}
sb.compare_series(months)
