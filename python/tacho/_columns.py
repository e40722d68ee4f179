"""Columns: the values of one column of a table in memory, as NumPy's arrays, or those of the array module where there is no NumPy.

A text column holds each different text once and an index for each row. NULL is 1 in a mask, and 0 among numbers and indices.
"""
from __future__ import annotations

import array
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

INT, REAL, TEXT = "int", "real", "text"


def address(values: Any) -> int:
    """Where an array of empty() is in memory."""
    return int(values.ctypes.data) if numpy is not None else int(values.buffer_info()[0])


def empty(code: str, count: int) -> Any:
    """An array of so many values: of code q (int64), d (float64), i (int32) or B (uint8)."""
    if numpy is not None:
        return numpy.empty(count, dtype=code)
    return array.array(code, bytes(count * array.array(code).itemsize))


def filled(code: str, values: Sequence[Any]) -> Any:
    """An array of these values."""
    return numpy.array(values, dtype=code) if numpy is not None else array.array(code, values)


def contiguous(values: Any) -> Any:
    """The same values one behind the other."""
    return numpy.ascontiguousarray(values) if numpy is not None else values


class Column(NamedTuple):
    """Some rows of a column."""
    kind: str                          # INT, REAL or TEXT
    values: Any                        # numbers; of TEXT the indices of texts
    nulls: Any                         # 1 for each row that is NULL
    texts: Optional[List[str]] = None  # of TEXT

    def array(self) -> Any:
        """The values as a user gets them: numbers, with 0 for NULL, or texts, with None for NULL."""
        if self.texts is None:
            return self.values
        if numpy is None:
            return [None if null else self.texts[index] for index, null in zip(self.values, self.nulls)]
        found = numpy.array(self.texts or [""], dtype=object)[self.values]
        found[self.nulls.astype(bool)] = None
        return found

    def has_nulls(self) -> bool:
        """Whether any row is NULL."""
        return bool(self.nulls.any()) if numpy is not None else 1 in self.nulls

    def objects(self) -> List[Any]:
        """The values as Python's own objects, None for NULL."""
        values = self.array()
        plain = values.tolist() if hasattr(values, "tolist") else list(values)
        return [None if null else value for value, null in zip(plain, self.nulls)]


Reader = Callable[[int, int], Column]  # (first row, number of rows)


def of_ids(ids: Any, nulls: Any, text_of: Callable[[int], str]) -> Column:
    """A text column from ids, each of which stands for a text."""
    if numpy is not None:
        unique, places = numpy.unique(ids, return_inverse=True)
        return Column(TEXT, places.reshape(-1).astype("i"), nulls, [text_of(int(number)) for number in unique])
    numbers = {number: index for index, number in enumerate(sorted(set(ids)))}
    return Column(TEXT, array.array("i", [numbers[number] for number in ids]), nulls, [text_of(number) for number in numbers])


def of_objects(values: Sequence[Any]) -> Column:
    """A column of Python's objects: numbers if all are, else texts. An empty text among numbers is NULL: a cell that tacho stats left empty."""
    if any(isinstance(value, (int, float)) for value in values) and not any(isinstance(value, str) and value for value in values):
        values = [None if value == "" else value for value in values]
    known = [value for value in values if value is not None]
    nulls = filled("B", [value is None for value in values])
    if any(isinstance(value, str) for value in known):
        texts = ["" if value is None else str(value) for value in values]
        numbers = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        return Column(TEXT, filled("i", [numbers[text] for text in texts]), nulls, list(numbers))
    kind, code = (REAL, "d") if any(isinstance(value, float) for value in known) else (INT, "q")
    return Column(kind, filled(code, [0 if value is None else value for value in values]), nulls)


def reader_of(column: Column) -> Reader:
    """A reader of a column that is in memory."""
    def read(first: int, count: int) -> Column:
        return column._replace(values=column.values[first:first + count], nulls=column.nulls[first:first + count])
    return read
