"""Ready-made tasks: the three tasks of the paper, each with providers and a utility."""

from shapband.datasets.digits import digits
from shapband.datasets.synthetic import synthetic
from shapband.datasets.task import Task
from shapband.datasets.wine import wine

__all__ = ["Task", "digits", "synthetic", "wine"]
