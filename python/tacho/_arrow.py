"""Tables as streams of the Arrow C data interface, for pyarrow, DuckDB, Polars and others: <tacho/arrow.h> of libtacho.so.

The stream is made of C alone. A consumer may drop it while a Python exception is pending, and then nothing of Python can be called.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
from typing import Any, List

from . import _columns, _native

_TYPES = {_columns.INT: 0, _columns.REAL: 1, _columns.TEXT: 2}  # enum tacho_arrow_type
_NAME = b"arrow_array_stream"  # of the capsule, which refers to it


class _Column(ctypes.Structure):
    """struct tacho_arrow_column."""
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("values", ctypes.c_void_p), ("nulls", ctypes.c_void_p),
                ("texts", ctypes.c_char_p), ("text_offsets", ctypes.c_void_p), ("text_count", ctypes.c_size_t)]


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    library = ctypes.CDLL(_native.library())
    library.tacho_arrow_stream_new.restype = ctypes.c_void_p
    library.tacho_arrow_stream_new.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
    library.tacho_arrow_capsule_destructor.restype = ctypes.c_void_p
    library.tacho_arrow_capsule_destructor.argtypes = [ctypes.c_void_p]
    return library


@functools.lru_cache(maxsize=None)
def _new_capsule() -> Any:
    function = ctypes.pythonapi["PyCapsule_New"]  # one of our own: the attribute is shared with all that use ctypes
    function.restype, function.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return function


def _fill(struct: _Column, name: str, column: _columns.Column) -> List[Any]:
    """Sets the fields; what they point to is returned, and must live until the stream was made."""
    values, nulls = _columns.contiguous(column.values), _columns.contiguous(column.nulls)
    struct.name, struct.type = name.encode("utf-8", "replace"), _TYPES[column.kind]
    struct.values, struct.nulls = _columns.address(values), _columns.address(nulls)
    if column.texts is None:
        return [values, nulls]
    encoded = [text.encode("utf-8", "replace") for text in column.texts]
    offsets = _columns.filled("q", [0, *itertools.accumulate(map(len, encoded))])
    struct.texts, struct.text_offsets, struct.text_count = b"".join(encoded), _columns.address(offsets), len(encoded)
    return [values, nulls, offsets]


def stream_capsule(table: Any) -> Any:
    """A PyCapsule with the stream of a table, which has columns and read()."""
    library, names = _library(), table.columns
    columns = [table.read(name) for name in names]
    structs = (_Column * len(names))()
    memory = [_fill(struct, name, column) for struct, name, column in zip(structs, names, columns)]
    stream = library.tacho_arrow_stream_new(structs, len(names), len(table))
    del memory
    if not stream:
        raise MemoryError(f"not enough memory for {table.name}")
    destructor = library.tacho_arrow_capsule_destructor(ctypes.cast(ctypes.pythonapi["PyCapsule_GetPointer"], ctypes.c_void_p))
    return _new_capsule()(stream, _NAME, destructor)
