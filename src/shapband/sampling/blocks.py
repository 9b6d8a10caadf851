"""The old name of draws that are dealt from shuffled pools."""

from __future__ import annotations

import warnings

from shapband.sampling.pooled import Pooled
from shapband.sampling.sizes import DrawSize


def Blocks(n_pool: int, n_sample: DrawSize) -> Pooled:  # noqa: N802  it was a class
    """`Pooled(n_pool, n_sample, replace=False)`, which deals its draws from shuffles of the pools.

    .. deprecated:: 0.3.0
        The games are the same as before, with the same seed. The variance now refers to draws from
        the sources, also if stocks are finite.

    Parameters
    ----------
    n_pool : records bought from every provider, once
    n_sample : records that a provider gives to a game: a number, a fraction of each stock (not of
        the pool), or numbers by provider name. Every pool must hold two draws

    Examples
    --------
    >>> import warnings
    >>> import shapband as sb
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DeprecationWarning)
    ...     sb.Blocks(n_pool=240, n_sample=60)
    Pooled(n_pool=240, n_boot=60, replace=False)
    """
    made = Pooled(n_pool, n_sample, replace=False)
    warnings.warn(
        f"Blocks(n_pool, n_sample) is now called Pooled(n_pool, n_boot, replace=False): write "
        f'{made!r}, or in a file kind = "pooled" with n_boot and replace = false',
        DeprecationWarning,
        stacklevel=2,
    )
    return made
