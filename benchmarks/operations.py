"""How many floating-point operations the least-squares kernels need.

A multiply-add, a product, a sum or a division counts as one operation. Benchmarks compare these
counts with the speed of the machine.
"""


def merge_operations(p: int) -> int:
    """Additions that merge one provider into a coalition."""
    return p * (p + 1) // 2 + p


def solve_operations(p: int) -> int:
    """Operations of one solve; a multiply-add, product or division counts as one.

    Entry (i, j) of the factor, which has p + 1 rows with the right-hand side,
    needs j multiply-adds.  The entries of L below the diagonal and the
    coefficients are each scaled once by the inverse of a pivot.
    """
    factor = (p - 1) * p * (p + 1) // 6 + p * (p - 1) // 2
    scalings = p * (p - 1) // 2 + p
    divisions = p
    back_substitution = p * (p - 1) // 2
    quadratic_form = p * (p + 1) // 2 + p
    return factor + scalings + divisions + back_substitution + quadratic_form


def table_operations(n: int, p: int) -> int:
    """Operations that `linear_table` needs for one game: 2**n - 1 merges and solves."""
    return ((1 << n) - 1) * (merge_operations(p) + solve_operations(p))


def prefix_operations(n: int, p: int, permutations: int, solved: int) -> int:
    """Operations of `linear_prefixes` for one game, `solved` of whose prefixes are new."""
    return permutations * n * merge_operations(p) + solved * solve_operations(p)
