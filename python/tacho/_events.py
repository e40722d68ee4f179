"""The events of a window one by one: what torch's prof.events() gives. The report torch_events lists them, under torch's names."""
from __future__ import annotations

import json
import sys
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


class Kernel(NamedTuple):
    """Work on a GPU that an operator launched. Which GPU it is, is not known here: -1."""
    name: str
    device: int
    duration: float


def device_type(is_on_device: bool) -> Any:
    """torch's DeviceType if the program has torch, else its number."""
    kinds = getattr(sys.modules.get("torch.autograd"), "DeviceType", None)
    if kinds is not None:
        return kinds.CUDA if is_on_device else kinds.CPU
    return int(is_on_device)


def time_text(microseconds: float) -> str:
    """As torch writes it."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


class Times:
    """What events and averages have in common: other names of their times, times as texts. All are in microseconds."""

    __slots__ = ()
    count: int
    is_on_device: bool
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float
    device_memory_usage: int
    self_device_memory_usage: int

    # What Tacho does not tell apart.
    node_id = -1
    scope = 0
    is_async = is_remote = is_legacy = False
    overload_name = ""
    use_device = "cuda"

    @property
    def cpu_time(self) -> float:
        """The average of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The average of a call."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def device_type(self) -> Any:
        """torch's DeviceType if the program has torch, else its number."""
        return device_type(self.is_on_device)

    # Names of older versions of torch.
    cuda_time = property(lambda self: self.device_time)
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cuda_memory_usage = property(lambda self: self.device_memory_usage)
    self_cuda_memory_usage = property(lambda self: self.self_device_memory_usage)

    cpu_time_str = property(lambda self: time_text(self.cpu_time))
    cpu_time_total_str = property(lambda self: time_text(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: time_text(self.self_cpu_time_total))
    device_time_str = cuda_time_str = property(lambda self: time_text(self.device_time))
    device_time_total_str = cuda_time_total_str = property(lambda self: time_text(self.device_time_total))
    self_device_time_total_str = self_cuda_time_total_str = property(lambda self: time_text(self.self_device_time_total))


class FunctionEvent(Times):
    """An operator, an annotation, a CUDA call or work on a GPU."""

    __slots__ = ("id", "name", "time_range", "thread", "is_on_device", "is_user_annotation", "sequence_nr", "input_shapes", "concrete_inputs",
                 "stack", "cpu_parent", "cpu_children", "kernels", "cpu_memory_usage", "device_memory_usage", "_launched_us")
    count = 1
    flops = fwd_thread = trace_name = event_metadata = None  # not known of events one by one
    device_index = -1

    def __init__(self, number: int, row: Dict[str, Any], start_ns: int) -> None:
        begin, kind = row["Start (ns)"] - start_ns, row["Kind"]
        self.id = number
        self.name: str = row["Name"]
        self.time_range = Interval(begin / 1000, (begin + row["Duration (ns)"]) / 1000)
        self.thread: int = row["TID"] or 0
        self.is_on_device = kind in ("gpu", "gpu annotation")
        self.is_user_annotation = kind in ("annotation", "gpu annotation")
        self.sequence_nr: int = -1 if row["Sequence"] == "" else row["Sequence"]
        self.input_shapes: Any = json.loads(row["Input Shapes"]) if row["Input Shapes"] else None
        self.concrete_inputs: Any = json.loads(row["Concrete Inputs"]) if row["Concrete Inputs"] else None
        self.stack: List[str] = row["Stack"].split(";") if row["Stack"] else []
        self.cpu_parent: Optional["FunctionEvent"] = None
        self.cpu_children: List["FunctionEvent"] = []
        self.kernels: List[Kernel] = []
        self.cpu_memory_usage: int = row["CPU Memory (B)"]
        self.device_memory_usage: int = row["GPU Memory (B)"]
        self._launched_us: float = (row["GPU Launched (ns)"] or 0) / 1000

    @property
    def device_resource_id(self) -> int:
        """The thread; streams are not told."""
        return self.thread

    @property
    def key(self) -> str:
        """What it is grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """From its begin to its end; work on a GPU has none."""
        return 0.0 if self.is_on_device else self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without what it has called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        """Of the work that it and all that it has called launched."""
        return self.self_device_time_total + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        """Of the work that it launched itself."""
        return self.time_range.elapsed_us() if self.is_on_device else self._launched_us

    @property
    def self_cpu_memory_usage(self) -> int:
        """Without what it has called."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:  # type: ignore[override]
        """Without what it has called."""
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.time_range.start:.3f}us + {self.time_range.elapsed_us():.3f}us thread={self.thread}>"


def _join(events: List[FunctionEvent], rows: List[Dict[str, Any]]) -> None:
    """Parents and children, operators and their work; rows name each other by numbers from 1 on."""
    for event, row in zip(events, rows):
        if row["Parent"] != "":
            event.cpu_parent = events[row["Parent"] - 1]
            event.cpu_parent.cpu_children.append(event)
        if row["Launched By"] != "":
            events[row["Launched By"] - 1].kernels.append(Kernel(event.name, -1, event.time_range.elapsed_us()))


def read(window: "Window") -> List[FunctionEvent]:
    """All of a window, by start."""
    start, _ = window.span()
    with Report(window.path) as report:
        rows = report.rows("torch_events", *window.filter())
    events = [FunctionEvent(number, row, start) for number, row in enumerate(rows, 1)]
    _join(events, rows)
    return events
