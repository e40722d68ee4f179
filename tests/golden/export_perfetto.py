"""Perfetto's own format (export --type perfetto), taken apart by a small decoder and put together as a reader does: packets in order of
time, an end closes the innermost span of its track. Spans, moments, curves of memory and arrows are those of the trace itself."""

import gzip
import json
import os
import sqlite3
import struct
import sys
import tempfile
from collections import Counter, defaultdict

import lib
from lib import HERE, KINETO, check, ns


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data):
    """A message: its fields by number, each a list of numbers or bytes."""
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = number(data, at)
        if key & 7 == 0:
            value, at = number(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif key & 7 == 2:
            length, at = number(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field is longer than its message")
        else:
            raise ValueError(f"wire type {key & 7}")
        found[key >> 3].append(value)
    return found


def only(found, field, default=None):
    return found[field][0] if field in found else default


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Trace:
    def __init__(self, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            packets = [fields(p) for p in fields(file.read())[1]]
        self.tracks, self.names, self.clocks = {}, defaultdict(dict), {}
        events = []
        for packet in packets:  # in the order of the file: a number has a meaning from here on
            if 6 in packet:
                self.clocks = {only(c, 1): only(c, 2) for c in map(fields, fields(packet[6][0])[1])}
            if 60 in packet:
                track = fields(packet[60][0])
                self.tracks[only(track, 1)] = track
            if 12 in packet:
                for field, entries in fields(packet[12][0]).items():
                    for entry in map(fields, entries):
                        self.names[field][only(entry, 1)] = only(entry, 2).decode("utf-8", "strict")
            if 11 in packet:
                event = fields(packet[11][0])
                events.append((only(packet, 8), event, self.names[2].get(only(event, 10)), self.names[1].get(only(event, 3)), self.args(event)))
        self.spans, self.moments, self.counters, self.flows = [], [], defaultdict(list), defaultdict(set)
        open_spans = defaultdict(list)
        for time, event, name, category, args in sorted(events, key=lambda e: e[0]):
            kind, track = only(event, 9), only(event, 11)
            place = self.place(track)
            for flow in event[47]:
                self.flows[flow].add((*place, time))
            if kind == 1:
                open_spans[track].append((time, name, category, args))
            elif kind == 2:
                start, name, category, args = open_spans[track].pop()
                self.spans.append((category, name, *place, start, time - start, args))
            elif kind == 3:
                self.moments.append((name, *place, time))
            elif kind == 4:
                real = struct.unpack("<d", struct.pack("<Q", only(event, 44)))[0] if 44 in event else signed(only(event, 30))
                self.counters[only(self.tracks[track], 2).decode()].append((time, real))
                check("a track of values is a counter", True, 8 in self.tracks[track])
        check(f"{path}: spans without an end", 0, sum(map(len, open_spans.values())))

    def args(self, event):
        args = {}
        for annotation in map(fields, event[4]):
            name = self.names[3][only(annotation, 1)]
            if 4 in annotation:
                args[name] = signed(only(annotation, 4))
            elif 5 in annotation:
                args[name] = struct.unpack("<d", struct.pack("<Q", only(annotation, 5)))[0]
            elif 17 in annotation:
                args[name] = self.names[29][only(annotation, 17)]
            elif 12 in annotation:
                args[name] = [signed(only(fields(a), 4)) for a in annotation[12]]
            else:
                value = json.loads(only(annotation, 9).decode("utf-8", "strict"))
                args.update(value if isinstance(value, dict) else {name: value})
        return args

    def place(self, uuid):
        """The process and thread, or device and stream, that a track is of; the track of overlapping spans is of its parent's."""
        track = self.tracks[uuid]
        if 4 in track:
            thread = fields(track[4][0])
            return only(thread, 1), only(thread, 2)
        name = only(track, 2, b"").decode()
        if name.startswith("stream "):
            return int(self.tracks[only(track, 5)][2][0].decode().removeprefix("GPU ")), int(name.split()[1])
        return self.place(only(track, 5)) if 5 in track and name == "overlapping" else (None, None)


def real_trace(name):
    path = f"{KINETO}/{name}.json.gz"
    events = json.loads(gzip.open(path, "rt").read(), parse_float=str)
    base, events = events["baseTimeNanoseconds"], events["traceEvents"]
    lib.output("export", "-q", "-f", "true", "--type", "perfetto", "-o", "out.pftrace", path)
    trace = Trace("out.pftrace")
    place = lambda e: (e["pid"], e["tid"]) if isinstance(e["pid"], int) else (None, None)
    spans = [e for e in events if e["ph"] == "X"]
    check(f"{name}: spans", Counter((e["cat"], e["name"], *place(e), ns(e["ts"]), ns(e["dur"])) for e in spans), Counter(s[:6] for s in trace.spans))
    check(f"{name}: moments", Counter((e["name"], *place(e), ns(e["ts"])) for e in events if e["ph"] == "i"), Counter(trace.moments))
    kernels = lambda items: sorted((start, args["correlation"], args["External id"], args["grid"], args["registers per thread"], args["est. achieved occupancy %"])
                                   for start, args in items)
    check(f"{name}: arguments of kernels", kernels((ns(e["ts"]), e["args"]) for e in spans if e["cat"] == "kernel"),
          kernels((s[4], s[6]) for s in trace.spans if s[0] == "kernel"))
    shapes = lambda items: sorted((start, str(args.get("Input Dims")), str(args.get("Sequence number"))) for start, args in items)
    check(f"{name}: arguments of operators", shapes((ns(e["ts"]), {k: json.dumps(v) if k == "Input Dims" else v for k, v in e["args"].items()}) for e in spans if e["cat"] == "cpu_op"),
          shapes((s[4], s[6]) for s in trace.spans if s[0] == "cpu_op"))
    memory = [e for e in events if e["name"] == "[memory]"]
    for which in ("Total Allocated", "Total Reserved"):
        for kind, of in ((0, "CPU"), (1, "GPU 0")):
            check(f"{name}: {which} ({of})", sorted((ns(e["ts"]), e["args"][which]) for e in memory if e["args"]["Device Type"] == kind),
                  sorted(trace.counters.get(f"{which} ({of})", [])))
    arrows = defaultdict(set)
    for e in events:
        if e["ph"] in "sf":
            arrows[e["cat"], e["id"]].add((*place(e), ns(e["ts"])))
    expected, got = Counter(map(frozenset, arrows.values())), Counter(map(frozenset, trace.flows.values()))
    check(f"{name}: arrows that are missing", [], list((expected - got).items())[:2])
    check(f"{name}: arrows too many", [], list((got - expected).items())[:2])
    check(f"{name}: clocks", base, trace.clocks[1] - trace.clocks[6])
    check(f"{name}: names are there once", [], [n for table in trace.names.values() for n, count in Counter(table.values()).items() if count > 1])
    lib.output("export", "-q", "-f", "true", "-t", "perfetto", "--gzip", "-o", "out.pftrace.gz", path)
    with open("out.pftrace", "rb") as plain:
        check(f"{name}: packed", plain.read(), gzip.open("out.pftrace.gz").read())


def made_trace():
    """Spans that share their begin or end, in an order in which a reader would mix them up; spans that overlap; nested ones of no length."""
    times = [(10, 20, "inner"), (10, 30, "outer"), (0, 10, "before"), (30, 40, "behind"), (35, 50, "overlaps"), (36, 60, "too"), (60, 60, "point"), (60, 60, "point"), (15, 20, "last")]
    event = '{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 7, "tid": 8, "ts": %d, "dur": %d, "args": {"x": NaN, "why": "\x01"}}'
    with open("made.json", "w") as out:
        out.write('{"traceEvents": [' + ",".join(event % (name, start, end - start) for start, end, name in times) + "]}")
    lib.output("export", "-q", "-f", "true", "--type", "perfetto", "-o", "out.pftrace", "made.json")
    trace = Trace("out.pftrace")
    check("spans of one moment", Counter((name, 7, 8, start * 1000, (end - start) * 1000) for start, end, name in times), Counter(s[1:6] for s in trace.spans))
    check("what is no JSON", {"x": None, "why": "\x01"}, trace.spans[0][6])


def nsys_capture():
    lib.unpack(f"{HERE}/nsys/mix.sqlite.gz", "mix.sqlite")
    for kind, path in (("chrome", "mix.json"), ("perfetto", "mix.pftrace")):
        lib.output("export", "-q", "--type", kind, "-o", path, "mix.sqlite")
    with open("mix.json") as file:
        events = json.load(file, parse_float=str)["traceEvents"]
    trace = Trace("mix.pftrace")
    spans = Counter((e["cat"], e["name"], e["pid"], e["tid"], ns(e["ts"]), ns(e["dur"])) for e in events if e["ph"] == "X")
    check("mix: spans", spans, Counter(s[:6] for s in trace.spans))
    gpu_metrics(events, trace)


def gpu_metrics(events, trace):
    """Samples of GPU metrics are counters of their GPU, in both formats. nsys stores clocks in Hz under names with [MHz]."""
    rows = sqlite3.connect("mix.sqlite").execute("SELECT timestamp, metricName, typeId & 255, value FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)").fetchall()
    shift = trace.clocks[6]
    expected = Counter((name, gpu, time + shift, round(value / 10**6 if "[MHz]" in name else value, 6)) for time, name, gpu, value in rows)
    check("mix: counters of chrome", expected, Counter((e["name"], e["pid"], ns(e["ts"]), round(float(e["args"]["value"]), 6)) for e in events if e["ph"] == "C"))
    gpus = {uuid: only(track, 2).decode() for uuid, track in trace.tracks.items() if 2 in track}
    check("mix: counters stand below their GPU", {"GPU 0"}, {gpus[only(track, 5)] for track in trace.tracks.values() if 8 in track})
    check("mix: counters of perfetto", expected, Counter((name, 0, time, round(value, 6)) for name, values in trace.counters.items() for time, value in values))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("infer", "train"):
            real_trace(name)
        made_trace()
        nsys_capture()
    return lib.status()


sys.exit(main())
