"""Further functions of vectors of LANES doubles, see `lanes`: quotient, larger, absolute, exp."""

import math

from llvmlite import ir
from numba.extending import intrinsic

from shapband.kernels.compiled.lanes import LANES, LANES_TYPE

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(64), LANES)
_CONTRACT = ("contract",)
_LARGEST = 708.0  # exponentials of larger numbers overflow
_ROUND = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
_LN2_HIGH = (
    6.93147180369123816490e-01  # its last bits are zero, so products with integers are exact
)
_LN2_LOW = 1.90821492927058770002e-10
_TAYLOR = [1.0 / math.factorial(k) for k in range(13, -1, -1)]


def _constant(value):
    return ir.Constant(_VECTOR, [value] * LANES)


def _fused(builder, total, a, b):
    return builder.fadd(total, builder.fmul(a, b, flags=_CONTRACT), flags=_CONTRACT)


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _smaller(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


@intrinsic
def divide(typingctx, a, b):
    """A / b, lane by lane."""

    def codegen(context, builder, signature, args):
        return builder.fdiv(*args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def subtract(typingctx, a, b):
    """A - b, lane by lane."""

    def codegen(context, builder, signature, args):
        return builder.fsub(*args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def larger(typingctx, a, b):
    """The larger of a and b, lane by lane."""

    def codegen(context, builder, signature, args):
        return _larger(builder, *args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def smaller(typingctx, a, b):
    """The smaller of a and b, lane by lane."""

    def codegen(context, builder, signature, args):
        return _smaller(builder, *args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def exponential(typingctx, x):
    """Exp(x), lane by lane, to 2e-16; numbers beyond ±708 count as ±708.

    With n the integer nearest to x / log 2 and r = x - n log 2, exp(x) = 2**n exp(r). A Taylor
    series gives exp(r), since |r| < 0.35, and adding n to the exponent's bits multiplies by 2**n.
    """

    def codegen(context, builder, signature, args):
        x = _smaller(builder, _larger(builder, args[0], _constant(-_LARGEST)), _constant(_LARGEST))
        shifted = _fused(builder, _constant(_ROUND), x, _constant(1.0 / math.log(2.0)))
        n = builder.fsub(shifted, _constant(_ROUND))
        r = _fused(builder, x, n, _constant(-_LN2_HIGH))
        r = _fused(builder, r, n, _constant(-_LN2_LOW))
        series = _constant(_TAYLOR[0])
        for coefficient in _TAYLOR[1:]:
            series = _fused(builder, _constant(coefficient), series, r)
        exponent = builder.shl(builder.bitcast(shifted, _BITS), ir.Constant(_BITS, [52] * LANES))
        return builder.bitcast(builder.add(builder.bitcast(series, _BITS), exponent), _VECTOR)

    return LANES_TYPE(LANES_TYPE), codegen
