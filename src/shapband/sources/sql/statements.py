"""The statements that a source runs, built with SQLAlchemy: names are quoted, values are bound.

Strings are equal if Python says so, whatever the collation of their column: collations that ignore
case, accents or blanks at the end would mix up providers and keys. SQLite, PostgreSQL and DuckDB
are asked with an exact collation. Others compare as they do, and may return more rows than asked
for; who reads them leaves these out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shapband.sources.sql.databases import Database
from shapband.sources.sql.links import Statement

MARKED = 1024  # every so many keys one is kept of a table with very many rows
PROBED = 1000  # rows that are read to find out which columns hold numbers and which strings
OWNER = "owner"  # the parameter with the value of the column `by`


@dataclass(frozen=True, eq=False)
class Relation:
    """A table or a query, perhaps reduced to the rows of one provider.

    Attributes
    ----------
    database : where it is
    table : its name, or schema and name with a dot between; None for a query
    query : a SELECT statement; None for a table
    by : the column that must equal the parameter `owner`, or None for all rows
    strings : whether the column `by` holds strings
    """

    database: Database
    table: str | None
    query: str | None
    by: str | None = None
    strings: bool = False

    @property
    def path(self) -> tuple[str | None, str]:
        """The schema, if one is named, and the name of the table."""
        schema, _, name = str(self.table).rpartition(".")
        return schema or None, name

    def everything(self) -> Statement:
        """Return no rows, but all columns."""
        import sqlalchemy as sa

        return self._compiled(sa.select(sa.text("*")).select_from(self._rows()).limit(0))

    def first_rows(self, key: str, columns: Sequence[str]) -> Statement:
        """The first rows in the order of the key."""
        import sqlalchemy as sa

        rows = self._rows(key, *columns)
        cells = [rows.c[name] for name in columns]
        chosen = sa.select(*cells).order_by(rows.c[key]).limit(PROBED)
        return self._compiled(chosen.where(*self._own(rows)))

    def first_known(self, column: str) -> Statement:
        """A value of a column that is not NULL."""
        import sqlalchemy as sa

        rows = self._rows(column)
        cell = rows.c[column]
        return self._compiled(sa.select(cell).where(cell.is_not(None), *self._own(rows)).limit(1))

    def counts(self, key: str) -> Statement:
        """The number of rows and of keys."""
        import sqlalchemy as sa

        rows = self._rows(key)
        counted = sa.select(sa.func.count(), sa.func.count(rows.c[key])).select_from(rows)
        return self._compiled(counted.where(*self._own(rows)))

    def known(self, columns: Sequence[str]) -> Statement:
        """The number of rows, and of values of each column that are not NULL."""
        import sqlalchemy as sa

        rows = self._rows(*columns)
        counts = [sa.func.count(rows.c[name]) for name in columns]
        return self._compiled(sa.select(sa.func.count(), *counts).select_from(rows))

    def different(self, column: str) -> Statement:
        """The number of different values of a column."""
        import sqlalchemy as sa

        cell = self._rows(column).c[column]
        return self._compiled(sa.select(sa.func.count(sa.distinct(cell))))

    def counts_by(self, key: str, *columns: str) -> Statement:
        """The number of rows and of keys with each combination of values of some columns.

        A combination may be returned more than once: other databases than the three known ones
        return every row by itself, because they would group by collations of their own.
        """
        import sqlalchemy as sa

        rows = self._rows(key, *columns)
        cells = [rows.c[name] for name in columns]
        if not self.database.names_quoted:
            one = sa.literal_column("1")
            known = sa.case((rows.c[key].is_not(None), one), else_=sa.literal_column("0"))
            return self._compiled(sa.select(*cells, one, known))
        counted = sa.select(*cells, sa.func.count(), sa.func.count(rows.c[key]))
        return self._compiled(counted.group_by(*cells, *map(self._exact, cells)))

    def extent(self, key: str) -> Statement:
        """The smallest and the largest key."""
        import sqlalchemy as sa

        rows = self._rows(key)
        ends = sa.select(sa.func.min(rows.c[key]), sa.func.max(rows.c[key]))
        return self._compiled(ends.where(*self._own(rows)))

    def different_integers(self, key: str) -> Statement:
        """The number of different integers among the keys."""
        import sqlalchemy as sa

        rows = self._rows(key)
        whole = sa.cast(rows.c[key], sa.BigInteger)
        counted = sa.select(sa.func.count(sa.distinct(whole)))
        return self._compiled(counted.where(*self._own(rows)))

    def newest(self, column: str) -> Statement:
        """The largest value of a column."""
        import sqlalchemy as sa

        rows = self._rows(column)
        return self._compiled(sa.select(sa.func.max(rows.c[column])).where(*self._own(rows)))

    def keys(self, key: str) -> Statement:
        """All keys, in any order."""
        import sqlalchemy as sa

        rows = self._rows(key)
        return self._compiled(sa.select(rows.c[key]).where(*self._own(rows)))

    def keys_by(self, key: str, by: str) -> Statement:
        """All keys with the value of a column."""
        import sqlalchemy as sa

        rows = self._rows(key, by)
        return self._compiled(sa.select(rows.c[by], rows.c[key]))

    def marks(self, key: str) -> Statement:
        """Every 1,024th key, in ascending order."""
        import sqlalchemy as sa

        rows = self._rows(key)
        place = (sa.func.row_number().over(order_by=rows.c[key]) - 1).label("place")
        placed = sa.select(rows.c[key].label("mark"), place).where(*self._own(rows)).subquery("p")
        every = placed.c.place % sa.literal_column(str(MARKED)) == sa.literal_column("0")
        return self._compiled(sa.select(placed.c.mark).where(every).order_by(placed.c.mark))

    def keys_after(self, key: str, count: int) -> Statement:
        """The places 0, 1, ... and the keys that stand `step0`, ... after the keys `mark0`, ...

        The distances are below 1,024, so the index of the key is read in short stretches.
        """
        import sqlalchemy as sa

        rows = self._rows(key)
        cell, parts = rows.c[key], []
        for place in range(count):
            mark = sa.bindparam(f"mark{place}", type_=sa.BigInteger)
            step = sa.bindparam(f"step{place}", type_=sa.BigInteger)
            after = sa.select(cell).where(cell >= mark, *self._own(rows)).order_by(cell)
            found = after.limit(1).offset(step).subquery()
            parts.append(sa.select(sa.literal_column(str(place)), found.c[key]))
        return self._compiled(sa.union_all(*parts))

    def draw(self, key: str, kind: str, columns: Sequence[str]) -> Statement:
        """The rows with the keys of the parameter `keys`, in this order, repeated as they are.

        A key that is not in the table has NULL in place of its key. The statement has one form for
        each database; others than the three known ones return different rows in any order, with
        the value of the column `by` at the end.
        """
        import sqlalchemy as sa

        rows = self._rows(key, *columns)
        cells = [rows.c[key].label("shapband_key"), *(rows.c[name] for name in columns)]
        if not self.database.names_quoted:
            given = sa.bindparam("keys", expanding=True)
            cells += [] if self.by is None else [rows.c[self.by]]
            return self._compiled(sa.select(*cells).where(rows.c[key].in_(given), *self._own(rows)))
        kinds = {"integer": sa.BigInteger, "string": sa.Text, "uuid": sa.Uuid}
        listed = self._listed("keys", kinds[kind])
        same = sa.and_(*self._equal(rows.c[key], listed.c.value, kind == "string"))
        same = sa.and_(same, *self._own(rows))
        # The outer join keeps the list of keys as the outer loop of the plan.
        joined = listed.outerjoin(rows, same)
        return self._compiled(sa.select(*cells).select_from(joined).order_by(listed.c.place))

    def _listed(self, name: str, kind: Any) -> Any:
        """A list of values as a table with the columns `value` and `place`."""
        import sqlalchemy as sa
        from sqlalchemy.dialects.postgresql import ARRAY

        if self.database.kind == "sqlite":
            each = sa.func.json_each(sa.bindparam(name)).table_valued("key", "value")
            return sa.select(each.c.value, each.c.key.label("place")).subquery()
        array = sa.cast(sa.bindparam(name, type_=sa.types.NullType()), ARRAY(kind))
        each = sa.func.unnest(array).table_valued("value", with_ordinality="place")
        return each.render_derived()

    def _rows(self, *columns: str) -> Any:
        import sqlalchemy as sa

        wanted = dict.fromkeys([*columns, *([] if self.by is None else [self.by])])
        cells = [sa.column(self._quoted(name)) for name in wanted]
        if self.query is not None:
            # A colon would begin a parameter of SQLAlchemy.
            text = sa.text(self.query.replace(":", r"\:") + "\n")  # it may end in a comment
            return text.columns(*cells).subquery("t")
        schema, name = self.path
        return sa.table(
            self._quoted(name), *cells, schema=None if schema is None else self._quoted(schema)
        ).alias("t")

    def _quoted(self, name: str) -> Any:
        from sqlalchemy.sql import quoted_name

        return quoted_name(name, True) if self.database.names_quoted else name

    def _own(self, rows: Any) -> list[Any]:
        import sqlalchemy as sa

        if self.by is None:
            return []
        return self._equal(rows.c[self.by], sa.bindparam(OWNER), self.strings)

    def _equal(self, cell: Any, value: Any, strings: bool) -> list[Any]:
        """Conditions for equal values; the first is the one that an index of the column answers."""
        if not strings or not self.database.names_quoted:
            return [cell == value]
        return [self._as_text(cell) == value, self._exact(cell) == value]

    def _exact(self, cell: Any) -> Any:
        """A string that is compared by its code points, blanks at the end included."""
        import sqlalchemy as sa

        return sa.collate(self._as_text(cell), "BINARY" if self.database.kind == "sqlite" else "C")

    def _as_text(self, cell: Any) -> Any:
        """A value that can be compared with strings: PostgreSQL has types, such as enumerations."""
        import sqlalchemy as sa

        return cell if self.database.kind == "sqlite" else sa.cast(cell, sa.Text)

    def _compiled(self, core: Any) -> Statement:
        return self.database.compile(core)
