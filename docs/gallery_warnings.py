"""Warnings in notebooks end the build of the site."""

import warnings
from typing import Any

_before = warnings.filters[:]


def are_errors(_settings: Any, _notebook: str, when: str) -> None:
    """Turn warnings into errors before a notebook runs, and no longer after it.

    sphinx-gallery calls this. It also looks up names at their old places, to find their shortest
    ones, and that is no error.
    """
    if when == "before":
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module="sphinx_gallery")
    else:
        warnings.filters[:] = _before
