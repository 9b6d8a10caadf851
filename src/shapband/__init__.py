"""What each data provider is worth, and how sure we can be.

The public names are listed in `__init__.pyi` and imported when they are first used, so that
importing the package, and asking the command line for help, costs little time.
"""

from typing import Any

import lazy_loader

__version__ = "0.3.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# Names that only extenders need are in `shapband.extend`; version 0.4 drops the old place.
_MOVED = ("Cost", "Draws", "Usage", "members", "random_orders")
_MOVED += ("marginal_contributions", "variance_of_mean")


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        import warnings

        warnings.warn(
            f"shapband.{name} is now shapband.extend.{name}", DeprecationWarning, stacklevel=2
        )
        return getattr(_load("extend"), name)
    return _load(name)
