"""The tables of a configuration file: one model per table.

Tables of several kinds have a key `kind`, so that a further kind, such as a database, is one more
class and changes nothing for the others. `parts` derives the tables of samplings, solvers, indices,
participations and utilities from their classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from shapband.access.budget import Budget
from shapband.app.config.messages import format_value
from shapband.checks import MOST, nearest
from shapband.errors import InvalidInput
from shapband.estimate.stopping import Precision, Seconds, StableRanking, StoppingRule

if TYPE_CHECKING:
    from shapband.market.prices import Prices

Count = Annotated[int, Field(ge=1, le=MOST)]
Above = Annotated[float, Field(gt=0)]
Text = Annotated[str, Field(min_length=1)]
Price = Annotated[int | float | str, Field(examples=["0.02"])]
Condition = Annotated[list[Any], Field(min_length=3, max_length=3, examples=[["year", ">=", 2020]])]
Separator = Annotated[str, Field(min_length=1, max_length=1)]
ObjectName = Annotated[
    str,
    Field(
        pattern=r"^[\w.]+:[\w.]+$",
        examples=["my_module:my_object", "sklearn.linear_model:Ridge"],
    ),
]
Options = Annotated[
    dict[str, Any],
    Field(
        description="Keyword arguments: the object is called with them. A value "
        '{ env = "NAME" } is read from the environment when the run starts, and never stored.'
    ),
]


def broken(rule: str, key: str = "") -> PydanticCustomError:
    """Make the error for a table, or one key of it, that breaks a rule."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, "key": key})


class Table(BaseModel):
    """A table of the file: frozen, of strict types, without unknown keys.

    `object_keys` are the keys that name an object to import, as `module:name`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    object_keys: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for key in given:
                if key not in cls.model_fields:
                    remedy = nearest(key, sorted(cls.model_fields))
                    raise broken(f"is not a known key; {remedy}", key)
        return given


class Kinds:
    """Annotates a field that holds a table of one of several kinds.

    Parameters
    ----------
    models : by kind, the model of its table, or a function that makes the model when a file names
        the kind, so that a run imports no class that it does not use
    """

    def __init__(self, models: Mapping[str, type[Table] | Callable[[], type[Table]]]) -> None:
        self._models = models

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by the model of the kind."""
        return core_schema.no_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the models of all kinds."""
        every: Any = reduce(or_, [self._model(kind) for kind in self._models])
        union = Annotated[every, Field(discriminator="kind")]
        return handler(TypeAdapter(union).core_schema)

    def _validate(self, given: Any) -> Table:
        if not isinstance(given, dict):
            raise broken(f"must be a table; received {format_value(given)}")
        if "kind" not in given:
            raise broken(f"must be given; it is one of {', '.join(self._models)}", "kind")
        kind = given["kind"]
        if not isinstance(kind, str) or kind not in self._models:
            known = ", ".join(map(repr, self._models))
            raise broken(f"must be one of {known}; received {format_value(str(kind))}", "kind")
        return self._model(kind).model_validate(given)

    def _model(self, kind: str) -> type[Table]:
        model = self._models[kind]
        return model if isinstance(model, type) else model()


class ObjectTable(Table):
    """An object of your own."""

    object_keys = ("object",)

    kind: Literal["object"]
    object: ObjectName
    options: Options | None = None


# Sources: where records come from.


class TaskSource(Table):
    """A ready-made task, with its providers, and its utility unless another one is given."""

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
    separator: Separator | None = Field(None, description="By default it is found in the file.")


class ParquetTable(FileTable):
    """Records in a Parquet file; needs `pip install 'shapband[files]'`."""

    kind: Literal["parquet"]


class FilesSource(FileTable):
    """Files of any size: Parquet, Arrow IPC or CSV, of which only the drawn rows are read.

    Needs `pip install 'shapband[files]'`. With a name all files belong to this provider. Without a
    name every file is a provider, or every directory.
    """

    kind: Literal["files"]
    path: Text = Field(
        description="A file, a directory, a pattern such as hospitals/*.parquet, or an address "
        "such as s3://bucket/lake. Relative paths start at the folder of this file."
    )
    by: Text | None = Field(
        None, description="The key of the directories that name the providers: site for site=north."
    )
    where: Annotated[list[Condition], Field(min_length=1)] | None = Field(
        None, description="Conditions on rows, all of which must hold."
    )


class Split(Table):
    """A file that may hold the records of several providers."""

    by: Text | None = Field(
        None,
        description="The column that names the provider of each record: one provider for each "
        "of its values. Leave it out if the whole file belongs to one provider.",
    )
    group: Text | None = Field(
        None,
        description="The column that names the group of each provider; a provider with empty "
        "cells is in no group. By default no provider of the file has a group.",
    )


class CsvSource(CsvTable, Split):
    """A CSV file of one provider, or of several that the column `by` names."""


class ParquetSource(ParquetTable, Split):
    """A Parquet file of one provider, or of several that the column `by` names."""


class ObjectSource(ObjectTable):
    """An object of your own: a source if the provider has a name, else a list of providers."""


class RowsKinds(Kinds):
    """Annotates a field that holds a table of rows, or a fraction of all records to hold out."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe both."""
        fraction = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
        return {"anyOf": [super().__get_pydantic_json_schema__(core, handler), fraction]}

    def _validate(self, given: Any) -> Any:
        if type(given) is float and 0 < given < 1:
            return given
        if not isinstance(given, dict):
            raise broken(
                "must be a table, or a fraction of all records to hold out, such as 0.3; received "
                f"{format_value(given)}"
            )
        return super()._validate(given)


RowsTable = Annotated[FileTable | float, RowsKinds({"csv": CsvTable, "parquet": ParquetTable})]
_SOURCES = {
    "task": TaskSource,
    "csv": CsvSource,
    "parquet": ParquetSource,
    "files": FilesSource,
    "object": ObjectSource,
}
SourceTable = Annotated[
    TaskSource | CsvSource | ParquetSource | FilesSource | ObjectSource, Kinds(_SOURCES)
]


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
    def _check_names(self) -> ProviderTable:
        source = self.source
        if isinstance(source, TaskSource) and self.name is not None:
            raise broken("must be left out: a task brings the names of its providers", "name")
        if isinstance(source, FilesSource) and source.by is not None and self.name is not None:
            raise broken("must be left out: the directories source.by have the names", "name")
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


class TraceTable(Table):
    """Recorded participation: game g has the presence of round g modulo the number of rounds."""

    kind: Literal["trace"]
    path: Text = Field(
        description="A CSV file with the names of the providers in its first line, and a line of "
        "1 and 0, or true and false, for each round. Relative paths start at the folder of this "
        "file."
    )
    separator: Separator | None = Field(None, description="By default it is found in the file.")


# The tables of stopping rules and of the budget make their own objects, which need no data.


class RulesTable(Table):
    """Stopping rules, checked every 32 games; the time is checked after every chunk of games."""

    absolute: Above | None = Field(
        None, description="Largest half width of an interval for an expectation."
    )
    relative: Above | None = Field(
        None, description="The same as a fraction of the expectation; of both, one must be met."
    )
    ranking: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Stop at a stable ranking; pairs closer than this need not be decided."
    )
    seconds: Above | None = Field(None, description="Stop after this many seconds.")
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

    all: RulesTable | None = Field(None, description="Rules that must all be met at the same time.")

    @cached_property
    def rule(self) -> StoppingRule:
        """All rules joined into one."""
        together = [] if self.all is None else self.all.rules()
        if self.all is not None and not together:
            raise broken(_NO_RULE, "all")
        alternatives = self.rules() + ([reduce(and_, together)] if together else [])
        if not alternatives:
            raise broken(_NO_RULE)
        return reduce(or_, alternatives)

    @model_validator(mode="after")
    def _check_rule(self) -> StopTable:
        _ = self.rule
        return self


_NO_RULE = "must hold at least one of absolute, relative, ranking, seconds"


class BudgetTable(Table):
    """Limits on the records and requests of a run."""

    records: Count | None = None
    requests: Count | None = None

    def make(self) -> Budget:
        """Make the budget."""
        return Budget(self.records, self.requests)


class PricesTable(Table):
    """What the sources charge; `plan` and `run --dry-run` say what a run costs."""

    record: Price = Field(0, description="For a record.")
    request: Price = Field(0, description="For a request.")

    @cached_property
    def prices(self) -> Prices:
        """The prices as exact amounts."""
        from shapband.market.prices import Prices

        try:
            return Prices(self.record, self.request)
        except InvalidInput as cause:
            key, _, rule = str(cause).removeprefix("Prices: ").partition(" ")
            raise broken(rule, key) from None

    @model_validator(mode="after")
    def _check_amounts(self) -> PricesTable:
        _ = self.prices
        return self
