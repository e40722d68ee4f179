"""Table: rows and columns of a report's table, of an SQL query, or of a report of `tacho stats`.

Nothing is read before it is asked for. pandas and pyarrow are needed only by the methods that are named after them.
"""
from __future__ import annotations

import difflib
import importlib
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from . import _arrow, _html, _native
from ._columns import INT, REAL, Column, Reader, of_objects, reader_of

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

_CHUNK = 16384  # rows that an iteration reads at a time


def need(module: str, method: str) -> Any:
    """Imports a package that a method works with."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{method} needs {package}: pip install {package}") from error


def nearest(name: object, names: Iterable[str]) -> Optional[str]:
    """The name that is most similar to this one, ignoring case, and of several the first; None if none is similar."""
    def likeness(known: str) -> float:
        return difflib.SequenceMatcher(None, known.lower(), str(name).lower()).ratio()
    near = max(names, key=likeness, default=None)
    return near if near is not None and likeness(near) >= 0.6 else None


class Table:
    """Rows and columns. table["start"] is a column, table[0] a row, table[:10] a list of rows; len() and iteration go by rows, each a dictionary
    with None for NULL. Times are ns since the begin of the capture."""

    def __init__(self, name: str, length: int, columns: Mapping[str, Tuple[str, Reader]]) -> None:
        self.name = name
        self._length, self._columns = length, dict(columns)

    @property
    def columns(self) -> List[str]:
        """The names of its columns."""
        return list(self._columns)

    def kinds(self) -> Dict[str, str]:
        """What each column holds: int, real or text."""
        return {name: kind for name, (kind, _) in self._columns.items()}

    def read(self, name: str, first: int = 0, count: int = -1) -> Column:
        """Rows of a column, with its NULLs apart; all of them by default."""
        if name not in self._columns:
            near = nearest(name, self._columns)
            raise _native.UnknownName(f"{self.name} has no column {name!r}" + (f": did you mean {near!r}?" if near else ""))
        return self._columns[name][1](first, self._length - first if count < 0 else count)

    def nulls(self, name: str) -> Any:
        """1 for each value that is NULL, else 0."""
        return self.read(name).nulls

    def _rows(self, first: int, end: int) -> List[Dict[str, Any]]:
        values = [self.read(name, first, end - first).objects() for name in self._columns]
        return [dict(zip(self._columns, row)) for row in zip(*values)]

    def __getitem__(self, key: Any) -> Any:
        """Of a name an array of numbers, in which NULL is 0 (nulls() tells them apart), or of texts, in which NULL is None."""
        if isinstance(key, slice):
            first, end, step = key.indices(self._length)
            return self._rows(first, end) if step == 1 and first < end else [self[i] for i in range(first, end, step)]
        if isinstance(key, str):
            return self.read(key).array()
        number = key.__index__()
        if not -self._length <= number < self._length:
            raise IndexError(f"{self.name} has {self._length} rows, no row {number}")
        return self._rows(number % self._length, number % self._length + 1)[0]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        for first in range(0, self._length, _CHUNK):
            yield from self._rows(first, min(first + _CHUNK, self._length))

    def __repr__(self) -> str:
        return f"<tacho.Table {self.name}: {self._length:,} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        return _html.table(self.columns, [list(row.values()) for row in self[:_html.ROWS]], self._length, self.name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table for any library that knows Arrow's PyCapsule interface: DuckDB, Polars, pyarrow, pandas 3 and others."""
        return _arrow.stream_capsule(self)

    def to_arrow(self) -> "pyarrow.Table":
        """A pyarrow.Table over the same memory; texts are dictionaries."""
        reader = need("pyarrow", "to_arrow()").RecordBatchReader
        if not hasattr(reader, "from_stream"):
            raise ImportError("to_arrow() needs pyarrow 15 or later: pip install --upgrade pyarrow")
        return reader.from_stream(self).read_all()

    def to_parquet(self, path: "os.PathLike[str] | str") -> None:
        """Writes a Parquet file."""
        need("pyarrow.parquet", "to_parquet()").write_table(self.to_arrow(), os.fspath(path))

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame; numbers that are NULL are NA."""
        frames = need("pandas", "to_pandas()")
        columns: Dict[str, Any] = {}
        for name in self._columns:
            column = self.read(name)
            columns[name] = values = frames.Series(column.array())
            if column.kind in (INT, REAL) and column.has_nulls():
                missing = frames.Series(column.nulls).astype(bool)
                columns[name] = values.astype("Int64" if column.kind == INT else "Float64").mask(missing)
        return frames.DataFrame(columns)


def of_rows(name: str, rows: List[Dict[str, Any]], header: Callable[[], List[str]]) -> Table:
    """A table of rows in memory. header(): the names of the columns, if there is no row."""
    names = list(rows[0]) if rows else header()
    made = {column: of_objects([row[column] for row in rows]) for column in names}
    return Table(name, len(rows), {column: (values.kind, reader_of(values)) for column, values in made.items()})
