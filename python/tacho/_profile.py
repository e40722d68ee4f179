"""tacho.profile: torch.profiler.profile over a capture of Tacho's. autograd_profile is the older torch.autograd.profiler.profile.

Signatures and behaviour are torch's, so that both can stand in its place; what the words mean is said in its documentation. Versions of
torch differ in their keywords: what another one has is taken without an effect.
"""
from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
import time
import uuid
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, List, Optional, Type

from . import _agent, _capture, _events, _html, _memory, _native
from ._averages import FunctionEventAvg, KeyAverages
from ._capture import Window
from ._marks import record_function
from ._schedule import ProfilerAction, always, as_action

_METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total")
_OF_PROGRAM = re.compile(r"  (\d+ process(es)? still runs?|report:|next:)|$")
_WRAPPED = "    "  # begins the second line of a sentence
_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def _lines_of_window(lines: List[str]) -> List[str]:
    """Those of `tacho summary` that are about a window. The first ones say how the program ended, the last ones what to type and how large the
    report of the window would be."""
    kept, is_dropped = [], True
    for line in lines[1:]:
        if not line.startswith(_WRAPPED):
            is_dropped = bool(_OF_PROGRAM.match(line))
        if not is_dropped:
            kept.append(line)
    return kept


def _has_cuda() -> bool:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(cuda is not None and cuda.is_available())


def supported_activities() -> "set[str]":
    """Names of what can be recorded here."""
    return {"CPU", "CUDA"} if _has_cuda() else {"CPU"}


class Recorded:
    """What was recorded in one window, and what can be asked of it."""

    execution_trace_observer: Any = None  # torch's own, which writes its file itself
    custom_trace_id_callback: Optional[Callable[[], str]] = None

    def __init__(self, wanted: int, flops: bool, output: "os.PathLike[str] | str | None" = None) -> None:
        self._wanted, self._flops, self._output = wanted, flops, output
        self._file: Optional[str] = None  # that output stands for, from the first window on
        self._is_kept = False             # the windows are in it
        self._windows: List[Window] = []
        self._window: Optional[Window] = None  # the last one
        if output is not None:
            _capture.report_file(output)  # refuses it now, if it does, and not in the middle of a schedule
        self._metadata: Dict[str, str] = {}
        self._trace_id: Optional[str] = None

    def _begin(self) -> None:
        self._trace_id = self.custom_trace_id_callback() if self.custom_trace_id_callback else uuid.uuid4().hex.upper()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        if self._output is not None and self._file is None:
            self._file = _capture.report_file(self._output, take=True)
        self._window = Window(self._wanted, self._file)
        self._windows.append(self._window)

    def _end(self) -> None:
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        if self._window is not None:
            self._window.stop()

    def _keep(self) -> None:
        """Writes output, unless the capture itself does: one that had begun before has another report."""
        window = self._window
        if self._file is not None and window is not None and window.pid == os.getpid() and window.path != self._file:
            _capture.export(self._windows, self._file)
            self._is_kept = True

    def _done(self) -> Window:
        if self._window is None:
            raise _native.TachoError("nothing has been recorded yet: start the profiler, or step() until its schedule reaches an active step")
        return self._window

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False, include_python_functions: bool = False, group_by_input_shapes: bool = False,
                     **_: Any) -> KeyAverages:
        """Operators, calls and kernels by name: rows, and .table(). Lists of events say group_by_input_shapes."""
        if include_python_functions:
            _native.say_once("key_averages(include_python_functions=True) has no effect: Python functions have no rows")
        if group_by_overload_name:
            _native.say_once("key_averages(group_by_overload_name=True) has no effect: overloads of an operator are one row")
        window = self._done()
        options = window.filter()
        if group_by_input_shape or group_by_input_shapes:
            options += ["--group-by-input-shape"]
        if group_by_stack_n > 0:
            options += ["--group-by-stack", str(group_by_stack_n)]
        if self._flops:
            options += ["--with-flops"]
        return KeyAverages(window.path, options)

    def table(self, *arguments: Any, **keywords: Any) -> str:
        """key_averages().table(), as the older profiler has it."""
        return self.key_averages().table(*arguments, **keywords)

    def total_average(self) -> FunctionEventAvg:
        """All rows as one."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Of all rows together, in microseconds."""
        return self.key_averages().self_cpu_time_total

    def events(self) -> "EventList":
        """Every operator, annotation, CUDA call and kernel, in order of time."""
        return EventList(self, _events.read(self._done()))

    @property
    def function_events(self) -> "EventList":
        """events(), as the older profiler has it."""
        return self.events()

    @property
    def profiler(self) -> Optional["Recorded"]:
        """What scripts look at to see whether there is anything yet."""
        return self if self._window is not None else None

    def report(self) -> str:
        """The path of the report, for other commands of tacho: output, if that was asked for and the profiler was stopped."""
        window = self._done()
        return self._file if self._is_kept and self._file is not None else window.path

    def summary(self) -> str:
        """The text of `tacho summary` for the window: where its time went."""
        window = self._done()
        with tempfile.TemporaryDirectory(prefix="tacho-") as folder:
            path = os.path.join(folder, "window.tacho")
            _capture.export([window], path)
            lines = _native.run(["summary", path]).splitlines()
        start, end = window.span()
        kept = _lines_of_window(lines)
        return "\n".join([f"tacho: {(end - start) / 1e9:.3g} s recorded in process {window.pid}", *kept, f"  report: {self.report()}", ""])

    def _repr_html_(self) -> str:
        if self._window is None or self._window.is_open:
            return _html.lines(repr(self))
        rows = self.key_averages()
        return _html.lines(self.summary()) + (rows._repr_html_() if rows else "")

    def _export(self, path: str, kind: str, *options: str) -> None:
        window = self._done()
        _native.run(["export", "--type", kind, *options, *window.filter("--times"), "-o", path, "-f", "true", "-q", window.path])

    def export_chrome_trace(self, path: str, **_: Any) -> None:
        """The trace that torch writes, packed where its name ends in .gz."""
        members = ", ".join(f"{json.dumps(key)}: {json.dumps(json.loads(value))}" for key, value in self._metadata.items())
        self._export(path, "chrome", "--metadata", "{" + members + "}")

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Stacks and their time, for flame graphs."""
        if metric not in _METRICS:
            raise ValueError(f"metric must be self_cpu_time_total or self_cuda_time_total, not {metric}")
        self._export(path, "stacks", "--metric", metric.replace("device", "cuda"))

    def export_html(self, path: str, max_size: Optional[str] = None) -> None:
        """The timeline in one file that opens in any browser; of at most that size ("25MB"), with an overview of what is left out."""
        self._export(path, "html", *(["--max-size", max_size] if max_size else []))

    def timeline(self, height: int = 500, max_size: str = "8MB") -> _html.Timeline:
        """The timeline for a notebook, which keeps it: at most so large, with an overview of what is left out."""
        window = self._done()
        return _html.timeline_of(["--max-size", max_size, *window.filter("--times"), window.path], height)

    def export_memory_timeline(self, path: str, device: Optional[str] = None) -> None:
        """What was in use of a device's memory by time (profile_memory=True): .html, .json, .json.gz or .raw.json.gz. What the memory was for
        is not told apart, and is torch's "Unknown"."""
        if not self._wanted & _agent.MEMORY:
            raise ValueError("no memory events were recorded: use profile(profile_memory=True)")
        _memory.export(self._done(), path, device or ("cuda:0" if _has_cuda() else "cpu"))

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Switches a part of the recording within a window off and on: all, where the CPU is among it, or what is of CUDA."""
        names = {getattr(activity, "name", activity) for activity in activities}
        if self._window is None or not self._window.is_open:
            return
        if "CPU" in names:
            (self._window.agent.start if enable else self._window.agent.stop)()
        elif "CUDA" in names:
            self._window.want(_agent.CUDA, enable)

    def get_trace_id(self) -> Optional[str]:
        """Of the window that began last."""
        return self._trace_id

    trace_id = property(get_trace_id)

    def add_metadata(self, key: str, value: str) -> None:
        """A text that stands in the trace of export_chrome_trace()."""
        self._metadata[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same of a value that is JSON."""
        self._metadata[key] = value

    preset_metadata_json = add_metadata_json


class EventList(List[_events.FunctionEvent]):
    """Events, and the tables of all of them."""

    def __init__(self, recorded: Recorded, events: Iterable[_events.FunctionEvent]) -> None:
        super().__init__(events)
        self.key_averages, self.table, self.total_average = recorded.key_averages, recorded.table, recorded.total_average
        self.export_chrome_trace, self.export_stacks = recorded.export_chrome_trace, recorded.export_stacks
        self._recorded = recorded

    @property
    def self_cpu_time_total(self) -> float:
        """Of all of them together, in microseconds."""
        return self._recorded.self_cpu_time_total

    @staticmethod
    def supported_export_stacks_metrics() -> List[str]:
        """What export_stacks() can weigh stacks with."""
        return list(_METRICS)


def _wanted(cuda: bool, shapes: bool, memory: bool, stacks: bool, modules: bool) -> int:
    return (_agent.CUDA * cuda) | (_agent.SHAPES * shapes) | (_agent.MEMORY * memory) | (_agent.STACKS * stacks) | (_agent.MODULES * modules)


_NO_EFFECT = {"acc_events": "profile(acc_events=True) has no effect: tables and events are those of the last window; all are in the report",
              "use_cpu": "profile(use_cpu=False) has no effect: operators are recorded too"}


def _say_what_has_no_effect(**asked: bool) -> None:
    for name, is_asked in asked.items():
        if is_asked:
            _native.say_once(_NO_EFFECT[name])


def _names_cuda(activities: Optional[Iterable[Any]]) -> bool:
    if activities is None:
        return _has_cuda() or "torch" not in sys.modules  # it may come later
    return any(getattr(activity, "name", activity) == "CUDA" for activity in activities)


class profile(Recorded):  # pylint: disable=invalid-name
    """torch.profiler.profile."""

    def __init__(self, *, activities: Optional[Iterable[Any]] = None, schedule: Optional[Callable[[int], Any]] = None,
                 on_trace_ready: Optional[Callable[..., Any]] = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: Optional[bool] = None,
                 custom_trace_id_callback: Any = None, post_processing_timeout_s: Optional[float] = None,
                 output: "os.PathLike[str] | str | None" = None, **_: Any) -> None:
        cuda = _names_cuda(activities) if use_cuda is None else use_cuda
        super().__init__(_wanted(cuda, record_shapes or with_flops, profile_memory, with_stack, with_stack or with_modules), with_flops, output)
        _say_what_has_no_effect(acc_events=acc_events)
        self.activities = set(activities) if activities is not None else set()
        self.use_device = "cuda" if cuda and _has_cuda() else None
        self.experimental_config, self.acc_events = experimental_config, acc_events
        self.execution_trace_observer, self.custom_trace_id_callback = execution_trace_observer, custom_trace_id_callback
        self.schedule: Callable[[int], Any] = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = as_action(self.schedule(0))
        self._step: Optional[record_function] = None
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        try:
            self.stop()
        except _native.TachoError as error:
            if kind is None:
                raise
            _native.say_once(str(error))  # the program's own exception goes on

    def start(self) -> None:
        """Begins with step 0."""
        self._go_over(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """Ends the last step; a window that is open is done."""
        self._end_step()
        self._go_over(self.current_action, None)
        self._keep()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    def step(self) -> None:
        """One step ends, the next begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = as_action(self.schedule(self.step_num))
        self._go_over(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _go_over(self, before: ProfilerAction, after: Optional[ProfilerAction]) -> None:
        """From one step's action to the next one's; None is the end."""
        is_open = before in _RECORDS
        if is_open and (before == ProfilerAction.RECORD_AND_SAVE or after not in _RECORDS):
            self._end()
            is_open = False
            if (before == ProfilerAction.RECORD_AND_SAVE or after is None) and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if after in _RECORDS and not is_open:
            self._begin()

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Windows that begin later are called what it returns."""
        self.custom_trace_id_callback = callback

    def prepare_trace(self) -> None:
        """There is nothing to prepare."""

    def start_trace(self) -> None:
        """Records from now on, without steps."""
        self._begin()

    def stop_trace(self) -> None:
        """Until now."""
        self._end()
        self._keep()

    def wait_for_exports(self) -> None:
        """They are done when they return."""

    def take_pending_cuspy_export(self) -> None:
        """None are pending."""


class autograd_profile(Recorded):  # pylint: disable=invalid-name
    """torch.autograd.profiler.profile."""

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: Optional[str] = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = True, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Any = None, post_processing_timeout_s: Optional[float] = None, **_: Any) -> None:
        super().__init__(_wanted(use_cuda or use_device == "cuda", record_shapes or with_flops, profile_memory, with_stack,
                                 with_stack or with_modules), with_flops)
        _say_what_has_no_effect(acc_events=acc_events, use_cpu=not use_cpu)
        self.custom_trace_id_callback = custom_trace_id_callback
        self.use_device = "cuda" if use_cuda else use_device
        self.enabled = enabled
        self.entered = False
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack

    def __enter__(self) -> Optional["autograd_profile"]:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("a profiler can be entered only once")
        self.entered = True
        self._begin()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if self.enabled:
            self._end()

    def __repr__(self) -> str:
        return repr(self.events()) if self._window is not None else "<unfinished tacho.autograd_profile>"

    def __str__(self) -> str:
        return self.table() if self._window is not None else repr(self)


def tensorboard_trace_handler(dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False) -> Callable[[Recorded], None]:
    """For on_trace_ready: each trace a file of its own, where TensorBoard looks for it."""
    os.makedirs(dir_name, exist_ok=True)
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handler(profiler: Recorded) -> None:
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json" + ".gz" * use_gzip))

    return handler


__all__: List[str] = ["profile", "autograd_profile", "tensorboard_trace_handler", "supported_activities"]
