"""What each data provider is worth, and how sure we can be.

The public names are listed in `__init__.pyi` and imported when they are first used, so that
importing the package, and asking the command line for help, costs next to nothing.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
