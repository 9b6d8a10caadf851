"""The table of a source in a database, and the providers made from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from shapband.app.config.messages import format_value
from shapband.app.config.tables import Table, Text, broken
from shapband.errors import InvalidInput
from shapband.providers import Group, Provider
from shapband.records.batch import Batch
from shapband.secrets import hide, learn, reveal

IN_FILES = ("sqlite:///", "duckdb:///")  # beginnings of URLs that go on with a path


class SqlSource(Table):
    """Rows of a database; needs `pip install 'shapband[sql]'` or `'shapband[duckdb]'`."""

    object_keys = ("database",)

    kind: Literal["sql"]
    url: Text | dict[Literal["env"], Text] = Field(
        description='The address of the database, such as "sqlite:///clinic.db". An address with a '
        'password is read from the environment, and never stored: { env = "CLINIC_URL" }. Relative '
        "paths start at the folder of this file.",
    )
    table: Text | None = Field(
        None, description="The table or view, or schema and table with a dot between."
    )
    query: Text | None = Field(None, description="A SELECT statement in place of a table.")
    key: Text = Field(description="The column with a different integer or string in every row.")
    target: Text = Field(description="The column with the targets.")
    features: Annotated[list[Text], Field(min_length=1)] | None = Field(
        None,
        description="The columns to use; all but `key`, `target`, `by`, `group` and "
        "`version_column` by default.",
    )
    by: Text | None = Field(
        None,
        description="The column that names the provider of each row: one provider for each of its "
        "values. Leave it out if all rows belong to one provider.",
    )
    group: Text | None = Field(
        None,
        description="The column that names the group of each provider; a provider with NULL in it "
        "is in no group.",
    )
    version_column: Text | None = Field(
        None,
        description="A column that grows whenever a row is changed, so that a resumed run notices.",
    )

    @field_validator("url", mode="before")
    @classmethod
    def _check_url(cls, url: Any) -> Any:
        learn(url)  # finds passwords that no pattern does, such as one with a space
        if isinstance(url, str) and url and hide(url) != url:
            raise broken(
                "must not hold a password, because the file is stored with the run: use "
                'url = { env = "NAME" }, and set NAME in the environment'
            )
        named = isinstance(url, dict) and set(url) == {"env"} and isinstance(url["env"], str)
        if not (isinstance(url, str) and url) and not named:
            raise broken(f'must be a string or {{ env = "NAME" }}; received {format_value(url)}')
        return url

    @model_validator(mode="after")
    def _check_rows(self) -> SqlSource:
        if (self.table is None) == (self.query is None):
            raise broken("either table or query must be given", "table")
        if self.group is not None and self.by is None:
            raise broken("needs by, the column that names the providers", "group")
        return self

    @property
    def database(self) -> str:
        """The database that a run asks, named without its secrets."""
        return f"the database {self.url if isinstance(self.url, str) else self.url['env']}"


def check_name(source: SqlSource, name: str | None) -> None:
    """Check that the providers have a name, and only one way to get it."""
    if name is None and source.by is None:
        raise broken("must be given, unless source.by names a column with the names", "name")
    if name is not None and source.by is not None:
        raise broken("must be left out: the column source.by has the names", "name")


def make_sql_providers(
    name: str | None, table: SqlSource, base: Path, key: str
) -> list[Provider | Group]:
    """Make the provider, or the providers, of a table."""
    from shapband.inputs.databases import providers_from_sql
    from shapband.sources.sql.source import SQLSource

    url = _at(base, reveal(table.url, f"{key}.url"))
    if table.by is not None:
        return [*providers_from_sql(url, by=table.by, group=table.group, **_options(table))]
    return [Provider(str(name), SQLSource(url, **_options(table)))]


def make_sql_rows(table: SqlSource, base: Path, key: str) -> Batch:
    """Read all rows of a table, as validation rows."""
    from shapband.sources.sql.source import SQLSource

    if table.by is not None:
        raise InvalidInput(f"{key}.by: must be left out: validation rows have no providers")
    source = SQLSource(_at(base, reveal(table.url, f"{key}.url")), **_options(table))
    return source.take(np.arange(source.size))


def _options(table: SqlSource) -> Any:
    """The arguments of a source that do not depend on who owns its rows."""
    names = ("table", "query", "features", "key", "target", "version_column")
    return {name: getattr(table, name) for name in names}


def _at(base: Path, url: str) -> str:
    """Let the path of a database in a file start at a folder, unless it is absolute."""
    for start in IN_FILES:
        if url.startswith(start):
            return start + str(base / url.removeprefix(start))
    return url
