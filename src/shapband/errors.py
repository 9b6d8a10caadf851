"""The exception tree.

::

    ShapbandError
    ├── InvalidInput (also ValueError)   an argument breaks a rule; no source was asked
    │   └── UnknownProvider (also KeyError)  a valuation has no provider of this name
    ├── BudgetExceeded                   the budget does not pay for two games
    ├── SourceError                      a source failed, or gave what it should not
    │   ├── TemporaryFailure             a request failed in a way that may pass
    │   └── ProviderFailed               the requests to one provider fail for good
    ├── EvaluationError                  a coalition could not be evaluated
    ├── ConformanceError (also AssertionError)  a class of the user's breaks a rule of its kind
    ├── WorkerError                      workers cannot be reached, or are lost
    └── RunError                         a run directory cannot be used
        ├── RunDamaged                   its database is not as it was written
        ├── RunExists                    the directory already holds a run
        ├── RunFull                      its disk is full
        └── RunLocked                    another process is at work in it

    VersionsChanged (RuntimeWarning)     a run is resumed with other versions
    RepeatedRecords (UserWarning)        a provider's draws hold many records more than once
    ProviderLeftOut (RuntimeWarning)     a valuation goes on without a provider that failed
    SlowSource (RuntimeWarning)          a source has not answered in time, and is waited for
    HeldRows (UserWarning)               a provider holds validation rows
    LoneLabels (UserWarning)             nobody else has any of a provider's labels
    LocalCopy (UserWarning)              a source writes a copy of its table to the disk
    UnseenLabels (UserWarning)           draws lack a label, which the log loss makes expensive
"""


class ShapbandError(Exception):
    """Root of every error that shapband raises on purpose."""


class InvalidInput(ShapbandError, ValueError):
    """An argument breaks a rule. The message names it, the rule and the remedy."""


class UnknownProvider(InvalidInput, KeyError):
    """A valuation was asked for a provider that it does not have."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class BudgetExceeded(ShapbandError):
    """The budget does not pay for the two games that a variance needs."""


class SourceError(ShapbandError):
    """A provider's source failed, or gave records that cannot be used."""


class TemporaryFailure(SourceError):
    """A request failed in a way that may pass, such as a lost connection or a busy server.

    Attributes
    ----------
    retry_after : seconds that the source asks to wait before the next attempt, or None
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderFailed(SourceError):
    """The requests to one provider fail for good: repeated attempts failed, or would not help.

    Attributes
    ----------
    provider : its name
    """

    def __init__(self, message: str, provider: str) -> None:
        super().__init__(message)
        self.provider = provider


class EvaluationError(ShapbandError):
    """The utility of a coalition could not be computed."""


class ConformanceError(ShapbandError, AssertionError):
    """A source, utility, sampling or solver breaks a rule that all of its kind must keep."""


class WorkerError(ShapbandError):
    """Workers cannot be reached, or more of them are lost than can be replaced."""


class RunError(ShapbandError):
    """A run directory cannot be used as asked. What it holds is left as it is."""


class RunDamaged(RunError):
    """The database of a run is not as it was written: truncated or altered."""


class RunExists(RunError):
    """The directory of a new run already holds one."""


class RunFull(RunError):
    """The disk of a run is full; what was stored is safe."""


class RunLocked(RunError):
    """Another process is at work in the run."""


class VersionsChanged(RuntimeWarning):
    """A run is resumed with other versions than it began with; its last bits may differ."""


class RepeatedRecords(UserWarning):
    """A provider has few different records for its draws, or many copies in its pool."""


class ProviderLeftOut(RuntimeWarning):
    """A provider failed for good, and the valuation goes on without it."""


class SlowSource(RuntimeWarning):
    """A source in the thread of the caller has not answered in time; it is still waited for."""


class HeldRows(UserWarning):
    """A provider holds validation rows, so that models are trained on what scores them."""


class LoneLabels(UserWarning):
    """Neither the other providers nor the validation rows have any of a provider's labels."""


class LocalCopy(UserWarning):
    """A source of files writes an Arrow copy of its table to the cache directory."""


class UnseenLabels(UserWarning):
    """Draws may lack a label of the validation rows, and the log loss makes this expensive."""
