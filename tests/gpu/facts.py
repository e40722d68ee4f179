"""What a capture says, read from SQLite in nsys's schema, so that ours and nsys's can be laid side by side.

Two runs of a program need not do quite the same. So nsys runs twice: what differs between its own two captures is not
determined by the program, is listed, and decides nothing; all else must be equal in ours."""
import csv
import itertools
import sqlite3
import statistics

import gpulib

TICK_NS = 32  # the step of the GPU's clock, by which a kernel's duration is rounded
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

        self.durations = {}
        for name, duration in rows(gpulib.KERNEL, "SELECT value, end - start FROM {table} JOIN StringIds ON id = coalesce(mangledName, demangledName)"):
            self.durations.setdefault(name, []).append(duration)
        self.kernels = {name: len(values) for name, values in self.durations.items()}
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


def differences(ours, theirs, of, both=False):
    """(what differs, what nsys's captures do not determine), for a fact such as "kernels". With both, only what nsys has too, and
    of calls that lie within others at least as many."""
    first, second = (getattr(facts, of) for facts in theirs)
    wrong, open_ = [], []
    keys = set(first) | set(second)
    if not both:
        keys |= {key for facts in ours for key in getattr(facts, of)}
    for key in sorted(keys, key=str):
        if first.get(key) != second.get(key):
            open_.append(f"{key}: nsys {first.get(key)} and {second.get(key)}")
            continue
        got = [getattr(facts, of).get(key) for facts in ours]
        at_least = both and is_within_others(key)
        if any(value != first.get(key) and not (at_least and value and value > first[key]) for value in got):
            wrong.append(f"{key}: nsys {first.get(key)}, tacho {' and '.join(map(str, got))}")
    return wrong, open_


def time_differences(ours, theirs, share=0.02, undetermined=0.05):
    """The same for the GPU time of each kernel: its median duration times its number; and the bound that was used. Kernels of some
    microseconds differ by a few percent from run to run, whoever looks. So the bound is what nsys's own two captures differ by: the most
    that one of their kernels does, but at least the share, and one tick of the GPU's clock, which is more for the shortest ones. Kernels
    in which nsys differs from itself by more than `undetermined` decide nothing, neither for themselves nor for the bound."""
    def middle(facts, name):
        return statistics.median(facts.durations[name])

    def apart(a, b, bound):
        return abs(a - b) > max(bound * b, TICK_NS)

    common = sorted(set.intersection(*(set(facts.durations) for facts in (*ours, *theirs))))
    pairs = {name: tuple(middle(facts, name) for facts in theirs) for name in common}
    determined = {name for name, (first, second) in pairs.items() if not apart(first, second, undetermined)}
    bound = max([share, *(abs(first / second - 1) for name, (first, second) in pairs.items() if name in determined and apart(first, second, 0))])
    wrong, open_, most = [], [], 0.0
    for name in common:
        both = statistics.median(theirs[0].durations[name] + theirs[1].durations[name])
        got = statistics.median([duration for facts in ours for duration in facts.durations[name]])
        count = len(ours[0].durations[name])
        if name not in determined:
            open_.append(f"{name}: nsys {pairs[name][0]:.0f} and {pairs[name][1]:.0f} ns, {count} times")
        elif apart(got, both, bound):
            wrong.append(f"{name}: nsys {both:.0f}, tacho {got:.0f} ns ({(got / both - 1) * 100:+.1f} %), {count} times")
        else:
            most = max(most, abs(got / both - 1) if both else 0)
    return wrong, open_, most, len(common), bound


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
