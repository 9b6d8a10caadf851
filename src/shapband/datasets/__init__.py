"""Ready-made tasks: the three of the paper, as providers with a utility."""

from shapband.datasets.digits import digits
from shapband.datasets.synthetic import synthetic
from shapband.datasets.task import Task
from shapband.datasets.wine import wine

__all__ = ["Task", "digits", "synthetic", "wine"]
