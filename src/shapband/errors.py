"""The exception tree.

::

    ShapbandError
    ├── InvalidInput (also ValueError)   an argument breaks a rule; no source was asked
    ├── BudgetExceeded                   the budget does not pay for two games
    ├── SourceError                      a source failed, or gave what it should not
    ├── EvaluationError                  a coalition could not be evaluated
    └── WorkerError                      workers cannot be reached, or are lost
"""


class ShapbandError(Exception):
    """Root of every error that shapband raises on purpose."""


class InvalidInput(ShapbandError, ValueError):
    """An argument breaks a rule. The message names it, the rule and the remedy."""


class BudgetExceeded(ShapbandError):
    """The budget does not pay for the two games that a variance needs."""


class SourceError(ShapbandError):
    """A provider's source failed, or gave records that cannot be used."""


class EvaluationError(ShapbandError):
    """The utility of a coalition could not be computed."""


class WorkerError(ShapbandError):
    """Workers cannot be reached, or more of them are lost than can be replaced."""
