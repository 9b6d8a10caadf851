"""Values of the clients of a Flower app, by exact retraining.

A `CoalitionGrid` shows a strategy only the nodes of a coalition, so that any Strategy and any
ClientApp is retrained for it without a change. `InProcessGrid` runs a ClientApp in this process,
without Ray and without a network. `FlowerUtility` scores the model of a coalition's training, and
`value` estimates the values of the clients. An app that should train on the draw of a game asks
`draw` for its rows. `Recorder` keeps the updates of one training run.

Only this package imports flwr: ``pip install 'shapband[flower]'``.
"""

try:
    import flwr.serverapp.strategy  # noqa: F401  the oldest version that fits has this module
except ImportError as cause:
    raise ImportError(
        "shapband.flower needs another package: pip install 'shapband[flower]'"
    ) from cause

from shapband.flower.coalition import CoalitionGrid
from shapband.flower.drawing import draw
from shapband.flower.in_process import InProcessGrid
from shapband.flower.recorder import Recorder
from shapband.flower.utility import FlowerUtility
from shapband.flower.valuing import value

__all__ = ["CoalitionGrid", "FlowerUtility", "InProcessGrid", "Recorder", "draw", "value"]
