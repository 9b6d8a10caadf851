"""Inner loops: functions of arrays that return arrays and do not check their arguments.

`compiled` holds the kernels, and `load` returns one of its modules. Each of these has a readable
twin in NumPy in `tests/reference`; both give identical rows, and the same values to 1e-10 if a game
is well posed. `careful` holds slower fits in NumPy, for coalitions in which rounding would cost the
compiled kernels too many digits. To step through a valuation in a debugger, have `load` return the
twins, as `tests/kernels/test_readable_kernels.py` does.

The other modules of `compiled` are helpers of the modules that are loaded:

- for `linear`, `linear_arcs` and `linear_wide`: `linear_sums` (sums of products), `linear_blocks`
  (coalitions that are solved together) and `linear_doubts` (bounds on rounding errors, which
  `least_norm` uses too);
- for `exact_fits` and `exact_sums`: `double_double` (numbers of 32 digits), `exact_equations` and
  `exact_solutions`;
- for `neighbor_lists`: `neighbor_scans` (short lists);
- for `neighbors`, `neighbor_halves` and `neighbor_sets`: `neighbor_blocks` (blocks of validation
  points);
- for `discriminant`: `discriminant_sums` (sums of a provider) and `triangles` (triangular factors);
- for `logistic` and `logistic_wide`: `newton` and `logistic_derivatives`;
- for `linear_wide` and `logistic_wide`: `strips` (factors of large matrices);
- for `logistic_wide`: `logistic_strips` (products) and `logistic_records` (fits of few records);
- for `federated` and `federated_scores`: `federated_layers` (outputs and gradients of layers);
- for `strata`, `curves` and `drift`: `listed` (coalitions as lists of members);
- for `class_scores`, which all classifiers use: `auc` (the area under the ROC curve);
- for several of them: `lanes` (vectors of numbers), `products` (products of columns) and `sorting`.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def load(name: str) -> ModuleType:
    """Return the kernel module `name`, compiled when it is first called."""
    from shapband.kernels.compiling import import_compiled  # loads numba, which not all calls need

    return import_compiled(name)
