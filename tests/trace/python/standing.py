"""Whether threads of this process stand still: asleep in the kernel, and not awake once between two looks. One that wants the GIL wakes up
every few milliseconds; one that the machine has no time for is not asleep."""
import time


def look(tids):
    found = {}
    for tid in tids:
        with open(f"/proc/self/task/{tid}/status") as file:
            lines = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        found[tid] = (lines["State"][0], lines["voluntary_ctxt_switches"])
    return found


def do_stand(tids):
    before = look(tids)
    time.sleep(0.05)
    return look(tids) == before and all(state == "S" for state, _ in before.values())
