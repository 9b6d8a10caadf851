"""Versions of packages that the last bits of a result may depend on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import shapband

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Versions in use, by package."""
    packages = {name: _version(name) for name in _PACKAGES}
    return {"shapband": shapband.__version__, "python": platform.python_version(), **packages}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # an installation without metadata, such as a frozen program
        return "none"


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """List the versions that changed; empty if none did.

    Examples
    --------
    >>> changes({"numpy": "2.0.0", "scipy": "1.14.0"}, {"numpy": "2.1.3", "scipy": "1.14.0"})
    'numpy from 2.0.0 to 2.1.3'
    """
    return ", ".join(
        f"{name} from {before[name]} to {after[name]}"
        for name in before
        if before[name] != after[name]
    )
