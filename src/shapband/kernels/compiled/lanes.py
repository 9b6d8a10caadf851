"""A vector of LANES doubles for numba, one independent problem per lane.

numba has no such type, so a minimal one is defined here; LLVM maps it to the registers of the
processor. Only `lane_sum` mixes lanes, so the bits of a result do not depend on the lane that
computed it, and NaN in one lane does not affect the others.
"""

import math

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

LANE_BITS = 3  # with 8 lanes, a block of 2 x 2 entries fills the registers of AVX2
LANES = 1 << LANE_BITS
# Pivots have rounding errors of 1e-16 of their diagonal entry, so a pivot above this part of the
# entry has a relative error of at most 1e-10.
PIVOT_TOL = 1e-6

OPTIONS = {
    "cache": True,
    "nogil": True,
    "no_cfunc_wrapper": True,  # it takes time to compile, and nothing uses it
    "fastmath": {"contract"},
    "error_model": "numpy",
    "boundscheck": False,
}

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(64), LANES)
_CONTRACT = ("contract",)

# Constants of the exponential function.
_LARGEST = 708.0  # exponentials of larger numbers overflow
_ROUND = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
_LN2_HIGH = (
    6.93147180369123816490e-01  # its last bits are zero, so products with integers are exact
)
_LN2_LOW = 1.90821492927058770002e-10
_TAYLOR = [1.0 / math.factorial(k) for k in range(13, -1, -1)]


class LanesType(types.Type):
    """The numba type of a vector of LANES doubles; used for local variables only."""

    def __init__(self):
        super().__init__(name=f"Lanes{LANES}")


LANES_TYPE = LanesType()
POINTER = types.CPointer(types.float64)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _VECTOR)


def _constant(value):
    return ir.Constant(_VECTOR, [value] * LANES)


def _address(builder, start, index):
    return builder.bitcast(builder.gep(start, [index]), _VECTOR.as_pointer())


def _splat(builder, scalar):
    first = ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, first)
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, single, lanes)


def _fused(builder, total, a, b):
    return builder.fadd(total, builder.fmul(a, b, flags=_CONTRACT), flags=_CONTRACT)


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _smaller(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


@intrinsic
def pointer(typingctx, array, index):
    """The address of element `index` of a flat float64 array.

    Helpers take addresses because numba counts references to arrays around every call, which costs
    as much as the arithmetic. An address keeps nothing alive: take it only from an array that the
    calling function was given.
    """
    if not isinstance(array, types.Array) or array.dtype != types.float64 or array.layout != "C":
        raise TypingError(f"expected a contiguous float64 array, not {array}")

    def codegen(context, builder, signature, args):
        array_type = signature.args[0]
        data = context.make_array(array_type)(context, builder, value=args[0]).data
        return builder.gep(data, [args[1]])

    return POINTER(array, types.intp), codegen


@intrinsic
def load(typingctx, start, index):
    """The vector of elements index, ..., index + LANES - 1 from an address."""

    def codegen(context, builder, signature, args):
        return builder.load(_address(builder, *args), align=8)

    return LANES_TYPE(POINTER, types.intp), codegen


@intrinsic
def store(typingctx, start, index, value):
    """Write a vector to elements index, ..., index + LANES - 1 from an address."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _address(builder, *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(POINTER, types.intp, LANES_TYPE), codegen


@intrinsic
def broadcast(typingctx, start, index):
    """The vector with every lane equal to element `index` from an address."""

    def codegen(context, builder, signature, args):
        return _splat(builder, builder.load(builder.gep(args[0], [args[1]])))

    return LANES_TYPE(POINTER, types.intp), codegen


@intrinsic
def splat(typingctx, value):
    """The vector with every lane equal to a scalar."""

    def codegen(context, builder, signature, args):
        return _splat(builder, args[0])

    return LANES_TYPE(types.float64), codegen


def _lane_by_lane(name, emit):
    """An operation on two vectors; `emit` writes its instructions."""

    def operation(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return emit(builder, *args)

        return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen

    operation.__name__ = operation.__qualname__ = name
    return intrinsic(operation)


add = _lane_by_lane("add", ir.IRBuilder.fadd)
subtract = _lane_by_lane("subtract", ir.IRBuilder.fsub)
multiply = _lane_by_lane("multiply", ir.IRBuilder.fmul)
divide = _lane_by_lane("divide", ir.IRBuilder.fdiv)
larger = _lane_by_lane("larger", _larger)
smaller = _lane_by_lane("smaller", _smaller)


@intrinsic
def multiply_add(typingctx, total, a, b):
    """Return total + a * b, lane by lane, fused where the processor can."""

    def codegen(context, builder, signature, args):
        return _fused(builder, *args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def multiply_subtract(typingctx, total, a, b):
    """Return total - a * b, lane by lane, fused where the processor can."""

    def codegen(context, builder, signature, args):
        product = builder.fmul(args[1], args[2], flags=_CONTRACT)
        return builder.fsub(args[0], product, flags=_CONTRACT)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def where_less(typingctx, a, b, x, y):
    """Return x in the lanes where a < b, and y in the others."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return LANES_TYPE(LANES_TYPE, LANES_TYPE, LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def any_less(typingctx, a, b):
    """Return whether a < b in some lane."""

    def codegen(context, builder, signature, args):
        less = builder.fcmp_ordered("<", args[0], args[1])
        bits = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(less, bits), ir.Constant(bits, 0))

    return types.boolean(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def pivot_inverse(typingctx, pivot, diagonal):
    """1 / pivot in the lanes where pivot > PIVOT_TOL * diagonal, NaN in the others."""

    def codegen(context, builder, signature, args):
        limit = builder.fmul(args[1], _constant(PIVOT_TOL))
        accepted = builder.fcmp_ordered(">", args[0], limit)
        inverse = builder.fdiv(_constant(1.0), args[0])
        return builder.select(accepted, inverse, _constant(float("nan")))

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def exponential(typingctx, x):
    """Return exp(x), lane by lane, to a relative error of 2e-16; x is clipped to ±708.

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


@intrinsic
def lane_sum(typingctx, value):
    """The sum over the lanes, added by halving, which is the same order at every call."""

    def codegen(context, builder, signature, args):
        (vector,) = args
        width = LANES
        while width > 1:
            width //= 2
            index = ir.VectorType(ir.IntType(32), width)
            low = builder.shuffle_vector(vector, vector, ir.Constant(index, list(range(width))))
            high = builder.shuffle_vector(
                vector, vector, ir.Constant(index, list(range(width, 2 * width)))
            )
            vector = builder.fadd(low, high)
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return types.float64(LANES_TYPE), codegen
