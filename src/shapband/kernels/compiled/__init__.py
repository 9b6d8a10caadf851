"""Kernels compiled by numba, cached on disk; they release the interpreter lock."""
