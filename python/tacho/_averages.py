"""The table of key_averages(): `tacho ops` makes it, and its rows have torch's names here."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, overload

from . import _html, _native
from ._events import Times

# Columns of `tacho ops --format json`, and torch's names for them.
_SUMMED = {"count": "count", "cpu_total_us": "cpu_time_total", "self_cpu_us": "self_cpu_time_total", "device_total_us": "device_time_total",
           "self_device_us": "self_device_time_total", "cpu_mem": "cpu_memory_usage", "self_cpu_mem": "self_cpu_memory_usage",
           "device_mem": "device_memory_usage", "self_device_mem": "self_device_memory_usage"}


class FunctionEventAvg(Times):
    """One row: an operator, a CUDA call or a kernel, over all its calls. Times are in microseconds."""

    cpu_parent = None
    cpu_memory_usage: int
    self_cpu_memory_usage: int

    def __init__(self, row: Dict[str, Any]) -> None:
        self.key: str = row["key"]
        for column, name in _SUMMED.items():
            setattr(self, name, row[column])
        self.is_on_device = bool(row.get("on_device"))
        self.is_user_annotation = bool(row.get("is_user_annotation"))
        self.flops: int = row.get("flops") or 0
        self.input_shapes: Any = _decoded(row.get("input_shapes"))
        self.stack: List[str] = _decoded(row.get("stack")) or []
        self.cpu_children: List[Any] = []

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    def add(self, other: Any) -> "FunctionEventAvg":
        """Takes another row, or an event, into this one."""
        for name in _SUMMED.values():
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us cpu_time={self.cpu_time:.3f}us "
                f" self_cuda_time={self.self_device_time_total:.3f}us cuda_time={self.device_time:.3f}us "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage={self.device_memory_usage}>")


def _decoded(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


class KeyAverages(Sequence[FunctionEventAvg]):
    """All rows, read when they are first looked at."""

    def __init__(self, path: str, options: List[str]) -> None:
        self._path, self._options = path, options
        self._rows: Optional[List[FunctionEventAvg]] = None

    def _all(self) -> List[FunctionEventAvg]:
        if self._rows is None:
            text = _native.run(["ops", "--format", "json", "--sort-by", "none", *self._options, self._path])
            self._rows = [FunctionEventAvg(row) for row in json.loads(text)]
        return self._rows

    @overload
    def __getitem__(self, index: int) -> FunctionEventAvg: ...
    @overload
    def __getitem__(self, index: slice) -> List[FunctionEventAvg]: ...

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[FunctionEventAvg]:
        return iter(self._all())

    def sort(self, *, key: Callable[[FunctionEventAvg], Any], reverse: bool = False) -> None:
        """As list.sort()."""
        self._all().sort(key=key, reverse=reverse)

    @property
    def self_cpu_time_total(self) -> float:
        """Of all rows together, in microseconds."""
        return sum(row.self_cpu_time_total for row in self)

    def total_average(self) -> FunctionEventAvg:
        """All rows as one."""
        total = FunctionEventAvg(dict(dict.fromkeys(_SUMMED, 0), key="Total"))
        for row in self:
            total.add(row)
        return total

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
              max_shapes_column_width: int = 80, header: Optional[str] = None, top_level_events_only: bool = False,
              time_unit: Optional[str] = None) -> str:
        """The text that torch prints; of a capture without operators there is none."""
        if time_unit is not None:
            _native.say_once("table(time_unit=…) has no effect: each time has the unit that suits it")
        options = ["--row-limit", str(row_limit), "--max-src-column-width", str(max_src_column_width),
                   "--max-name-column-width", str(max_name_column_width), "--max-shapes-column-width", str(max_shapes_column_width)]
        options += ["--sort-by", sort_by or "none"]
        if top_level_events_only:
            options += ["--top-level-events-only"]
        try:
            text = _native.run(["ops", *options, *self._options, self._path])
        except _native.TachoError:
            if self:
                raise
            return ""
        if header is None:
            return text
        width = len(text.split("\n", 1)[0].rstrip())
        return "=" * width + "\n" + header + "\n" + text

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        has_device = any(row.self_device_time_total for row in self)
        by = "self_device_time_total" if has_device else "self_cpu_time_total"
        total = sum(getattr(row, by) for row in self) or 1
        shown = sorted(self, key=lambda row: getattr(row, by), reverse=True)[:_html.ROWS]
        device = ["Self device µs", "Device µs"] if has_device else []
        rows = [[row.key, round(100 * getattr(row, by) / total, 1), *[round(time, 1) for time in (
            [row.self_device_time_total, row.device_time_total] if has_device else []) + [row.self_cpu_time_total, row.cpu_time_total, row.cpu_time]], row.count]
                for row in shown]
        return _html.table(["Name", "Self %", *device, "Self CPU µs", "CPU µs", "CPU µs per call", "Calls"], rows, len(self))

