"""The exception tree.

::

    ShapbandError
    ├── InvalidInput (also ValueError)   an argument breaks a rule; no source was asked
    ├── BudgetExceeded                   the budget does not pay for two games
    ├── SourceError                      a source failed, or gave what it should not
    ├── EvaluationError                  a coalition could not be evaluated
    ├── ConformanceError (also AssertionError)  a class of the user's breaks a rule of its kind
    ├── WorkerError                      workers cannot be reached, or are lost
    └── RunError                         a run directory cannot be used
        ├── RunDamaged                   its database is not what was written
        ├── RunExists                    a new run would fall on an old one
        ├── RunFull                      there is no room left on its disk
        └── RunLocked                    another process is at work in it

    VersionsChanged (RuntimeWarning)     a run goes on under other versions
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


class ConformanceError(ShapbandError, AssertionError):
    """A source, utility, sampling or solver breaks a rule that all of its kind must keep."""


class WorkerError(ShapbandError):
    """Workers cannot be reached, or more of them are lost than can be replaced."""


class RunError(ShapbandError):
    """A run directory cannot be used as asked. What it holds is left as it is."""


class RunDamaged(RunError):
    """The database of a run is not what was written: cut short, or altered."""


class RunExists(RunError):
    """A run is already in the directory where a new one should begin."""


class RunFull(RunError):
    """There is no room on the disk of a run; what was stored is safe."""


class RunLocked(RunError):
    """Another process is at work in the run."""


class VersionsChanged(RuntimeWarning):
    """A run goes on under other versions than it began with; its last bits may differ."""
