"""Kernels compiled by numba, stored on disk; they release the interpreter lock.

Some things take numba long to compile, and the usual valuations do without them: the assignment of
an array to a part of another (`a[:n] = b`), whose error message takes 1.6 s of processor time and
which a loop replaces; `np.sort`, which takes 1.2 s (see `sorting`); a function called with a
literal such as 0 and with a variable, which is compiled for both.

`register` must run before any module here is imported: it decides where kernels are stored.
"""

from shapband.kernels.storing import register

register()
