"""Collects garbage ten times, and until the file argv[1] exists. Prints {"thread": its id, "collections": [[begin, end, generation, freed objects], …]}, by the monotonic
clock, as Python tells its callbacks."""
import gc
import json
import os
import sys
import threading
import time

collections = []
keep = [[number] for number in range(200000)]  # that a full collection looks at


def told(phase, info):
    if phase == "start":
        collections.append([time.monotonic_ns(), 0, info["generation"], 0])
    else:
        collections[-1][1], collections[-1][3] = time.monotonic_ns(), info["collected"]


def collect_all():
    gc.collect()


def rest():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass


gc.disable()
gc.callbacks.append(told)
while len(collections) < 10 or not os.access(sys.argv[1], os.F_OK):
    for _ in range(5):
        cycle = []
        cycle.append(cycle)
    collect_all()
    rest()
assert gc.callbacks == [told]
gc.callbacks.clear()
print(json.dumps({"thread": threading.get_native_id(), "collections": collections}), flush=True)
