"""Inner loops: functions of arrays that return arrays and do not check their arguments.

`compiled` holds the kernels, and `load` returns one of its modules. Each of these has a readable
twin in NumPy in `tests/reference`; both give identical rows, and the same values to 1e-10 if a game
is well posed. `careful` holds slower fits in NumPy, for coalitions in which rounding would cost the
compiled kernels too many digits. To step through a valuation in a debugger, have `load` return the
twins, as `tests/kernels/test_readable_kernels.py` does.

The other modules of `compiled` are helpers of the modules that are loaded:

- of `linear` and `linear_wide`: `linear_sums` of products, `linear_blocks` of coalitions that are
  solved at once, and `linear_doubts` about rounding, which `least_norm` shares;
- of `exact_fits` and `exact_sums`: numbers of 32 digits in `double_double`; the fit's
  `exact_equations` and their `exact_solutions`;
- of `neighbors`, `neighbor_halves` and `neighbor_sets`: `neighbor_blocks` of validation points;
- of `discriminant`: `discriminant_sums` of a provider, and factors in `triangles`;
- of `logistic` and `logistic_wide`: `newton`, with `logistic_derivatives`;
- of `linear_wide` and `logistic_wide`: factors of large matrices in `strips`;
- of many: vectors of `lanes`, and `products` of columns.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def load(name: str) -> ModuleType:
    """Return the kernel module `name`, compiled when it is first called."""
    from shapband.kernels.compiling import import_compiled  # loads numba, which not all calls need

    return import_compiled(name)
