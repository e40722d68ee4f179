"""The files of torch's export_memory_timeline(): what was in use of a device's memory, by time.

torch tells parameters, gradients, activations and so on apart, by what its operators did with each tensor. Tacho knows when memory was
taken and given back, and how much: all of it stands where torch has what it could not tell ("Unknown").
"""
from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Tuple

from ._report import Report

if TYPE_CHECKING:
    from ._capture import Window

PREEXISTING, CREATE, DESTROY = 0, 1, 3  # as torch numbers what happens to a tensor; 2: it is written to, which is not known here
UNKNOWN, CATEGORIES = 7, 8
_DEVICES = {"cpu": 0, "cuda": 1, "xpu": 12}  # torch's DeviceType


class Change(NamedTuple):
    """Memory that was taken or given back. -1: before the window."""
    time_ns: int
    action: int
    bytes: int


def _of_device(report: Report, window: "Window", device: str) -> List[Tuple[int, int, int]]:
    """Time, address, bytes."""
    kind, _, index = device.partition(":")
    if kind not in _DEVICES:
        raise ValueError(f"device must be cpu, cuda or cuda:N, not {device}")
    start, end = window.span()
    pid, table = window.pid_in_report(), report["TACHO_TORCH_MEMORY"]
    names = ("timestamp", "globalTid", "event", "deviceType", "deviceId", "address", "bytes")
    return [(int(time), int(address), int(size))
            for time, thread, event, of, number, address, size in zip(*(table[name] for name in names))
            if start <= time <= end and event == "[memory]" and of == _DEVICES[kind] and (kind == "cpu" or number == int(index or 0))
            and (pid is None or int(thread) >> 24 & 0xffffff == pid)]


def changes(window: "Window", device: str) -> List[Change]:
    """By time. What is given back though nobody took it was there before."""
    with Report(window.path) as report:
        if "TACHO_TORCH_MEMORY" not in report:
            return []
        rows = sorted(_of_device(report, window, device))
        clock = report["TACHO_CLOCK"]
        to_utc = int(clock["utcNs"][0]) - int(clock["timestamp"][0])
    in_use: Dict[int, int] = {}
    before, found = [], []
    for time_ns, address, size in rows:
        if size > 0:
            in_use[address] = size
        elif in_use.pop(address, 0) == 0:
            before.append(Change(-1, PREEXISTING, -size))
        found.append(Change(time_ns + to_utc, CREATE if size > 0 else DESTROY, size))
    return before + found


def plot(events: List[Change]) -> Tuple[List[int], List[List[int]]]:
    """Times in microseconds, and for each a 0 and how much of each category is in use then."""
    times: List[int] = []
    in_use: List[int] = []
    first = next((event.time_ns // 1000 for event in events if event.time_ns >= 0), -1)
    for event in events:
        time_us = event.time_ns // 1000 if event.time_ns >= 0 else first
        if not times or time_us != times[-1]:
            times.append(time_us)
            in_use.append(in_use[-1] if in_use else 0)
        in_use[-1] += event.bytes
    return times, [[0] * (UNKNOWN + 1) + [size] + [0] * (CATEGORIES - UNKNOWN - 1) for size in in_use]


def _page(times: List[int], sizes: List[List[int]], device: str) -> str:
    """One page with the curve, as steps."""
    width, height = 1200, 500
    totals = [sum(row) for row in sizes] or [0]
    most, span = max(max(totals), 1), max(times[-1] - times[0], 1) if times else 1
    steps: List[str] = []
    for time_us, total in zip(times, totals):
        steps.append(f"H{(time_us - times[0]) * width / span:.1f}V{height - total * height / most:.1f}")
    return (f'<html><head><meta charset="utf-8" /><title>Memory of {device}</title></head><body style="font-family: sans-serif">'
            f"<p>Memory of {device}: {max(totals) / 1024 ** 2:.2f} MiB at most, over {span / 1000:.3f} ms</p>"
            f'<svg width="{width}" height="{height}" style="border: 1px solid"><path fill="#8ad" stroke="#246" '
            f'd="M0 {height}{"".join(steps)}H{width}V{height}Z"/></svg></body></html>\n')


def export(window: "Window", path: str, device: str) -> None:
    """By the end of the name: .html, .raw.json.gz, .json.gz, and else JSON."""
    events = changes(window, device)
    if path.endswith(".html"):
        text = _page(*plot(events), device)
    else:
        text = json.dumps([[*event, UNKNOWN] for event in events] if path.endswith("raw.json.gz") else plot(events))
    with gzip.open(path, "wt", encoding="utf-8") if path.endswith(".gz") else open(path, "w", encoding="utf-8") as file:
        file.write(text)
