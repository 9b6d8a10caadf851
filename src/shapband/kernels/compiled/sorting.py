"""Sorting and searching, for lists that kernels seldom need in order.

`np.sort` and `np.searchsorted` would do the same, but numba takes about a second to compile them.
"""

from numba import njit

from shapband.kernels.compiled.parts import PART


@njit(**PART)
def sort(numbers):
    """Sort numbers in place, in ascending order (Shell's method, with the gaps of Knuth)."""
    gap = 1
    while gap < numbers.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, numbers.size):
            number, place = numbers[i], i
            while place >= gap and numbers[place - gap] > number:
                numbers[place] = numbers[place - gap]
                place -= gap
            numbers[place] = number
        gap //= 3


@njit(**PART)
def count_below(ordered, number, or_equal):
    """How many of the ordered numbers are below a number, or equal to it if these count too."""
    low, high = 0, ordered.size
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < number or (or_equal and ordered[middle] == number):
            low = middle + 1
        else:
            high = middle
    return low
