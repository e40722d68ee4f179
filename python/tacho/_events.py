"""The events of a window one by one, from the report's own tables: what torch's prof.events() gives."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional

from ._report import Report

if TYPE_CHECKING:
    from ._capture import Window


class Interval(NamedTuple):
    """Begin and end, in microseconds since the window began."""
    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


class FunctionEvent:
    """An operator, an annotation or work on a GPU."""

    __slots__ = ("name", "time_range", "thread", "is_on_device", "is_user_annotation", "sequence_nr", "input_shapes", "stack", "cpu_parent",
                 "cpu_children")
    count = 1

    def __init__(self, name: str, time_range: Interval, thread: int, category: str) -> None:
        self.name, self.time_range, self.thread = name, time_range, thread
        self.is_on_device = category in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
        self.is_user_annotation = category in ("user_annotation", "gpu_user_annotation")
        self.sequence_nr = -1
        self.input_shapes: Any = None
        self.stack: List[str] = []
        self.cpu_parent: Optional["FunctionEvent"] = None
        self.cpu_children: List["FunctionEvent"] = []

    @property
    def key(self) -> str:
        """What it is grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """In microseconds."""
        return 0.0 if self.is_on_device else self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The same without what it has called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        """In microseconds."""
        return self.time_range.elapsed_us() if self.is_on_device else 0.0

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.time_range.start:.3f}us + {self.time_range.elapsed_us():.3f}us thread={self.thread}>"


_DIMS = "(SELECT value FROM StringIds WHERE id = inputDimsId)"
_STACK = "(SELECT value FROM StringIds WHERE id = callStackId)"


def _operators(report: Report, start: int, end: int) -> List[FunctionEvent]:
    events: List[FunctionEvent] = []
    if "TACHO_TORCH_OP" not in report:
        return events
    for row in report.sql(f"SELECT start, end, globalTid & 0xffffff AS tid, (SELECT value FROM StringIds WHERE id = nameId) AS name, category, "
                          f"sequenceNumber AS number, {_DIMS} AS dims, {_STACK} AS stack FROM TACHO_TORCH_OP "
                          f"WHERE end IS NOT NULL AND start >= {start} AND start <= {end} ORDER BY start, end DESC"):
        event = FunctionEvent(row["name"], _interval(row, start), row["tid"] or 0, row["category"])
        event.sequence_nr = -1 if row["number"] is None else row["number"]
        event.input_shapes = json.loads(row["dims"]) if row["dims"] else None
        event.stack = row["stack"].split(";") if row["stack"] else []
        events.append(event)
    return events


def _interval(row: Any, start: int) -> Interval:
    return Interval((row["start"] - start) / 1000, (row["end"] - start) / 1000)


def _gpu(report: Report, start: int, end: int) -> List[FunctionEvent]:
    named = {"CUPTI_ACTIVITY_KIND_KERNEL": ("kernel", "(SELECT value FROM StringIds WHERE id = demangledName)"),
             "CUPTI_ACTIVITY_KIND_MEMCPY": ("gpu_memcpy", "'Memcpy'"), "CUPTI_ACTIVITY_KIND_MEMSET": ("gpu_memset", "'Memset'")}
    events = []
    for table, (category, name) in named.items():
        if table in report:
            for row in report.sql(f"SELECT start, end, streamId, {name} AS name FROM {table} WHERE start >= {start} AND start <= {end}"):
                events.append(FunctionEvent(row["name"], _interval(row, start), row["streamId"], category))
    return events


def _nest(events: List[FunctionEvent]) -> None:
    """Finds the parents, of events in the order of their starts."""
    stacks: Dict[int, List[FunctionEvent]] = {}
    for event in events:
        if event.is_on_device:
            continue
        stack = stacks.setdefault(event.thread, [])
        while stack and stack[-1].time_range.end < event.time_range.end:
            stack.pop()
        if stack and stack[-1].time_range.end > event.time_range.start:
            event.cpu_parent = stack[-1]
            stack[-1].cpu_children.append(event)
        stack.append(event)


def read(window: "Window") -> List[FunctionEvent]:
    """All of a window, by start."""
    start, end = window.span()
    with Report(window.path) as report:
        events = _operators(report, start, end) + _gpu(report, start, end)
    events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    _nest(events)
    return events


