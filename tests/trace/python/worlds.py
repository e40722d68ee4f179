"""Other interpreters in the same process, each in a thread of its own, then another program in the same process. Says on its first line
whether this Python has such interpreters."""
import os
import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

INSIDE = """
import time
def burn_inside(end):
    while time.thread_time() < end:
        pass
burn_inside(time.thread_time() + 0.2)
"""
AFTERWARDS = """
import time
def burn_after_exec(end):
    while time.thread_time() < end:
        pass
burn_after_exec(time.thread_time() + 0.2)
"""


def enter():
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    run(interpreters.create(), INSIDE)


print("inside" if interpreters else "none", flush=True)
if interpreters:
    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
os.execv(sys.executable, [sys.executable, "-c", AFTERWARDS])
