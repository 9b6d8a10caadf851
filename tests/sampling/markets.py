"""Providers with records of many kinds, honest ones and ones with copies."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import shapband as sb
from shapband.records.batch import Batch


def split(X, y, k, rng):
    order = rng.permutation(len(y))
    cuts = np.sort(rng.choice(np.arange(5, len(y) - 5), k - 1, replace=False))
    return [(X[rows], y[rows]) for rows in np.split(order, cuts)]


def wine_table():
    stocks = [provider.source.records for provider in sb.datasets.wine().providers]
    return np.concatenate([one.X for one in stocks]), np.concatenate([one.y for one in stocks])


def wine(rng):
    return split(*wine_table(), 10, rng)


def cancer(rng):
    return split(*load_breast_cancer(return_X_y=True), int(rng.integers(2, 12)), rng)


def digits(rng):
    return split(*load_digits(return_X_y=True), int(rng.integers(2, 12)), rng)


def diabetes(rng):
    return split(*load_diabetes(return_X_y=True), int(rng.integers(2, 8)), rng)


def survey(rng):
    """Two to eight questions with two to five answers; most records repeat."""
    answers = rng.integers(2, 6, size=int(rng.integers(2, 9)))
    chances = [rng.dirichlet(np.ones(k)) for k in answers]
    stocks = []
    for size in rng.integers(20, 1500, size=int(rng.integers(2, 10))):
        columns = [rng.choice(k, size, p=p) for k, p in zip(answers, chances, strict=True)]
        stocks.append((np.stack(columns, 1).astype(float), rng.integers(0, 3, size).astype(float)))
    return stocks


def survey_with_numbers_of_rows(rng):
    return [(np.c_[rng.integers(0, 2**40, len(y)).astype(float), X], y) for X, y in survey(rng)]


def one_hot(rng):
    chances = [rng.dirichlet(np.ones(k)) for k in (3, 5, 8)]
    stocks = []
    for size in rng.integers(50, 800, size=6):
        X = np.concatenate([np.eye(len(p))[rng.choice(len(p), size, p=p)] for p in chances], 1)
        stocks.append((X, (X[:, 0] + rng.normal(size=size) > 0).astype(float)))
    return stocks


def constant(rng):
    digits = int(rng.integers(0, 3))
    return [
        (np.ones((n, 3)), rng.normal(size=n).round(digits)) for n in rng.integers(5, 500, size=5)
    ]


def all_equal(rng):
    return [(np.ones((n, 3)), np.ones(n)) for n in rng.integers(1, 500, size=5)]


def series(rng):
    """Hours, days and a slow season: records of one provider follow each other closely."""
    stocks = []
    for size in rng.integers(200, 1500, size=5):
        t = np.arange(size) / 24.0
        day = np.sin(2 * np.pi * t) + 0.1 * np.cumsum(rng.normal(size=size)) * rng.choice([0, 1])
        year = 10 + 5 * np.sin(2 * np.pi * t / 365) + 0.01 * rng.normal(size=size)
        stocks.append((np.stack([t, day, year], 1), day + 0.01 * rng.normal(size=size)))
    return stocks


def lags(rng):
    stocks = []
    for _ in range(5):
        walk = np.cumsum(rng.normal(size=600)).round(int(rng.integers(0, 3)))
        rows = np.lib.stride_tricks.sliding_window_view(walk, 4)
        stocks.append((rows[:, :3].copy(), rows[:, 3].copy()))
    return stocks


def ramps(rng):
    return [
        (np.c_[np.arange(n) * 0.001, np.arange(n) * 1.0], np.arange(n) * 0.01 + rng.normal())
        for n in rng.integers(100, 1500, size=4)
    ]


def tiny(rng):
    sizes = rng.integers(1, 6, size=int(rng.integers(2, 40)))
    if rng.random() < 0.5:
        return [(rng.normal(size=(n, 3)), rng.integers(0, 2, n).astype(float)) for n in sizes]
    return [
        (rng.integers(0, 3, size=(n, 3)).astype(float), rng.integers(0, 2, n).astype(float))
        for n in sizes
    ]


def huge(rng):
    scale = 10.0 ** rng.integers(-250, 250, size=4)
    return [
        (rng.normal(size=(n, 4)) * scale, rng.normal(size=n)) for n in rng.integers(5, 500, size=6)
    ]


def public(rng):
    """A quarter of everybody's records is public."""
    common = rng.normal(size=(100, 5))
    tables = [np.r_[rng.normal(size=(300, 5)), common] for _ in range(5)]
    return [(table[:, :4], table[:, 4]) for table in tables]


def unlike(rng):
    """Populations and digits that differ from provider to provider."""
    stocks = []
    for size in rng.integers(50, 3000, size=6):
        centre, spread = rng.normal(size=3) * rng.choice([0, 1]), rng.choice([0.05, 0.3, 1])
        X = (centre + spread * rng.normal(size=(size, 3))).round(int(rng.integers(1, 4)))
        stocks.append((X, (X[:, 0] > 0).astype(float)))
    return stocks


def counts(rng):
    return [
        (
            np.stack([rng.poisson(0.3, n), rng.poisson(3, n), rng.lognormal(3, 1, n).round()], 1)
            * 1.0,
            rng.poisson(2, n).astype(float),
        )
        for n in rng.integers(30, 2000, size=6)
    ]


def people(rng, library=pd.DataFrame):
    stocks = []
    for size in rng.integers(100, 800, size=5):
        seconds = rng.integers(0, 10**7, size).astype("timedelta64[s]")
        columns = {
            "name": [f"n{number}" for number in rng.integers(0, 2**40, size)],
            "city": rng.choice(["Aarhus", "Bergen", "Cork"], size).tolist(),
            "age": rng.integers(18, 90, size),
            "seen": (np.datetime64("2024-01-01T00:00:00") + seconds).astype("datetime64[us]"),
            "weight": rng.normal(70, 10, size).round(1),
            "height": rng.normal(170, 10, size).round(1),
        }
        stocks.append((library(columns), rng.integers(0, 2, size)))
    return stocks


HONEST = [
    wine, cancer, digits, diabetes, survey, survey_with_numbers_of_rows, one_hot, constant,
    all_equal, series, lags, ramps, tiny, huge, public, unlike, counts, people,
]  # fmt: skip


def batches(stocks):
    return [Batch(X, y) for X, y in stocks]


def with_ids(X, rng):
    """A new first column of whole numbers."""
    return np.c_[rng.permutation(np.arange(len(X)) + rng.integers(1, 10**6)).astype(float), X]


def noisy(values, rng, part=1e-6):
    return values + part * values.std(axis=0) * rng.normal(size=values.shape)


def rounded(X):
    """Keep two digits of the spread of each column."""
    unit = 10.0 ** np.rint(np.log10(np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)) - 2)
    return np.rint(X / unit) * unit


ATTACKS = [
    "new ids", "rounded", "noisy", "float32", "half", "own", "split", "padded", "padded noisy",
    "padded at random", "random column",
]  # fmt: skip


def dishonest(X, y, how, rng):
    """Five providers with identifiers; the names of the last and what it equals, or itself."""
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    size = len(y) // 5
    honest = [(X[at * size :][:size], y[at * size :][:size]) for at in range(4)]
    rest, labels = X[4 * size :], y[4 * size :]
    stocks = [(with_ids(one, rng), target) for one, target in honest]
    source, target = honest[0]
    rows = rng.permutation(size)
    pairs = {(0, 4)}
    if how == "half":
        last = np.r_[source[rows[: size // 2]], rest[: size - size // 2]]
        labels = np.r_[target[rows[: size // 2]], labels[: size - size // 2]]
    elif how == "own":
        own = size // 20
        last = np.r_[source[rows[own:]], rest[:own]]
        labels = np.r_[target[rows[own:]], labels[:own]]
    elif how.startswith("padded"):
        some = np.arange(size // 5)
        rows = rng.choice(some, size) if how == "padded at random" else np.tile(some, 5)
        last, labels = rest[rows], labels[rows]
        last = noisy(last, rng) if how == "padded noisy" else last
        pairs = {(4, 4)}
    else:
        last, labels = source[rows], target[rows]
    if how == "rounded":
        last = rounded(last)
    if how == "noisy":
        last = noisy(last, rng)
    if how == "float32":
        last = last.astype(np.float32).astype(float)
    last = with_ids(last, rng)
    if how == "random column":
        last[:, 0] = rng.random(len(last))
        stocks = [(np.c_[rng.random(len(one)), one[:, 1:]], target) for one, target in stocks]
    if how == "split":
        middle = size // 2
        stocks.append((last[:middle], labels[:middle]))
        last, labels, pairs = last[middle:], labels[middle:], {(0, 4), (0, 5)}
    return [*stocks, (last, labels)], pairs


TABLES = {
    "normal": lambda rng: (lambda X: (X, X.sum(axis=1)))(rng.normal(size=(1500, 6))),
    "wine": lambda _: wine_table(),
    "cancer": lambda _: load_breast_cancer(return_X_y=True),
    "digits": lambda _: load_digits(return_X_y=True),
    "diabetes": lambda _: load_diabetes(return_X_y=True),
}
