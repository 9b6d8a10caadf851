"""A vector of LANES doubles for numba, one independent problem per lane.

numba has no such type, so a minimal one is defined here; LLVM maps it to the registers of the
processor. Only `lane_sum` mixes lanes, so the bits of a result do not depend on the lane that
computed it, and NaN in one lane does not affect the others.

numba's cache on disk checks only the file of the compiled function: after a change of this file,
delete the caches of the kernels that import it.
"""

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

LANE_BITS = 3  # 8 lanes fill the registers of AVX2 with a block of 2 x 2 entries
LANES = 1 << LANE_BITS
PIVOT_TOL = 1e-6  # pivots have errors of 1e-16 of their diagonal entry, so 1e-10 of themselves

OPTIONS = {
    "cache": True,
    "nogil": True,
    "fastmath": {"contract"},
    "error_model": "numpy",
    "boundscheck": False,
}

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_CONTRACT = ("contract",)


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


@intrinsic
def add(typingctx, a, b):
    """A + b, lane by lane."""

    def codegen(context, builder, signature, args):
        return builder.fadd(*args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def multiply(typingctx, a, b):
    """A * b, lane by lane."""

    def codegen(context, builder, signature, args):
        return builder.fmul(*args)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def multiply_add(typingctx, total, a, b):
    """Total + a * b, lane by lane, fused where the processor can."""

    def codegen(context, builder, signature, args):
        product = builder.fmul(args[1], args[2], flags=_CONTRACT)
        return builder.fadd(args[0], product, flags=_CONTRACT)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE, LANES_TYPE), codegen


@intrinsic
def multiply_subtract(typingctx, total, a, b):
    """Total - a * b, lane by lane, fused where the processor can."""

    def codegen(context, builder, signature, args):
        product = builder.fmul(args[1], args[2], flags=_CONTRACT)
        return builder.fsub(args[0], product, flags=_CONTRACT)

    return LANES_TYPE(LANES_TYPE, LANES_TYPE, LANES_TYPE), codegen


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
def lane_sum(typingctx, value):
    """The sum over the lanes, by halving, so always in the same order."""

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
