"""The tables of a configuration file: one model per table.

Tables of several kinds have a key `kind`, so that a further kind, such as a database, is one more
class and changes nothing for the others. Those of samplings and solvers are in `parts`.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from shapband.access.budget import Budget
from shapband.checks import MOST
from shapband.errors import InvalidInput
from shapband.estimate.stopping import Precision, Seconds, StableRanking, StoppingRule
from shapband.market.planning.prices import Prices, check_amount
from shapband.utilities.classification import ClassScore
from shapband.utilities.scores import Score

Count = Annotated[int, Field(ge=1, le=MOST)]
Above = Annotated[float, Field(gt=0)]
Part = Annotated[float, Field(gt=0, lt=1)]
Text = Annotated[str, Field(min_length=1)]
Price = Annotated[int | float | str, Field(examples=["0.02"])]
ObjectName = Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$", examples=["my_module:my_object"])]
Options = Annotated[
    dict[str, Any],
    Field(
        description="Keyword arguments: the object is called with them. A value "
        '{ env = "NAME" } is read from the environment when the run starts, and never stored.'
    ),
]


class Table(BaseModel):
    """A table of the file: frozen, of strict types, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _know_all_keys(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for key in given:
                if key not in cls.model_fields:
                    known = {"key": str(key), "known": sorted(cls.model_fields)}
                    raise PydanticCustomError("unknown_key", "unknown key", known)
        return given


def broken(rule: str, key: str = "") -> PydanticCustomError:
    """Say that a table breaks a rule, or one of its keys does."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, "key": key})


def _check_number_by_name(given: Any) -> Any:
    """Refuse all but a number and a table of numbers, in words of the file."""
    numbers = given.values() if isinstance(given, dict) else [given]
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers):
        raise broken("must be a number, or a table with a number for each provider")
    return given


NumberByName = Annotated[
    float | dict[str, float],
    BeforeValidator(_check_number_by_name),
    Field(description="One number for all providers, or a table with one for each, by name."),
]


class ObjectTable(Table):
    """An object of your own."""

    kind: Literal["object"]
    object: ObjectName
    options: Options | None = None


# Sources: where records come from.


class TaskSource(Table):
    """A ready-made task: it brings its providers, and its utility unless one is given."""

    kind: Literal["task"]
    task: Literal["wine", "digits", "synthetic"]


class FileTable(Table):
    """Records in a file."""

    path: Text = Field(description="Relative paths start at the folder of this file.")
    target: Text = Field(description="The column with the targets.")
    features: Annotated[list[Text], Field(min_length=1)] | None = Field(
        None, description="The columns to use; all but `target`, `by` and `group` by default."
    )


class CsvTable(FileTable):
    """Records in a CSV file with a header line."""

    kind: Literal["csv"]
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","


class ParquetTable(FileTable):
    """Records in a Parquet file; needs `pip install 'shapband[parquet]'`."""

    kind: Literal["parquet"]


class Split(Table):
    """A file that may hold the records of several providers."""

    by: Text | None = Field(
        None,
        description="The column that names the provider of each record: one provider for each "
        "of its values. Leave it out if the whole file is one provider's.",
    )
    group: Text | None = Field(
        None,
        description="The column that names the group of each provider; those whose cells are "
        "empty stand alone. By default no provider of the file has a group.",
    )


class CsvSource(CsvTable, Split):
    """A CSV file: one provider's, or that of several distinguished by the column `by`."""


class ParquetSource(ParquetTable, Split):
    """A Parquet file: one provider's, or that of several distinguished by the column `by`."""


class ObjectSource(ObjectTable):
    """An object of your own: a source if the provider has a name, else a list of providers."""


SourceTable = Annotated[
    TaskSource | CsvSource | ParquetSource | ObjectSource, Field(discriminator="kind")
]
RowsTable = Annotated[CsvTable | ParquetTable, Field(discriminator="kind")]


class ProviderTable(Table):
    """A provider and its source, or a source that brings several providers."""

    name: Text | None = Field(
        None, description="Needed unless the source brings the names of its providers."
    )
    group: Text | None = Field(
        None,
        description="The group that the provider, or all providers of the source, are members of. "
        "A group takes part as one player. Tables with the same group are one group.",
    )
    source: SourceTable

    @model_validator(mode="after")
    def _name_whom_the_source_does_not(self) -> ProviderTable:
        source = self.source
        if isinstance(source, TaskSource) and self.name is not None:
            raise broken("must be left out: a task brings the names of its providers", "name")
        if isinstance(source, Split):
            if self.name is None and source.by is None:
                raise broken(
                    "must be given, unless source.by names a column with the names", "name"
                )
            if self.name is not None and source.by is not None:
                raise broken("must be left out: the column source.by has the names", "name")
            if source.group is not None and source.by is None:
                raise broken("must be left out without source.by: use group", "source.group")
            if source.group is not None and self.group is not None:
                raise broken("must be left out: the column source.group has the groups", "group")
        return self


# Utilities: what a coalition is worth.


class AdditiveTable(Table):
    """The sum of weight × mean target of the members' draws."""

    kind: Literal["additive"]
    weights: list[float] | None = Field(None, description="One for each provider, in their order.")
    empty: float = 0.0


class ValidatedTable(Table):
    """A utility that scores a model on validation rows."""

    validation: RowsTable | None = Field(
        None, description="The rows that models are scored on; a task's own by default."
    )
    empty: float | Literal["baseline"] | None = Field(
        None,
        description='The value of nobody: a number, or "baseline" for the score of a dummy model. '
        'By default 0 for "inverse_mse", and the baseline for other scores.',
    )


class LinearTable(ValidatedTable):
    """The score of a least-squares fit, or of ridge regression."""

    kind: Literal["linear"]
    score: Score = "inverse_mse"
    alpha: float = Field(
        0.0, ge=0, description="Weight of the squared coefficients; 0 for least squares."
    )


class LogisticTable(ValidatedTable):
    """The score of a logistic regression."""

    kind: Literal["logistic"]
    C: Above = Field(1.0, description="Inverse strength of the penalty on the coefficients.")
    score: ClassScore = "accuracy"


class BayesTable(ValidatedTable):
    """The score of a Gaussian naive Bayes classifier."""

    kind: Literal["naive_bayes"]
    score: ClassScore = "accuracy"
    var_smoothing: Above = Field(
        1e-9, description="Part of the largest variance of a feature that is added to all of them."
    )


class DiscriminantTable(ValidatedTable):
    """The score of a linear discriminant analysis."""

    kind: Literal["lda"]
    score: ClassScore = "accuracy"


class NeighborsTable(ValidatedTable):
    """The score of the nearest neighbours."""

    kind: Literal["neighbors"]
    k: Count = 1
    task: Literal["regression", "classification"] | None = Field(
        None, description="Needed if the validation targets are whole numbers."
    )
    score: Score = "inverse_mse"
    weights: Literal["uniform", "distance"] = Field(
        "uniform", description='"distance" for neighbours that count by the inverse of theirs.'
    )


class NetworkTable(ValidatedTable):
    """The accuracy of a small neural network, trained on every coalition."""

    kind: Literal["network"]
    hidden: Annotated[list[Count], Field(min_length=1)] = Field(
        [100], description="Number of units of every hidden layer."
    )
    alpha: Annotated[float, Field(ge=0)] = Field(1e-4, description="Strength of the L2 penalty.")
    max_iter: Count = 200
    seed: Annotated[int, Field(ge=0, le=MOST)] = Field(
        0, description="Seed of the first weights, which are the same for all coalitions."
    )


class EstimatorTable(ValidatedTable):
    """The score of any scikit-learn estimator, fitted to every coalition."""

    kind: Literal["estimator"]
    estimator: ObjectName = Field(examples=["sklearn.linear_model:Ridge"])
    options: Options | None = None
    score: Text | None = Field(
        None, description="The name of a scikit-learn scorer; the estimator's own by default."
    )
    failed: float | None = Field(
        None,
        description="What a coalition is worth that cannot be fitted; by default it is an error.",
    )


class ValuesTable(Table):
    """A game given as 2**n numbers."""

    kind: Literal["table"]
    values: Annotated[list[float], Field(min_length=2)]


class ObjectUtility(ObjectTable):
    """A utility of your own."""


UtilityTable = Annotated[
    AdditiveTable
    | LinearTable
    | BayesTable
    | DiscriminantTable
    | LogisticTable
    | NeighborsTable
    | NetworkTable
    | EstimatorTable
    | ValuesTable
    | ObjectUtility,
    Field(discriminator="kind"),
]


class TraceTable(Table):
    """Participation that was recorded: game g repeats round g modulo their number."""

    kind: Literal["trace"]
    path: Text = Field(
        description="A CSV file with the names of the providers in its first line, and a line of "
        "1 and 0, or true and false, for each round. Relative paths start at the folder of this "
        "file."
    )
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","


# Stopping rules and the budget make what they describe: they need no data.


class RulesTable(Table):
    """Stopping rules, looked at every 32 games; the time, after every chunk of games."""

    absolute: Above | None = Field(
        None, description="Largest half width of an interval for an expectation."
    )
    relative: Above | None = Field(
        None, description="The same as a part of the expectation; either limit is enough."
    )
    ranking: Annotated[float, Field(ge=0)] | None = Field(
        None, description="The ranking is stable; providers closer than this may stay undecided."
    )
    seconds: Above | None = Field(None, description="The time is up.")
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.95, description="Confidence level of the intervals and comparisons."
    )

    def rules(self) -> list[StoppingRule]:
        """Make the rules that are given."""
        made: list[StoppingRule] = []
        if self.absolute is not None or self.relative is not None:
            made.append(Precision(self.absolute, self.relative, self.level))
        if self.ranking is not None:
            made.append(StableRanking(self.ranking, self.level))
        if self.seconds is not None:
            made.append(Seconds(self.seconds))
        return made


class StopTable(RulesTable):
    """When to end before `n_games`: as soon as any of these rules is met."""

    all: RulesTable | None = Field(
        None, description="Rules that count as one: it is met when all of them are."
    )

    def make(self) -> StoppingRule:
        """Join the rules into one."""
        together = [] if self.all is None else self.all.rules()
        if self.all is not None and not together:
            raise broken(_NO_RULE, "all")
        alternatives = self.rules() + ([reduce(and_, together)] if together else [])
        if not alternatives:
            raise broken(_NO_RULE)
        return reduce(or_, alternatives)

    @model_validator(mode="after")
    def _have_a_rule(self) -> StopTable:
        self.make()
        return self


_NO_RULE = "must hold at least one of absolute, relative, ranking, seconds"


class BudgetTable(Table):
    """What may be asked of the sources in all."""

    records: Count | None = None
    requests: Count | None = None

    def make(self) -> Budget:
        """Make the budget."""
        return Budget(self.records, self.requests)


class PricesTable(Table):
    """What the sources charge; `plan` and `run --dry-run` say what a run costs."""

    record: Price = Field(0, description="For a record.")
    request: Price = Field(0, description="For a request.")

    @model_validator(mode="after")
    def _be_amounts(self) -> PricesTable:
        for key in ("record", "request"):
            try:
                check_amount(key, getattr(self, key))
            except InvalidInput as cause:
                raise broken(str(cause).removeprefix(f"{key} "), key) from None
        return self

    def make(self) -> Prices:
        """Make the prices."""
        return Prices(self.record, self.request)


def kinds_of(table: Any) -> list[str]:
    """The kinds that a table may have."""
    union = get_args(table)[0]
    return [get_args(one.model_fields["kind"].annotation)[0] for one in get_args(union)]
