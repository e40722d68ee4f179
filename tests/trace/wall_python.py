"""The same as wall.py for lines of Python, which are read from outside: on a busy machine that may come too late."""
import sys

import lib
import wall

HOLDER = """
import threading, time
lock = threading.Lock()
taken = threading.Event()
def hold():
    with lock:
        taken.set()
        time.sleep(0.4)  # holds
def want():
    taken.wait()
    with lock:
        pass
threads = [threading.Thread(target=run) for run in (hold, want)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""

OWN = """
import json, time
def slow_parse():
    until = time.process_time() + 0.4
    while time.process_time() < until:
        json.loads("[" + "1," * 2000 + "1]")  # computes
slow_parse()
"""


def line_with(text, comment):
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {comment}"))


class Python(wall.WallCase):
    def test_a_lock_leads_to_its_holder(self):
        rows, lines = self.wall(*self.script(HOLDER))
        place = f"own.py:{line_with(HOLDER, 'holds')} hold"
        self.assertGreaterEqual(self.time_of(rows, State="sleeping", Where=place), 390)
        self.assertTrue(any(place + " sleeps (" in line for line in lines), lines)

    def test_own_code_comes_before_the_library(self):
        rows, lines = self.wall(*self.script(OWN))
        place = f"own.py:{line_with(OWN, 'computes')} slow_parse"
        self.assertGreaterEqual(self.time_of(rows, State="computing", Where=place), 300)
        self.assertTrue(any(f"{place}: " in line for line in lines), lines)


if __name__ == "__main__":
    lib.main()
