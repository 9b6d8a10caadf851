"""The tables of a configuration file: one model per table.

Tables of several kinds have a key `kind`, so that a further kind, such as a database, is one more
class and changes nothing for the others. `parts` derives the tables of samplings, solvers, indices,
participations and utilities from their classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
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

from shapband.app.config.messages import format_value
from shapband.checks import MOST, nearest
from shapband.sampling.participation import Per
from shapband.sources.retry import Retry

if TYPE_CHECKING:
    pass

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

    `object_keys` are the keys that name an object to import, as `module:name`, or a server that is
    sent a secret.
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
            kind = (
                given
                if isinstance(given, str) and given in self._models
                else next(iter(self._models))
            )
            raise broken(
                f'must be a table; received {format_value(given)}: write {{ kind = "{kind}", '
                "... } with its keys"
            )
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


def _http_source() -> type[Table]:
    from shapband.app.config.http import HttpSource

    return HttpSource


def _sql_source() -> type[Table]:
    from shapband.app.config.sql import SqlSource

    return SqlSource


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


_ROWS: dict[str, type[Table] | Callable[[], type[Table]]] = {
    "csv": CsvTable,
    "parquet": ParquetTable,
    "sql": _sql_source,
}
RowsTable = Annotated[Table | float, RowsKinds(_ROWS)]
_SOURCES: dict[str, type[Table] | Callable[[], type[Table]]] = {
    "task": TaskSource,
    "csv": CsvSource,
    "parquet": ParquetSource,
    "files": FilesSource,
    "http": _http_source,
    "sql": _sql_source,
    "object": ObjectSource,
}
SourceTable = Annotated[Table, Kinds(_SOURCES)]


class RetryTable(Table):
    """How often a request that failed in a way that may pass is made again, and after what time."""

    attempts: Count = Field(
        Retry.attempts, description="How often a request is made at most; 1 never repeats it."
    )
    wait: Annotated[float, Field(ge=0)] = Field(
        Retry.wait,
        description="Seconds between the first attempt and the second; later pauses double.",
    )
    longest_wait: Annotated[float, Field(ge=0)] = Field(
        Retry.longest_wait,
        description="Limit on every pause, in seconds. A source that asks for a longer one has "
        "failed.",
    )

    def make(self) -> Retry:
        """Make the rule."""
        return Retry(self.attempts, self.wait, self.longest_wait)

    @model_validator(mode="after")
    def _check_pauses(self) -> RetryTable:
        if self.wait > self.longest_wait:
            raise broken(f"must be at most longest_wait, {self.longest_wait:g}", "wait")
        return self


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
    retry: RetryTable | None = Field(
        None,
        description="How requests that failed are repeated, for all providers of the source. By "
        "default sources that wait for a network or a database are asked up to "
        f"{Retry.attempts} times, and others once.",
    )
    source: SourceTable

    @model_validator(mode="after")
    def _check_names(self) -> ProviderTable:
        from shapband.app.config.http import HttpSource
        from shapband.app.config.sql import SqlSource, check_name

        source = self.source
        if isinstance(source, SqlSource):
            check_name(source, self.name)
        if isinstance(source, TaskSource) and self.name is not None:
            raise broken("must be left out: a task brings the names of its providers", "name")
        if isinstance(source, FilesSource) and source.by is not None and self.name is not None:
            raise broken("must be left out: the directories source.by have the names", "name")
        if isinstance(source, HttpSource) and self.name is None:
            raise broken(
                "must be given, because an endpoint has the records of one provider", "name"
            )
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
    per: Per = Field(
        "game",
        description='"round" if the lines are rounds of training within games; their number must '
        "be a multiple of the rounds of a game.",
    )
