#!/usr/bin/env python3
"""Every set and section of GPU counters on every chip, asked of the real CUPTI: names, units, passes.

TACHO_TEST_CUPTI names folders (as in PATH), each with a CUPTI of one version somewhere below, as pip installs it. 12.6 to 13.1 need no
driver; others are passed over. The table says for each metric which chips have it: with 13.0, from which it was made, that must be
exactly so. Other versions know fewer or more metrics."""

import os
import re
import socket
import struct
import subprocess
import sys

SOURCE = os.environ["SOURCE"]
COUNTERS = os.path.join(SOURCE, "src", "abi", "counters")
HELPER = os.path.join(os.environ["HELPERS"], "tacho-gpu")
EXACT = "13.0"
FRAMES = re.findall(r"GPU_FRAME_(\w+)(?: = 1)?,", open(os.path.join(SOURCE, "src", "wire", "wire_gpu.h")).read())  # from 1 on
REFUSAL, CHIP, METRIC, MISSING, CONFIG = (FRAMES.index(name) + 1 for name in ("REFUSAL", "CHIP", "METRIC", "MISSING", "CONFIG"))
SAMPLED = "pmsampling:"
LEFT_OUT = ("ask for it alone", "needs a second pass", "lists this metric and does not count it")  # said, and right
YOUNG = {"GB20B": "13.0"}  # counters of its L2 came with that version
NCU_COLUMNS = os.path.join(SOURCE, "tests", "golden", "ncu", "%s-columns.txt")  # of the raw pages that ncu 2025.3 printed on an H200
NCU_ALONE = re.compile(  # columns that no counter of a kernel is: docs/counters.md
    r"(launch|device|profiler|numa|nvlink|c2clink|sass|smsp__pcsamp)__?|derived_|memory_|(thread_)?inst_executed|\w+__maximum_warps_|\w+\.TriageCompute|(pcie|nvl[rt]x|ctc)__|"
    r"smsp__branch_targets_threads_divergent$|smsp__sass_inst_executed_memdesc_explicit_\w+$")
NOT_COUNTED = re.compile(r"launch__|derived__|\w+__maximum_warps_")
failures = []


def fail(text):
    failures.append(text)
    print(text)


def ask(library, mode, *options):
    """The frames of a run as (type, payload)."""
    here, there = socket.socketpair()
    with there, subprocess.Popen([HELPER, mode, *options], stdin=there, stdout=there, env=dict(os.environ, TACHO_CUPTI=library)) as child:
        there.close()
        data = b"".join(iter(lambda: here.recv(1 << 20), b""))
    here.close()
    frames, at = [], 0
    while at < len(data):
        kind, size = struct.unpack_from("II", data, at)
        frames.append((kind, data[at + 8:at + 8 + size]))
        at += 8 + size
    if child.returncode < 0:
        fail(f"{library}: {mode} {options} ended by signal {-child.returncode}")
    return frames


def texts(payload, head, count):
    return [text.decode() for text in payload[head:].split(b"\0")[:count]]


def read(name):
    text = re.sub(r"/\*.*?\*/", "", open(os.path.join(COUNTERS, name)).read(), flags=re.S)
    return text.replace("\\\n", "")


def table():
    """[(section, sets, [(alternatives, chips)])]"""
    text = read("counter_sections.def")
    for macro, value in re.findall(r"#define (\w+)\s+(.*)", text):
        text = re.sub(r"\b%s\b" % macro, lambda _: value, text)
    text = re.sub(r'"\s+"', "", text)
    sections = []
    for name, sets, body in re.findall(r'SECTION\((\w+), "[^"]*",([^)]*(?:\([^)]*\)[^)]*)*)\)\n(.*?)SECTION_END', text, re.S):
        rows = [(names.split("|"), chips) for names, chips in
                re.findall(r'(?:METRIC|SHOWN)\("([^"]*)",(?:\s*"[^"]*",)+?\s*"([^"]*)"\)', body)]
        marked = body.count("METRIC(") + body.count("SHOWN(")
        if marked != len(rows):
            fail(f"{name}: {len(rows)} rows could be read of {marked}")
        sections.append((name, re.findall(r"COUNTER_SET\((\w+)\)", sets), rows))
    return sections


def expected_on(chips, chip, order):
    if not chips:
        return True
    place = order.index(chip)
    for part in chips.split():
        first, dash, last = part.partition("-")
        if order.index(first) <= place <= (order.index(last) if last else len(order) if dash else order.index(first)):
            return True
    return False


def check_table(library, chip, sections, order):
    """The column of chips is exactly what CUPTI says."""
    bases = {}
    for profiler in ("range", "sampling"):
        frames = ask(library, "metrics", "chip=" + chip, "profiler=" + profiler)
        bases[profiler] = {texts(payload, 16, 1)[0] for kind, payload in frames if kind == METRIC}
    checked = 0
    for section, _, rows in sections:
        for names, chips in rows:
            if NOT_COUNTED.match(names[0]):
                continue
            has = False
            for name in names:
                profiler = "sampling" if name.startswith(SAMPLED) else "range"
                base = re.sub(r"(\.(avg|max|min|sum|pct|ratio|max_rate)\b.*)?(\{.*)?$", "", name.removeprefix(SAMPLED))
                has = has or base in bases[profiler]
            # The triage names of Blackwell stand in rows of their own, so that one pass is enough.
            others = [other for other, place in rows if other != names and expected_on(place, chip, order) and
                      any("Triage" in one for one in other + names)]
            if has != expected_on(chips, chip, order) and not (has and others):
                fail(f"{chip}: {section}: CUPTI has {'' if has else 'no '}{names[0]}, the table says \"{chips}\"")
            checked += 1
    return checked


def check_config(library, version, chip, profiler, what, passes=None):
    """A set or section: nothing is missing, units are ncu's, and the passes. Returns the number of metrics, or None if CUPTI refuses."""
    single = "single=%d" % (profiler == "sampling" and not passes)
    frames = ask(library, "config", "chip=" + chip, "profiler=" + profiler, what, single)
    where = f"CUPTI {version}, {chip}, {what}"
    refusals = [payload[16:].split(b"\0")[0].decode() for kind, payload in frames if kind == REFUSAL]
    if refusals:
        if "does not know samples" not in refusals[0] or chip != "GV100":
            fail(f"{where}: {refusals[0]}")
        return None
    for name, why in (texts(payload, 8, 2) for kind, payload in frames if kind == MISSING):
        if not any(reason in why for reason in LEFT_OUT) and (version == EXACT or (passes and version >= YOUNG.get(chip, ""))):
            fail(f"{where}: {name}: {why}")
    known = {"", "%", "hz", "1"} | {word for _, word in re.findall(r'CUPTI_UNIT\("(\w+)", "([^"]*)"\)', read("cupti_units.def"))} | {"cycle"}
    metrics = [texts(payload, 16, 3) for kind, payload in frames if kind == METRIC]
    for name, _, unit in metrics:
        if not set(unit.split("/")) <= known:
            fail(f"{where}: {name} has the unit {unit}")
    got, = [struct.unpack_from("QQII", payload)[0] for kind, payload in frames if kind == CONFIG]
    if passes and got != passes:
        fail(f"{where}: {got} passes, expected {passes}")
    return len(metrics)


def check_ncu(library):
    """On GH100, sets hold at least the counters that ncu's have."""
    for name in ("basic", "full"):
        frames = ask(library, "config", "chip=GH100", "profiler=range", "sets=" + name)
        own = {texts(payload, 16, 1)[0] for kind, payload in frames if kind == METRIC}
        columns = [base + suffix for base, *suffixes in map(str.split, open(NCU_COLUMNS % name)) for suffix in suffixes or [""]]
        counters = [column for column in columns if not NCU_ALONE.match(column)]
        lacks = [column for column in counters if column not in own]
        passes, = [struct.unpack_from("QQII", payload)[0] for kind, payload in frames if kind == CONFIG]
        print(f"{name} on GH100: {len(counters) - len(lacks)} of ncu's {len(counters)} counters in {passes} passes; {len(columns) - len(counters)} columns are no counters of kernels")
        if lacks:
            fail(f"{name} lacks {lacks}")


def check_library(library, version, sections, order):
    frames = ask(library, "chips")
    chips = [texts(payload, 8, 1)[0] for kind, payload in frames if kind == CHIP]
    if not chips:
        print(f"passed over: {library}: {[payload[16:].split(bytes(1))[0].decode() for kind, payload in frames if kind == REFUSAL]}")
        return 0
    known = [chip for chip in chips if chip in order]
    rows = metrics = 0
    seen = set()
    for chip in known:
        light = check_config(library, version, chip, "range", "sets=light", passes=1)
        if light not in (7, 9) and version >= YOUNG.get(chip, ""):  # chips that share the memory of the CPU have no DRAM of their own
            fail(f"CUPTI {version}, {chip}: light has {light} metrics")
        if chip != "GV100":
            check_config(library, version, chip, "sampling", "sets=general", passes=1)
        if chip == "GH100":
            check_config(library, version, chip, "sampling", "sections=ComputeTriage", passes=1)
        like = hash(tuple(ask(library, "metrics", "chip=" + chip)))
        is_new, _ = like not in seen, seen.add(like)  # many chips have the same metrics
        for section, _, _ in sections if version == EXACT and is_new else []:
            for profiler in ("range", "sampling") if section.startswith("PmSampling") else ("range",):
                metrics += check_config(library, version, chip, profiler, "sections=" + section) or 0
        for name in ("basic", "detailed", "full", "roofline") if is_new else ():
            metrics += check_config(library, version, chip, "range", "sets=" + name) or 0
        if version == EXACT:
            rows += check_table(library, chip, sections, order)
    if version == EXACT:
        check_ncu(library)
    print(f"CUPTI {version}: {len(known)} chips, {metrics} metrics of sets and sections, {rows} rows of the table against CUPTI's lists")
    return len(known)


def main():
    order = re.findall(r"COUNTER_CHIP\((\w+), \d+\)", read("counter_chips.def"))
    sections = table()
    checked = 0
    for folder in os.environ.get("TACHO_TEST_CUPTI", "").split(":"):
        for root, _, files in os.walk(folder):
            for name in files:
                if re.fullmatch(r"libcupti\.so\.1\d", name):
                    found = re.search(r"/(?:nvidia_cuda_)?cupti\D*(1\d\.\d)|-(1\d\.\d)\.|/(1\d\.\d)(?:/|$)", root)
                    info = [os.path.basename(part) for part in os.listdir(os.path.join(root, "..", "..", ".."))]
                    info = next((re.search(r"-(1\d\.\d)", part)[1] for part in info if re.match(r"nvidia_cuda_cupti.*-1\d\.\d.*dist-info", part)),
                                None)
                    version = info or (found and next(filter(None, found.groups())))
                    checked += check_library(os.path.join(root, name), version, sections, order)
    if checked == 0:
        print("skipped: no CUPTI of 12.6 to 13.1 here (TACHO_TEST_CUPTI)")
    sys.exit(1 if failures else 0 if checked else 77)


main()
