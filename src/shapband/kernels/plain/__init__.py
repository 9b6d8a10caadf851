"""Kernels in NumPy: the reference, and the way where numba is missing."""
