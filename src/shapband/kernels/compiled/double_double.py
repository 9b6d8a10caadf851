"""Numbers of 32 digits as sums of two floats, for the few fits that need them.

A number is a pair (high, low) with |low| at most half a unit in the last place of high. The
formulas come from T. J. Dekker (1971) and the QD library (Hida, Li and Bailey, 2001). They hold
only if every operation is rounded on its own, so the compiler must not contract or regroup
operations here; products use the fused operation explicitly.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

EXACTLY = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}


@intrinsic
def _fused(typingctx, a, b, c):
    """Return a b + c, rounded once."""

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@njit(**EXACTLY)
def two_sum(a, b):
    """Return a + b, and its rounding error."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


@njit(**EXACTLY)
def _quick(a, b):
    """The same as `two_sum` in fewer operations, if |a| is at least |b|."""
    total = a + b
    return total, b - (total - a)


@njit(**EXACTLY)
def plus(a, b):
    """Return a + b."""
    high, low = two_sum(a[0], b[0])
    more, least = two_sum(a[1], b[1])
    high, low = _quick(high, low + more)
    return _quick(high, low + least)


@njit(**EXACTLY)
def minus(a, b):
    """Return a - b."""
    return plus(a, (-b[0], -b[1]))


@njit(**EXACTLY)
def times(a, b):
    """A b."""
    high = a[0] * b[0]
    low = _fused(a[0], b[0], -high)
    return _quick(high, low + (a[0] * b[1] + a[1] * b[0]))


@njit(**EXACTLY)
def scaled(a, factor):
    """Return a times `factor`, a power of two."""
    return a[0] * factor, a[1] * factor


@njit(**EXACTLY)
def over(a, b):
    """Return a / b."""
    first = a[0] / b[0]
    rest = minus(a, times(b, (first, 0.0)))
    second = rest[0] / b[0]
    rest = minus(rest, times(b, (second, 0.0)))
    high, low = _quick(first, second)
    return plus((high, low), (rest[0] / b[0], 0.0))


@njit(**EXACTLY)
def root(a):
    """The square root of a positive number."""
    guess = np.sqrt(a[0])
    rest = minus(a, times((guess, 0.0), (guess, 0.0)))
    return _quick(guess, rest[0] / (2.0 * guess))


@njit(**EXACTLY)
def at(pairs, i):
    """Return number i of an array of pairs (n, 2)."""
    return pairs[i, 0], pairs[i, 1]


@njit(**EXACTLY)
def put(pairs, i, number):
    """Set number i of an array of pairs (n, 2)."""
    pairs[i, 0], pairs[i, 1] = number
