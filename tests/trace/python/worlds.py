"""Other interpreters in the same process, each in a thread of its own, then another program in the same process. A Python that has no such
interpreters runs the same in threads. Each goes on until a file exists: the first argument names that of the interpreters, the second that
of the program."""
import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

BURN = """
import os
def {name}():
    while not os.access({path!r}, os.F_OK):
        for _ in range(10000):
            pass
{name}()
"""


def enter(text):
    if interpreters is None:
        exec(text, {})
    else:
        run = getattr(interpreters, "run_string", None) or interpreters.exec
        run(interpreters.create(), text)


threads = [threading.Thread(target=enter, args=[BURN.format(name="burn_inside", path=sys.argv[1])]) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os.execv(sys.executable, [sys.executable, "-c", BURN.format(name="burn_after_exec", path=sys.argv[2])])
