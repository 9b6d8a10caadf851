"""Kernels compiled by numba, stored on disk; they release the interpreter lock.

`register` must run before any module here is imported: it decides where kernels are stored.
"""

from shapband.kernels.storing import register

register()
