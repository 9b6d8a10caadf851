"""The methods as plain loops over permutations and coalitions; nothing of the library is used."""

from itertools import permutations

import numpy as np


def shapley(names, value):
    """Values by name, from all permutations; `value` is a function of a frozenset of names."""
    total = dict.fromkeys(names, 0.0)
    orders = list(permutations(names))
    for order in orders:
        before = frozenset()
        for name in order:
            after = before | {name}
            total[name] += value(after) - value(before)
            before = after
    return {name: amount / len(orders) for name, amount in total.items()}


def average(round_, coalition, even):
    """Average model of the members present in a round, as a list of arrays; None if none is."""
    here = [name for name in round_.updates if name in coalition]
    if not here:
        return None
    weights = [1.0 if even else round_.updates[name][1] for name in here]
    models = [round_.updates[name][0] for name in here]
    return [
        sum(w * model[k] for w, model in zip(weights, models, strict=True)) / sum(weights)
        for k in range(len(models[0]))
    ]


def rebuilt_once(rounds, coalition, even=False):
    """OR: the initial model plus what the members' averages add in every round."""
    model = [np.array(array, dtype=float) for array in rounds[0].parameters]
    for round_ in rounds:
        mean = average(round_, coalition, even)
        if mean is not None:
            model = [m + a - g for m, a, g in zip(model, mean, round_.parameters, strict=True)]
    return model


def values_once(rounds, names, score, even=False):
    return shapley(names, lambda s: score(rebuilt_once(rounds, s, even)))


def values_by_round(rounds, names, score, even=False, truncation=None):
    """MR: values of every round among those who are present, added."""
    total = dict.fromkeys(names, 0.0)
    for round_ in rounds:
        here = [name for name in names if name in round_.updates]

        def value(coalition, round_=round_):
            mean = average(round_, coalition, even)
            return score(round_.parameters if mean is None else mean)

        change = value(frozenset(here)) - value(frozenset())
        if truncation is not None and abs(change) <= truncation:
            continue
        for name, amount in shapley(here, value).items():
            total[name] += amount
    return total
