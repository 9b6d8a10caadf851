"""The global random generators that Flower and apps use, seeded for a while and then restored."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded(*address: int) -> Iterator[None]:
    """Seed the global generators of Python, NumPy and PyTorch, and restore them at the end.

    PyTorch is seeded if it was imported before; its generators of GPUs are seeded, but not
    restored.

    Parameters
    ----------
    address : integers of at least 0; other addresses give other streams

    Examples
    --------
    >>> with seeded(0, 1):
    ...     one = random.random(), np.random.random()
    >>> with seeded(0, 1):
    ...     one == (random.random(), np.random.random())
    True
    """
    words = np.random.SeedSequence(address).generate_state(8)
    torch = sys.modules.get("torch")
    # Apps use these generators, whatever NumPy recommends.
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    tensors = None if torch is None else torch.get_rng_state()
    random.seed(words.tobytes())
    np.random.seed(words)  # noqa: NPY002
    if torch is not None:
        torch.manual_seed(int(words[0]) << 32 | int(words[1]))
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(tensors)
