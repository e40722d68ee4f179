"""What a capture says, read from SQLite in nsys's schema, so that ours and nsys's can be laid side by side.

Two runs of a program need not do quite the same. So nsys runs several times, in turns with ours: what differs between its own
captures is not determined by the program, is listed, and decides nothing; all else must be equal in ours.

Times are never equal. Kernels of some microseconds differ by a few percent from run to run, whoever looks, and nothing but more
runs of the same tool tells how much. So each tool has ROUNDS runs, one figure for a kernel each, and the median of ours must lie in
the range of theirs, widened on both sides by the range itself: bounds(). That bound is theirs alone: if our figures scatter, they
gain no room. Where nsys's runs agree within 1 %, an error of 3 % is found; where the room exceeds STEADY, the kernel decides
nothing, so that no error of twice that passes as a match. Three runs can lie close together by chance. So when a kernel is
outside, more rounds follow, up to MOST_ROUNDS, and all of them count: chance averages out, an error does not. The golden test
gpu_facts shows both with made figures."""
import csv
import itertools
import sqlite3
import statistics

import gpulib

TICK_NS = 32  # the step of the GPU's clock, by which a kernel's duration is rounded
ROUNDS, MOST_ROUNDS = 3, 6  # runs of each tool, in turns
LEAST_ROOM, STEADY = 0.02, 0.05  # shares of a time: what is never a difference; the most room to either side that still tells something
CALLS = 10  # a kernel that a run launches less often has no time of its own in that run
SHAPE = "'<<<' || gridX || ',' || gridY || ',' || gridZ || ' ' || blockX || ',' || blockY || ',' || blockZ || '>>>'"
RANGE_TYPES = (34, 59, 60)  # mark, push/pop, start/end

# The calls that open and close a capture range. The one that opens it begins while nothing is recorded: nsys then has the driver's
# call that lies within, we have the runtime's, and neither is wrong.
RANGE_CALLS = {"cudaProfilerStart", "cudaProfilerStop", "cuProfilerStart", "cuProfilerStop"}
SOME = 20


class Facts:
    def __init__(self, path):
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        names = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

        def rows(table, sql):
            return database.execute(sql.format(table=table)).fetchall() if table in names else []

        # One name can stand for work of many sizes: times are compared among launches with the same grid.
        self.durations = {}
        for name, shape, duration in rows(gpulib.KERNEL, f"""SELECT value, {SHAPE}, end - start FROM {{table}} JOIN StringIds
                                          ON id = coalesce(mangledName, demangledName)"""):
            self.durations.setdefault(f"{name} {shape}", []).append(duration)
        self.kernels = dict(rows(gpulib.KERNEL, """SELECT value, count(*) FROM {table} JOIN StringIds
                                 ON id = coalesce(mangledName, demangledName) GROUP BY 1"""))
        self.copies = {row[:3]: row[3:] for row in rows(gpulib.COPY, "SELECT copyKind, srcKind, dstKind, count(*), sum(bytes) FROM {table} GROUP BY 1, 2, 3")}
        self.fills = {row[:1]: row[1:] for row in rows(gpulib.FILL, "SELECT bytes, count(*) FROM {table} GROUP BY 1")}
        self.calls = calls(rows(gpulib.CALL, "SELECT value, correlationId FROM {table} JOIN StringIds ON id = nameId"))
        self.ranges = dict(rows("NVTX_EVENTS", f"""SELECT coalesce(text, value) || ' (type ' || eventType || ')', count(*) FROM {{table}} LEFT JOIN StringIds
                                ON id = textId WHERE eventType IN {RANGE_TYPES} GROUP BY 1"""))
        database.close()


def calls(rows):
    """{name: count} of the calls on our list. nsys can have two rows for a call (with _v3020 and without), of one correlation id."""
    traced, found = gpulib.traced_calls() - RANGE_CALLS, {}
    for name, correlation in rows:
        name = gpulib.plain(name)
        if name in traced:
            found.setdefault(name, set()).add(correlation)
    return {name: len(correlations) for name, correlations in found.items()}


def is_within_others(name):
    """Calls of the driver that the CUDA runtime makes inside calls of its own. CUPTI leaves those out when it looks at every call of the
    runtime, as for nsys; we have it look at the chosen ones alone, and so see what lies within the others: modules being loaded, say."""
    return name.startswith("cu") and name[2:3].isupper()


MIGRATIONS = {11, 12}  # copyKind: pages of managed memory. The driver decides in each run how they move, and in one of ten it decides otherwise


def differences(ours, theirs, of, both=False):
    """(what differs, what nsys's captures do not determine), for a fact such as "kernels". With both, only what nsys has too, and
    of calls that lie within others at least as many."""
    wrong, open_ = [], []
    keys = {key for facts in (theirs if both else (*ours, *theirs)) for key in getattr(facts, of)}
    for key in sorted(keys, key=str):
        got, known = ([getattr(facts, of).get(key) for facts in captures] for captures in (ours, theirs))
        if any(value != known[0] for value in known):
            open_.append(f"{key}: nsys {' and '.join(map(str, known))}")
            continue
        at_least = both and is_within_others(key)
        if any(value != known[0] and not (at_least and value and value > known[0]) for value in got):
            may_vary = of == "copies" and key[0] in MIGRATIONS and known[0] in got
            (open_ if may_vary else wrong).append(f"{key}: nsys {known[0]}, tacho {' and '.join(map(str, got))}")
    return wrong, open_


def bounds(theirs, count=1, launch_ns=TICK_NS):
    """(least, most) that the median of our runs may be, by the times that their runs have for the same `count` launches. launch_ns: what
    is no difference in one launch."""
    low, high = min(theirs), max(theirs)
    room = max(high - low, LEAST_ROOM * statistics.median(theirs), launch_ns * count)
    return low - room, high + room


class Times:
    """Times that runs of two tools have for the same things, one by one: `wrong`, `open` (theirs do not determine them), how far the others
    are apart at most, and the share of the whole time that was compared."""

    def __init__(self, tool, launch_ns=TICK_NS):
        self.tool, self.launch_ns = tool, launch_ns
        self.wrong, self.open, self.most, self.compared_ns, self.all_ns = [], [], 0.0, 0.0, 0.0

    def compare(self, what, ours, theirs, count=1):
        """Times in ns, one for each run, of `count` launches together."""
        mine, middle = statistics.median(ours), statistics.median(theirs)
        low, high = bounds(theirs, count, self.launch_ns)
        values = "; ".join(f"{tool} {' '.join(f'{ns / 1000:.2f}' for ns in runs)} µs" for tool, runs in ((self.tool, theirs), ("tacho", ours)))
        apart = mine / middle - 1 if middle else 0.0
        self.all_ns += middle
        if high - low > 2 * STEADY * middle and middle:
            self.open.append(f"{what}: {values}")
            return
        self.compared_ns += middle
        self.most = max(self.most, abs(apart))
        if not low <= mine <= high:
            self.wrong.append(f"{what}: {values} ({apart * 100:+.1f} %)")

    def share(self):
        return self.compared_ns / self.all_ns if self.all_ns else 1.0


def usual(durations):
    """The mean without the shortest and the longest tenth. The first launches are slow; and where half of the launches find their data in
    the cache and half do not, a median is now one kind of launch and now the other."""
    cut = len(durations) // 10
    return statistics.fmean(sorted(durations)[cut:len(durations) - cut])


def time_differences(ours, theirs):
    """Times of the kernels that all runs launch equally often, and often enough."""
    found = Times("nsys")
    runs = [facts.durations for facts in (*ours, *theirs)]
    for name in sorted(set.intersection(*map(set, runs))):
        count = len(runs[0][name])
        if count >= CALLS and all(len(run[name]) == count for run in runs):
            got, known = ([count * usual(facts.durations[name]) for facts in captures] for captures in (ours, theirs))
            found.compare(f"{name}, {count} times", got, known, count)
    return found


def some(lines):
    """The first of them, and how many there are beside."""
    return lines[:SOME] + ([f"… and {len(lines) - SOME} more"] if len(lines) > SOME else [])


def table_differences(ours, theirs):
    """The rows in which two tables of stats (CSV, the largest total first) differ. Rows of the same total may stand in any order."""
    def rows(text):
        found = list(csv.reader(text.splitlines()))
        if not found:
            return []
        total = next((i for i, title in enumerate(found[0]) if title.startswith("Total")), 0)
        ties = itertools.groupby(found[1:], key=lambda row: row[total])
        return found[:1] + [row for _, tied in ties for row in sorted(tied, key=lambda row: row[::-1])]  # by name, which is last

    pairs = itertools.zip_longest(rows(ours), rows(theirs), fillvalue=[])
    return [f"nsys {','.join(their) or 'has no row'}, tacho {','.join(our) or 'has no row'}" for our, their in pairs if our != their]
