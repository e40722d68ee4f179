"""A folded group shows the work of all rows below it. For each group of each capture, at several zoom levels, the tile of the group is
compared with the events in the tables of the capture, read here by SQLite: no pixel in which something was busy is blank, every slice is
an event, and the shares of time by kind of work are those of a union that is computed here event by event."""

import collections
import os
import random
import sqlite3
import struct
import sys
import tempfile
import urllib.request

from lib import HERE, KINETO, Made, PATIENCE, Timeline, check, output, status, unpack

PIXELS = 1024
OTHER, KERNEL, COMMUNICATION, H2D, D2H, COPY, FILL, WAIT, CALL, RANGE, RUNNING = range(11)
EXACT = 128  # events of a pixel that are merged by time; of more, the shares of lanes are combined

Event = collections.namedtuple("Event", "kind start end process thread device context")

# OS calls of the captures here that wait; all others work.
WAITS = {"poll", "select", "epoll_wait", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_mutex_lock", "sem_wait", "sem_timedwait",
         "sem_clockwait", "pthread_join", "nanosleep", "usleep", "sleep", "clock_nanosleep", "accept", "accept4", "waitpid", "wait4", "pthread_rwlock_rdlock",
         "pthread_rwlock_wrlock", "pthread_barrier_wait", "sigwait", "sigtimedwait", "pause", "syscall", "ppoll", "epoll_pwait", "pthread_spin_lock", "flockfile"}
COMMUNICATES = ("nccl", "MPI_", "mpi:", "gloo:", "ucc:", "c10d:", "nvshmem", "record_param_comms")
# Tables of threads whose events are all of one kind.
PLAIN = {"CUDA_GRAPH_NODE_EVENTS": CALL, "CUDA_GRAPH_EVENTS": CALL, "PROFILER_OVERHEAD": OTHER, "TACHO_TORCH_PYTHON": RANGE, "TACHO_PYTHON_EVENT": RANGE,
         "CUBLAS_EVENTS": CALL, "CUDNN_EVENTS": CALL, "MPI_COLLECTIVES_EVENTS": COMMUNICATION, "MPI_P2P_EVENTS": COMMUNICATION, "TACHO_CUDA_JIT": CALL}
# Tables without work: waits that repeat the calls, properties, counters, and events that belong to no group.
QUIET = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "DIAGNOSTIC_EVENT", "CUDA_GPU_MEMORY_USAGE_EVENTS", "GPU_METRICS", "SCHED_EVENTS", "COMPOSITE_EVENTS", "TACHO_RANGE",
         "TACHO_TORCH_MEMORY", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "TACHO_PROCESS", "TACHO_TORCH_LINK", "TACHO_TORCH_FLOW", "TACHO_TORCH_STEP"}


def pid(global_id):
    return global_id >> 24 & 0xffffff


def tid(global_id):
    return global_id & 0xffffff


def copy_kind(number):
    return {1: H2D, 2: D2H, 11: H2D, 12: D2H}.get(number, COPY)


def range_kind(name):
    return COMMUNICATION if (name or "").startswith(COMMUNICATES) else RANGE


class Capture:
    def __init__(self, file, end):
        self.database, self.end, self.events = sqlite3.connect(file), end, []
        self.names = dict(self.database.execute("SELECT id, value FROM StringIds"))
        self.tables = {name for name, in self.database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for read in (self.gpu, self.calls, self.ranges, self.threads, self.plain):
            read()
        known = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API", "NVTX_EVENTS",
                 "TACHO_TORCH_OP", "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "CUDA_UM_GPU_PAGE_FAULT_EVENTS"} | set(PLAIN) | QUIET
        timed = {name for name in self.tables if {"start", "timestamp"} & {row[1] for row in self.database.execute(f"PRAGMA table_info('{name}')")} and
                 next(self.database.execute(f"SELECT 1 FROM [{name}]"), None)}
        check(f"tables of {file} that this test does not know", set(), timed - known)

    def rows(self, table, columns):
        if table not in self.tables:
            return []
        there = {row[1] for row in self.database.execute(f"PRAGMA table_info('{table}')")}
        wanted = ", ".join(f"[{name}]" if name in there else "NULL" for name in columns)
        return self.database.execute(f"SELECT {wanted} FROM {table}")

    def add(self, kind, start, end, process=None, thread=None, device=None, context=None):
        self.events.append(Event(kind, start, max(start, self.end if end is None else end), process, thread, device, context))

    def gpu(self):
        place = ("deviceId", "contextId")
        for start, end, device, context, name in self.rows("CUPTI_ACTIVITY_KIND_KERNEL", ("start", "end", *place, "demangledName")):
            self.add(COMMUNICATION if self.names.get(name, "").startswith("nccl") else KERNEL, start, end, device=device, context=context or 0)
        for start, end, device, context, kind in self.rows("CUPTI_ACTIVITY_KIND_MEMCPY", ("start", "end", *place, "copyKind")):
            self.add(copy_kind(kind), start, end, device=device, context=context or 0)
        for start, end, device, context in self.rows("CUPTI_ACTIVITY_KIND_MEMSET", ("start", "end", *place)):
            self.add(FILL, start, end, device=device, context=context or 0)
        for start, end, device in self.rows("CUDA_UM_GPU_PAGE_FAULT_EVENTS", ("start", "end", "deviceId")):
            self.add(OTHER, start, end, device=device)
        for start, process in self.rows("CUDA_UM_CPU_PAGE_FAULT_EVENTS", ("start", "globalPid")):
            self.add(OTHER, start, start, process=pid(process))

    def calls(self):
        for start, end, thread, name in self.rows("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "end", "globalTid", "nameId")):
            self.add(WAIT if "Synchronize" in self.names.get(name, "") else CALL, start, end, pid(thread), tid(thread))
        for start, end, thread, name in self.rows("OSRT_API", ("start", "end", "globalTid", "nameId")):
            self.add(WAIT if self.names.get(name, "") in WAITS else CALL, start, end, pid(thread), tid(thread))

    def ranges(self):
        for start, end, thread, text, name, kind in self.rows("NVTX_EVENTS", ("start", "end", "globalTid", "text", "textId", "eventType")):
            if kind in (34, 59, 60, 70, 71, 75) and thread is not None:
                self.add(range_kind(text if text is not None else self.names.get(name)), start, start if kind in (34, 75) else end, pid(thread), tid(thread))
        for start, end, thread, device, name in self.rows("TACHO_TORCH_OP", ("start", "end", "globalTid", "deviceId", "nameId")):
            if device is None and thread is not None:
                self.add(range_kind(self.names.get(name)), start, start if end is None else end, pid(thread), tid(thread))

    def threads(self):
        """A thread runs from when it is switched in to its next switch. Samples of threads that ran are moments."""
        by_thread = {}
        for start, thread, is_in in self.rows("SCHED_EVENTS", ("start", "globalTid", "isSchedIn")):
            by_thread.setdefault(thread, []).append((start, is_in))
        for thread, switches in by_thread.items():
            switches.sort(key=lambda switch: switch[0])
            for (start, is_in), (end, _) in zip(switches, switches[1:]):
                if is_in:
                    self.add(RUNNING, start, end, pid(thread), tid(thread))
        waiting = {number for number, name in self.rows("ENUM_SAMPLING_THREAD_STATE", ("id", "name")) if "WAIT" in (name or "").upper()}
        for start, thread, state in self.rows("COMPOSITE_EVENTS", ("start", "globalTid", "threadState")):
            if state not in waiting:
                self.add(RUNNING, start, start, pid(thread), tid(thread))

    def plain(self):
        for table, kind in PLAIN.items():
            for start, end, thread in self.rows(table, ("start", "end", "globalTid")):
                if thread is not None:
                    self.add(kind, start, end, pid(thread), tid(thread))


# ---- tiles ----

def tile(timeline, row, level, index):
    asked = urllib.request.Request(f"{timeline.base}api/tile?rows={row}&level={level}&index={index}", headers={"X-Tacho-Token": timeline.token})
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answered:
        data = answered.read()
    number, kind, slices, parts = struct.unpack_from("<4I", data, 8)
    check("the tile is that of a group", (b"TILE", row, 0), (data[:4], number, kind))
    check("the tile has its length", 24 + 32 * slices + 16 * parts, len(data))
    return (list(struct.iter_unpack("<ddIIBBBBI", data[24:24 + 32 * slices])), list(struct.iter_unpack("<HHIIBBBB", data[24 + 32 * slices:])))


def below(rows, group):
    """The numbers of all rows under a group."""
    found = {group["id"]}
    for row in rows:
        if row["parent"] in found:
            found.add(row["id"])
    return found - {group["id"]}


def union(spans):
    total, until = 0, None
    for start, end in sorted(spans):
        start = start if until is None else max(start, until)
        if end > start:
            total += end - start
            until = end
    return total


def pixels_of(events, begin, pixel):
    """By pixel: the spans of events in it. A moment is in its pixel."""
    found = collections.defaultdict(list)
    for start, end in events:
        first, last = max(0, (start - begin) // pixel), min(PIXELS - 1, (max(end - 1, start) - begin) // pixel)
        for at in range(first, last + 1):
            found[at].append((max(start, begin + at * pixel), min(end, begin + (at + 1) * pixel)))
    return found


def check_kind(what, events, slices, parts, begin, pixel):
    """One kind of work: the events of a group, and the slices and parts of its tile."""
    left = collections.Counter(events)
    drawn = [0] * PIXELS
    for start, end in slices:
        check(f"{what}: the slice from {start} to {end} is an event", True, left[(start, end)] > 0)
        left[(start, end)] -= 1
        for at in range(max(0, (start - begin) // pixel), min(PIXELS - 1, (max(end - 1, start) - begin) // pixel) + 1):
            drawn[at] = 1
    spans = pixels_of(left.elements(), begin, pixel)
    for first, count, events_in, busy in parts:
        inside = [spans.get(at, []) for at in range(first, first + count)]
        exact = sum(union(one) for one in inside) / (count * pixel)
        rough = max(len(one) for one in inside) > EXACT
        if abs(busy / 255 - exact) > (0.15 if rough else 0.51 / 255):
            check(f"{what}: the share of pixels {first} to {first + count - 1}", exact * 255, busy)
        check(f"{what}: pixels {first} to {first + count - 1} have events", (True, True), (any(inside), events_in > 0))
        for at in range(first, first + count):
            drawn[at] = 1
    blank = [at for at in range(PIXELS) if not drawn[at] and (spans.get(at))]
    check(f"{what}: blank pixels in which something was busy", [], blank)


def check_tile(what, timeline, group, events, level, index):
    begin, pixel = index * PIXELS << level, 1 << level
    end = begin + PIXELS * pixel
    slices, parts = tile(timeline, group["id"], level, index)
    inside = collections.defaultdict(list)
    for event in events:
        if event.start < end and (event.end > begin or event.start >= begin):
            inside[event.kind].append((event.start, event.end))
    for kind in sorted(set(inside) | {one[5] for one in slices} | {one[5] for one in parts}):
        check_kind(f"{what}, level {level}, index {index}, kind {kind}", inside[kind], [(int(one[0]), int(one[1])) for one in slices if one[5] == kind],
                   [(one[0], one[1], one[2], one[7]) for one in parts if one[5] == kind], begin, pixel)
    return len(slices), len(parts)


def places(about):
    """The whole, and ever smaller stretches around the first view's middle and some other moments."""
    length, focus = about["to"] - about["from"], about["focus"]
    whole = max(0, (max(1, length) // PIXELS).bit_length())
    for index in range(about["from"] // (PIXELS << whole), about["to"] // (PIXELS << whole) + 1):
        yield whole, index
    for part, moment in ((2, (focus["from"] + focus["to"]) // 2), (5, focus["from"] + (focus["to"] - focus["from"]) // 3), (9, (focus["from"] + focus["to"]) // 2), (14, focus["to"] - 1)):
        level = max(0, whole - part)
        yield level, moment // (PIXELS << level)


def events_of(group, capture, origin, processes):
    """The events of a group: of a GPU, a process or a thread. Those of a job are of all processes."""
    chosen = {"gpu": lambda event: event.device == group.get("device"),
              "context": lambda event: event.device == group.get("device") and event.context == int(group["label"].split()[-1]),
              "process": lambda event: event.process == group.get("pid"),
              "thread": lambda event: event.thread == group.get("tid") and event.process == group.get("pid"),
              "cpus": lambda event: event.kind == RUNNING and event.end > event.start}[group["type"]]
    return [event._replace(start=event.start - origin, end=event.end - origin) for event in capture.events if chosen(event)]


def check_capture(name, file, tables):
    totals = collections.Counter()
    with Timeline(file) as timeline:
        about, rows = timeline.ask("about"), timeline.ask("rows")["rows"]
        origin = int(about["origin"])
        capture = Capture(tables, origin + about["to"])
        groups = [row for row in rows if row["kind"] == "group"]
        check(f"{name} has groups", True, len(groups) > 1)
        for group in groups:
            events = events_of(group, capture, origin, about["processes"])
            kinds = {event.kind for event in events}
            check(f"{name}: kinds of {group['label']}", sorted(kinds), group["kinds"])
            inside = below(rows, group)
            for level, index in places(about):
                slices, parts = check_tile(f"{name}: {group['type']} {group['label']}", timeline, group, events, level, index)
                totals.update(slices=slices, parts=parts)
            nearest(timeline, group, events, inside)
    check(f"{name}: slices and parts to compare", True, totals["slices"] > 20 and totals["parts"] > 20)


def nearest(timeline, group, events, inside):
    """The event at a place of a folded group is one of the rows below it."""
    lanes = {KERNEL: 0, COMMUNICATION: 1, H2D: 2, D2H: 2, COPY: 2, FILL: 2, WAIT: 3, CALL: 3, RANGE: 3, OTHER: 3, RUNNING: 4}
    for event in events[:: max(1, len(events) // 5)]:
        found = timeline.ask("at", row=group["id"], time=event.start, lane=lanes[event.kind], slack=0)
        check(f"there is an event at {event.start} of {group['label']}", True, found is not None and found["row"] in inside and found["from"] <= event.start <= found["to"])


def made(file):
    """Streams and threads side by side, with events of all lengths: more than the captures here have at once."""
    numbers, report = random.Random(19), Made(file)
    process = 7 << 24
    names = [report.text(name) for name in ("gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel", "cudaStreamSynchronize", "step")]
    for stream in range(9):
        time = 1000
        for _ in range(700):
            time += int(numbers.expovariate(1 / 2000)) + 1
            length = int(2 ** numbers.uniform(3, 14))
            kind = numbers.randrange(4)
            place = dict(start=time, end=time + length, deviceId=0, contextId=1, streamId=stream, globalPid=process, correlationId=0)
            if kind < 2:
                report.add("CUPTI_ACTIVITY_KIND_KERNEL", **place, demangledName=names[kind], shortName=names[kind])
            elif kind == 2:
                report.add("CUPTI_ACTIVITY_KIND_MEMCPY", **place, copyKind=numbers.choice((1, 2, 8)), bytes=1, srcKind=0, dstKind=0)
            else:
                report.add("CUPTI_ACTIVITY_KIND_MEMSET", **place, bytes=1, value=0, memKind=0)
            time += length
    for thread in range(40):
        time = 500
        for _ in range(300):
            time += int(numbers.expovariate(1 / 9000)) + 1
            length = int(2 ** numbers.uniform(0, 15))
            owner = process | (thread + 7)
            report.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=time, end=time + length, nameId=names[numbers.randrange(2, 4)], globalTid=owner, correlationId=0, returnValue=0, eventClass=0)
            report.add("NVTX_EVENTS", start=time - 3, end=time + length + 5, eventType=59, textId=names[4], globalTid=owner, domainId=0)
            time += length + 9
    report.write()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("mix", "resnet18", "wait_stream"):
            unpack(os.path.join(HERE, "nsys", f"{name}.sqlite.gz"), f"{name}.sqlite")
            check_capture(name, f"{name}.sqlite", f"{name}.sqlite")
        for name in ("train", "infer", "stacks", "listed", "flops"):
            output("export", "--type", "sqlite", "-o", f"{name}.tables.sqlite", os.path.join(KINETO, f"{name}.json.gz"))
            check_capture(name, os.path.join(KINETO, f"{name}.json.gz"), f"{name}.tables.sqlite")
        made("made.sqlite")
        check_capture("made", "made.sqlite", "made.sqlite")
        os.chdir("/")
    return status()


if __name__ == "__main__":
    sys.exit(main())
