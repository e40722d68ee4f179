"""Reading reports: tables as columns, through <tacho/report.h> of libtacho.so.

A column is read by one call into memory of NumPy's, or of the array module where there is no NumPy; texts are read once for each
different one. Files of other profilers are imported first.
"""
from __future__ import annotations

import array
import ctypes
import functools
import json
import os
import tempfile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type

from . import _native

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

_REAL, _TEXT, _STRING = 2, 3, 4  # enum tacho_column_type


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


def _address(values: Any) -> int:
    return int(values.ctypes.data) if numpy is not None else int(values.buffer_info()[0])


def _empty(code: str, count: int) -> Any:
    """Room for so many values: q, d or B."""
    if numpy is not None:
        return numpy.empty(count, dtype=code)
    return array.array(code, bytes(count * array.array(code).itemsize))


class Table(Mapping[str, Any]):
    """A table: a mapping from the names of its columns to their values. Times are ns since the begin of the capture."""

    def __init__(self, report: "Report", number: int, name: str) -> None:
        self._report, self._number, self.name = report, number, name
        library, handle = _library(), report._handle
        self._rows = int(library.tacho_report_row_count(handle, number))
        count = int(library.tacho_report_column_count(handle, number))
        self._columns = {library.tacho_report_column_name(handle, number, i).decode(): i for i in range(count)}

    @property
    def row_count(self) -> int:
        """How many rows it has."""
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<tacho.Table {self.name}: {self._rows} rows of {', '.join(self._columns)}>"

    def _kind(self, name: str) -> int:
        return int(_library().tacho_report_column_type(self._report._handle, self._number, self._columns[name]))

    def _read(self, name: str, nulls: Any = None) -> Any:
        real = self._kind(name) == _REAL
        values = _empty("d" if real else "q", self._rows)
        read = _library().tacho_report_read_real if real else _library().tacho_report_read
        if self._rows:
            failed = read(self._report._handle, self._number, self._columns[name], 0, self._rows, _address(values),
                          _address(nulls) if nulls is not None else None)
            if failed:
                raise _native.TachoError(f"column {name} of {self.name} could not be read (error {failed})")
        return values

    def ids(self, name: str) -> Any:
        """The column as numbers: of texts, the ids that Report.string() takes. What is NULL is 0."""
        return self._read(name)

    def nulls(self, name: str) -> Any:
        """1 for each value that is NULL, else 0."""
        nulls = _empty("B", self._rows)
        self._read(name, nulls)
        return nulls

    def __getitem__(self, name: str) -> Any:
        """An array of numbers, or of texts. Numbers that are NULL are 0 (nulls() tells them apart), texts None."""
        if self._kind(name) not in (_TEXT, _STRING):
            return self._read(name)
        nulls = _empty("B", self._rows)
        ids = self._read(name, nulls)
        string = self._report.string
        if numpy is None:
            texts = {number: string(number) for number in set(ids)}
            return [None if null else texts[number] for number, null in zip(ids, nulls)]
        unique, places = numpy.unique(ids, return_inverse=True)
        texts_of = numpy.array([string(int(number)) for number in unique] or [""], dtype=object)
        values = texts_of[places.reshape(-1)] if self._rows else numpy.empty(0, dtype=object)
        values[nulls.astype(bool)] = None
        return values

    def columns(self) -> Dict[str, Any]:
        """All of them."""
        return {name: self[name] for name in self}

    def rows(self) -> Iterator[Dict[str, Any]]:
        """One dictionary a row, NULL as None: for small tables."""
        values = {name: self[name] for name in self}
        nulls = {name: self.nulls(name) for name in self}
        for i in range(self._rows):
            yield {name: None if nulls[name][i] else _plain(values[name][i]) for name in self}

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame; numbers that are NULL are NA."""
        import pandas  # pylint: disable=import-outside-toplevel,redefined-outer-name
        frame = pandas.DataFrame(self.columns())
        for name in self:
            missing = pandas.Series(self.nulls(name)).astype(bool)
            if missing.any() and self._kind(name) not in (_TEXT, _STRING):
                kind = "Float64" if self._kind(name) == _REAL else "Int64"
                frame[name] = frame[name].astype(kind).mask(missing)
        return frame


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


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


class Report(Mapping[str, Table]):
    """A report: a mapping from the names of the tables that it has rows in to the tables."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = ctypes.c_void_p()
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        opened = self._import(path) if not self._is_ours(path) else path
        library = _library()
        if library.tacho_report_open(os.fsencode(opened), ctypes.byref(self._handle)):
            sentence = library.tacho_report_error(self._handle).decode(errors="replace")
            self.close()
            raise _native.TachoError(sentence)
        names = [library.tacho_report_table_name(self._handle, i).decode() for i in range(library.tacho_report_table_count(self._handle))]
        self._tables = {name: i for i, name in enumerate(names) if library.tacho_report_row_count(self._handle, i)}

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

    def __getitem__(self, name: str) -> Table:
        return Table(self, self._tables[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<tacho.Report {self.path}: {', '.join(self._tables)}>"

    def string(self, number: int) -> str:
        """The text with this id."""
        length = ctypes.c_size_t()
        place = _library().tacho_report_string(self._handle, number, ctypes.byref(length))
        return ctypes.string_at(place, length.value).decode("utf-8", "replace")

    def sql(self, question: str) -> List[Dict[str, Any]]:
        """What SQL over the tables answers, a dictionary a row. Columns of the same name are told apart: id, id:1."""
        return _rows(_native.run(["sql", "--format", "json", self.path, question]))

    def table(self, name: str, *options: str) -> List[Dict[str, Any]]:
        """A report of `tacho stats`, such as cuda_gpu_kern_sum, a dictionary a row."""
        return _rows(_native.run(["stats", "-q", "-r", name, "--format", "json", *options, self.path]))


def load(path: "os.PathLike[str] | str") -> Report:
    """Opens a report, or a file of another profiler: an SQLite export of nsys, a trace of torch.profiler."""
    return Report(os.fspath(path))
