"""Reading reports: tables as columns, through <tacho/report.h> of libtacho.so.

A column is read by one call into memory of NumPy's, or of the array module where there is no NumPy; each different text is read once.
Files of other profilers are imported first.
"""
from __future__ import annotations

import csv
import ctypes
import functools
import json
import os
import re
import tempfile
from types import TracebackType
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Type

from . import _columns, _html, _native
from ._table import Table, nearest, of_rows

_KINDS = {2: _columns.REAL, 3: _columns.TEXT, 4: _columns.TEXT}  # enum tacho_column_type; all others are INT


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    library = ctypes.CDLL(_native.library())
    handle, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    declared: Dict[str, Any] = {
        "open": (number, text, ctypes.POINTER(handle)), "close": (None, handle), "error": (text, handle),
        "table_count": (ctypes.c_size_t, handle), "table_name": (text, handle, number), "find_table": (number, handle, text),
        "row_count": (ctypes.c_uint64, handle, number), "column_count": (ctypes.c_size_t, handle, number),
        "column_name": (text, handle, number, number), "column_type": (number, handle, number, number),
        "read": (number, handle, number, number, ctypes.c_uint64, ctypes.c_size_t, handle, handle),
        "read_real": (number, handle, number, number, ctypes.c_uint64, ctypes.c_size_t, handle, handle),
        "string": (handle, handle, ctypes.c_int64, ctypes.POINTER(ctypes.c_size_t)),
    }
    for name, (result, *arguments) in declared.items():
        function = getattr(library, "tacho_report_" + name)
        function.restype, function.argtypes = result, arguments
    return library


def _unlike(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """A row; of columns of the same name the second is NAME:1, the next NAME:2, as SQLite calls them."""
    row: Dict[str, Any] = {}
    for name, value in pairs:
        number, free = 0, name
        while free in row:
            number += 1
            free = f"{name}:{number}"
        row[free] = value
    return row


def _rows(text: str) -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = json.loads(text or "[]", object_pairs_hook=_unlike)
    return rows


@functools.lru_cache(maxsize=None)
def _stats_reports() -> Tuple[str, ...]:
    """The names of the reports of `tacho stats`, in its order."""
    return tuple(re.findall(r"^(\w+)", _native.run(["stats", "--help-reports"]), re.M))


class Report(Mapping[str, Table]):
    """A report: a mapping from the names of the tables that it has rows in to the tables."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = ctypes.c_void_p()
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        if os.path.isdir(path):
            raise _native.TachoError(f"{path} is a folder: tacho.Reports({path!r})")
        opened = self._import(path) if not self._is_ours(path) else path
        library = _library()
        if library.tacho_report_open(os.fsencode(opened), ctypes.byref(self._handle)):
            sentence = library.tacho_report_error(self._handle).decode(errors="replace")
            self.close()
            raise _native.TachoError(sentence)
        count = library.tacho_report_table_count(self._handle)
        self._known = [library.tacho_report_table_name(self._handle, i).decode() for i in range(count)]
        self._tables = {name: i for i, name in enumerate(self._known) if library.tacho_report_row_count(self._handle, i)}

    @staticmethod
    def _is_ours(path: str) -> bool:
        return os.path.splitext(path)[1] not in (".sqlite", ".json", ".gz", ".zst", ".nsys-rep")

    def _import(self, path: str) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="tacho-")
        made = os.path.join(self._folder.name, "imported.tacho")
        _native.run(["import", "-q", "-o", made, path])
        return made

    def close(self) -> None:
        """Closes the file; arrays that were read stay."""
        _library().tacho_report_close(self._handle)
        self._handle = ctypes.c_void_p()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> "Report":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def _open(self) -> ctypes.c_void_p:
        if not self._handle:
            raise _native.TachoError(f"the report {self.path} was closed; tacho.load() opens it again")
        return self._handle

    def _read(self, table: int, column: int, kind: str, first: int, count: int) -> _columns.Column:
        values, nulls = _columns.empty("d" if kind == _columns.REAL else "q", count), _columns.empty("B", count)
        read = _library().tacho_report_read_real if kind == _columns.REAL else _library().tacho_report_read
        failed = read(self._open(), table, column, first, count, _columns.address(values), _columns.address(nulls)) if count else 0
        if failed:
            raise _native.TachoError(f"column {column} of {self._known[table]} in {self.path} could not be read (error {failed})")
        return _columns.of_ids(values, nulls, self.string) if kind == _columns.TEXT else _columns.Column(kind, values, nulls)

    def __getitem__(self, name: str) -> Table:
        if name not in self._tables:
            raise self._unknown(name)
        library, handle, number = _library(), self._open(), self._tables[name]
        columns: Dict[str, Tuple[str, _columns.Reader]] = {}
        for i in range(library.tacho_report_column_count(handle, number)):
            kind = _KINDS.get(library.tacho_report_column_type(handle, number, i), _columns.INT)
            columns[library.tacho_report_column_name(handle, number, i).decode()] = kind, functools.partial(self._read, number, i, kind)
        return Table(name, int(library.tacho_report_row_count(handle, number)), columns)

    def _unknown(self, name: object) -> _native.UnknownName:
        """With what was probably meant: a table in another case, one without rows, or a report of tacho stats."""
        same = next((known for known in self._known if known.lower() == str(name).lower()), None)
        if same is not None and same not in self._tables:
            return _native.UnknownName(f"{self.path} has no rows in {same}; it has rows in {', '.join(self._tables)}")
        reports = _stats_reports()
        near = nearest(name, [*self._tables, *reports])
        if near in reports:
            return _native.UnknownName(f"{self.path} has no table {name!r}: did you mean the report of tacho stats, report.table({near!r})?")
        return _native.UnknownName(f"{self.path} has no table {name!r}" + (f": did you mean {near!r}?" if near else "; list(report) has the names"))

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<tacho.Report {self.path}: {', '.join(self._tables)}>"

    def _repr_html_(self) -> str:
        tables = [self[name] for name in self]
        return _html.table(["table", "rows", "columns"], [(table.name, len(table), ", ".join(table.columns)) for table in tables], len(tables), self.path)

    def string(self, number: int) -> str:
        """The text with this id."""
        length = ctypes.c_size_t()
        place = _library().tacho_report_string(self._open(), number, ctypes.byref(length))
        return ctypes.string_at(place, length.value).decode("utf-8", "replace")

    def sql(self, question: str) -> Table:
        """The result of an SQL query over the tables. Columns of the same name are told apart: id, id:1."""
        def header() -> List[str]:
            names = next(csv.reader(_native.run(["sql", "--format", "csv", self.path, question]).splitlines()), [])
            return list(_unlike([(name, None) for name in names]))

        rows = _rows(_native.run(["sql", "--format", "json", self.path, question]))
        if rows and isinstance(rows[0], list):
            raise _native.TachoError("sql() takes one statement: call it for each")
        return of_rows("the result", rows, header)

    def rows(self, name: str, *options: str) -> List[Dict[str, Any]]:
        """The rows of table(), without a detour over columns."""
        return _rows(_native.run(["stats", "-q", "-r", name, "--format", "json", *options, self.path]))

    def table(self, name: str, *options: str) -> Table:
        """A report of `tacho stats`, such as cuda_gpu_kern_sum."""
        return of_rows(name, self.rows(name, *options), list)

    def summary(self) -> str:
        """The text of `tacho summary`."""
        return _native.run(["summary", self.path])

    def timeline(self, height: int = 500, max_size: str = "8MB") -> _html.Timeline:
        """The timeline for a notebook, which keeps it: at most so large, with an overview of what is left out."""
        return _html.timeline_of(["--max-size", max_size, self.path], height)

    def to_parquet(self, folder: "os.PathLike[str] | str", tables: Optional[Iterable[str]] = None) -> List[str]:
        """Writes each table, or each of these, into a file NAME.parquet of the folder, with pyarrow. The paths of the files."""
        os.makedirs(folder, exist_ok=True)
        paths = []
        for name in self if tables is None else tables:
            paths.append(os.path.join(folder, name + ".parquet"))
            self[name].to_parquet(paths[-1])
        return paths


def load(path: "os.PathLike[str] | str") -> Report:
    """Opens a report, or a file of another profiler: an SQLite export of nsys, a trace of torch.profiler."""
    return Report(os.fspath(path))
