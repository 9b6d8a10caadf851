"""Cases of records, validation rows and settings; a case is made from its family and number alone.

Records are harder than real ones on purpose: scales from 1e-150 to 1e150, constant, duplicate,
collinear and one-hot features, more features than records, single records, offsets that are far
larger than spreads, labels that only some providers or only the validation rows have, and ties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from shapband._typing import AnyArray, FloatArray

SIZES = (1, 1, 2, 3, 4, 6, 9, 14)  # records of one provider
LARGEST_EXPONENT = 150.0


@dataclass(frozen=True, eq=False)
class Case:
    """One utility with its providers.

    Attributes
    ----------
    family, number : what the case is made from
    X_val, y_val : validation rows
    parts : the records of every provider
    settings : arguments of the utility, by name
    traits : what is odd about the case, in words
    """

    family: str
    number: int
    X_val: FloatArray
    y_val: AnyArray
    parts: tuple[tuple[FloatArray, AnyArray], ...]
    settings: dict[str, Any] = field(default_factory=dict)
    traits: tuple[str, ...] = ()

    def joined(self, mask: int) -> tuple[FloatArray, AnyArray]:
        """Return the records of a coalition, given as a bitmask."""
        inside = [part for i, part in enumerate(self.parts) if mask >> i & 1]
        return np.concatenate([X for X, _ in inside]), np.concatenate([y for _, y in inside])


def stream(family: str, number: int) -> np.random.Generator:
    """Return the random numbers of one case."""
    return np.random.default_rng([crc32(family.encode()), number])


def classes_case(family: str, number: int) -> Case:
    """Return a case with labels, without settings."""
    rng = stream(family, number)
    sizes = _sizes(rng)
    n_val, d = int(rng.integers(2, 20)), int(rng.choice([1, 2, 2, 3, 4, 6]))
    n_classes = int(rng.choice([1, 2, 2, 2, 2, 3, 4]))
    class_of = rng.integers(n_classes, size=n_val + sum(sizes))
    traits: list[str] = []
    if rng.random() < 0.3:  # a label for each provider alone, so that some lack it
        class_of[n_val:] = np.repeat(rng.integers(n_classes, size=len(sizes)), sizes)
        traits.append("one label for each provider")
    if rng.random() < 0.5 and n_classes <= n_val:
        class_of[:n_classes] = np.arange(n_classes)  # every label occurs in the validation rows
    X = _features(rng, n_val, sizes, class_of, d, traits)
    kind = rng.integers(3)
    if kind == 0:
        y: AnyArray = np.array([f"{'zab'[c % 3]}{c}" for c in range(n_classes)])[class_of]
    elif kind == 1:
        y = class_of * 5 - 7
    else:
        y = class_of.astype(np.float64)
    return _cut(family, number, X, y, n_val, sizes, traits)


def quantities_case(family: str, number: int) -> Case:
    """Return a case with numbers as targets, without settings."""
    rng = stream(family, number)
    sizes = _sizes(rng)
    n_val, d = int(rng.integers(2, 20)), int(rng.choice([1, 2, 2, 3, 4, 6]))
    group = rng.integers(2, size=n_val + sum(sizes))
    traits: list[str] = []
    X = _features(rng, n_val, sizes, group, d, traits)
    with np.errstate(over="ignore"):
        unit = np.abs(X).max(axis=0)
    y = (X / np.where(unit > 0, unit, 1.0)) @ rng.normal(size=d)
    y += rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=len(y))
    if rng.random() < 0.2:
        y = np.round(y)
        traits.append("whole targets")
    if rng.random() < 0.2:
        y += 10.0 ** rng.uniform(1, 6)
        traits.append("targets with an offset")
    if rng.random() < 0.2:
        y *= 10.0 ** rng.uniform(-30, 30)
        traits.append("targets of another scale")
    return _cut(family, number, X, y, n_val, sizes, traits)


def _sizes(rng: np.random.Generator) -> list[int]:
    return [int(rng.choice(SIZES)) for _ in range(rng.integers(1, 4))]


def _cut(
    family: str,
    number: int,
    X: FloatArray,
    y: AnyArray,
    n_val: int,
    sizes: list[int],
    traits: list[str],
) -> Case:
    """Cut rows into the validation rows and the records of providers."""
    ends = n_val + np.cumsum([0, *sizes])
    parts = tuple((X[a:b].copy(), y[a:b].copy()) for a, b in pairwise(ends))
    return Case(family, number, X[:n_val].copy(), y[:n_val], parts, traits=tuple(traits))


def _features(
    rng: np.random.Generator,
    n_val: int,
    sizes: list[int],
    class_of: AnyArray,
    d: int,
    traits: list[str],
) -> FloatArray:
    """Features of all rows: Gaussian classes, then what makes them odd, then scales and offsets."""
    n = len(class_of)
    apart = float(rng.choice([0.0, 0.5, 1.0, 3.0, 30.0, 1e4]))
    X = rng.normal(size=(n, d)) + apart * rng.normal(size=(class_of.max() + 1, d))[class_of]
    for f in range(d):
        _make_odd(rng, X, f, class_of, traits)
    if rng.random() < 0.25:
        # Records that occur again, among the validation rows too.
        X[rng.integers(n, size=n // 2)] = X[rng.integers(n, size=n // 2)]
        traits.append("repeated rows")
    if rng.random() < 0.1:
        X[:n_val] = X[0]
        traits.append("equal validation rows")
    return _scaled(rng, X, n_val, sizes, traits)


def _make_odd(
    rng: np.random.Generator, X: FloatArray, f: int, class_of: AnyArray, traits: list[str]
) -> None:
    """Make one feature degenerate, in half of the cases."""
    kind = rng.integers(16)
    if kind == 0:
        X[:, f] = rng.choice([0.0, 1.0, 0.1, -3.7])
        traits.append("a constant feature")
    elif kind == 1 and f > 0:
        X[:, f] = X[:, rng.integers(f)] * rng.choice([1.0, -2.0, 0.3])
        traits.append("a duplicate feature")
    elif kind == 2 and f > 1:
        X[:, f] = X[:, :f] @ rng.integers(-2, 3, size=f)
        traits.append("a collinear feature")
    elif kind == 3:
        X[:, f] = class_of == rng.integers(class_of.max() + 1)
        traits.append("a one-hot feature of a class")
    elif kind == 4:
        X[:, f] = X[:, f] > 0
        traits.append("a binary feature")
    elif kind == 5:
        X[:, f] = np.round(X[:, f])
        traits.append("a rounded feature")
    elif kind == 6:
        X[:, f] = X[0, f] + X[:, f] * 10.0 ** rng.uniform(-12, -3)
        traits.append("a feature of little spread")
    elif kind == 7 and f > 0:
        X[:, f] = X[:, f - 1] + X[:, f] * 10.0 ** rng.uniform(-10, -1)
        traits.append("a nearly dependent feature")


def _scaled(
    rng: np.random.Generator, X: FloatArray, n_val: int, sizes: list[int], traits: list[str]
) -> FloatArray:
    d = X.shape[1]
    offset = rng.random()
    if offset < 0.15:
        X = X + 10.0 ** rng.uniform(0, 10, size=d)
        traits.append("offsets of all rows")
    elif offset < 0.3:
        which = rng.integers(len(sizes))
        start = n_val + sum(sizes[:which])
        X[start : start + sizes[which]] += 10.0 ** rng.uniform(0, 10, size=d)
        traits.append("an offset of one provider")
    elif offset < 0.35:
        X[n_val:] += 10.0 ** rng.uniform(0, 10)
        traits.append("an offset of all providers")
    scale = rng.random()
    if scale < 0.2:
        exponent = rng.uniform(-LARGEST_EXPONENT, LARGEST_EXPONENT) * np.ones(d)
        traits.append(f"scale 1e{exponent[0]:.0f}")
    elif scale < 0.35:
        exponent = rng.uniform(-8, 8, size=d)
        traits.append("scales up to 1e16 apart")
    elif scale < 0.42:
        exponent = rng.uniform(-LARGEST_EXPONENT, LARGEST_EXPONENT, size=d)
        traits.append("scales up to 1e300 apart")
    elif scale < 0.55:
        exponent = rng.uniform(-9, 9) * np.ones(d)
        traits.append(f"scale 1e{exponent[0]:.0f}")
    else:
        return X
    # Beyond the exponent a product of offset and scale would not be what the scale says.
    return np.clip(X * 10.0**exponent, -1e152, 1e152)
