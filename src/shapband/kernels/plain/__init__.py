"""Kernels in NumPy: the reference, and a replacement where numba is not used."""
