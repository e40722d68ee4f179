"""Wait states and critical path of an MPI job by brute force: a definition a function, no sorting, no searching, and no rule of matching: the caller says which
send belongs to which receive, and which calls are one collective."""
import collections

Call = collections.namedtuple("Call", "thread start end name")
# calls: the index of the call that started it and of the one that completed it
Side = collections.namedtuple("Side", "started completed start")
Entry = collections.namedtuple("Entry", "entered waiting is_root")  # calls: the collective's own, and the one that waited for it

BARRIER = {"Barrier", "Ibarrier"}
ALL_TO_ALL = {prefix + name for name in ("allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block") for prefix in ("I",)}
ALL_TO_ALL |= {name[1:].capitalize() for name in ALL_TO_ALL}
TO_ROOT = {"Reduce", "Ireduce", "Gather", "Igather", "Gatherv", "Igatherv"}
FROM_ROOT = {"Bcast", "Ibcast", "Scatter", "Iscatter", "Scatterv", "Iscatterv"}
ORDER = ("Late Sender", "Late Receiver", "Wait at Barrier", "Wait at N x N", "Early Reduce", "Late Broadcast", "Wait at Init/Finalize")


def base(name):
    return name.removeprefix("MPI_").removesuffix("_c")


class Job:
    """calls: all of them; messages: pairs of sides; collectives: lists of entries; rank: of a thread; error: of the clocks of two threads, None: unknown;
    probes: (the call of a probe, the side of the send that it found)."""

    def __init__(self, calls, messages, collectives, rank, error=lambda a, b: 0, probes=()):
        self.calls, self.messages, self.collectives, self.rank, self.error, self.probes = calls, messages, collectives, rank, error, probes

    def candidates(self):
        """(call, state, moment at which the other one came, call of the other one)"""
        for send, receive in self.messages:
            if receive.completed is not None:
                yield receive.completed, "Late Sender", send.start, send.started
            if send.completed is not None and base(self.calls[send.started].name) not in ("Bsend", "Ibsend"):
                error = self.error(self.calls[send.started].thread, self.calls[receive.started].thread)
                if error is not None and receive.start + error <= self.calls[send.completed].end:
                    yield send.completed, "Late Receiver", receive.start, receive.started
        for probe, send in self.probes:
            yield probe, "Late Sender", send.start, send.started
        for entries in self.collectives:
            name = base(self.calls[entries[0].entered].name)
            start = lambda entry: self.calls[entry.entered].start
            roots = [entry for entry in entries if entry.is_root]
            last = max(entries, key=start)
            for entry in entries:
                if entry.waiting is None:
                    continue
                if (name in BARRIER or name in ALL_TO_ALL) and entry is not last:
                    yield entry.waiting, "Wait at Barrier" if name in BARRIER else "Wait at N x N", start(last), last.entered
                if name in FROM_ROOT and roots and not entry.is_root:
                    yield entry.waiting, "Late Broadcast", start(roots[0]), roots[0].entered
                if name in TO_ROOT and entry.is_root and len(entries) > 1:
                    first = min((other for other in entries if not other.is_root), key=start)
                    yield entry.waiting, "Early Reduce", start(first), first.entered

        for names in (("Init", "Init_thread"), ("Finalize",)):
            entered = [number for number, call in enumerate(self.calls) if base(call.name) in names]
            if len(entered) < 2 or len({self.rank(self.calls[number].thread) for number in entered}) < len(entered):
                continue
            last = max(entered, key=lambda number: self.calls[number].start)
            errors = {number: self.error(self.calls[number].thread, self.calls[last].thread) for number in entered}
            if all(errors[number] is None or self.calls[number].end + errors[number] >= self.calls[last].start for number in entered):
                yield from ((number, "Wait at Init/Finalize", self.calls[last].start, last) for number in entered if number != last)

    def waits(self):
        """call: (until, state, call of the other one), one a call."""
        found = {}
        for number, state, came, cause in self.candidates():
            call, other = self.calls[number], self.calls[cause]
            error, until = self.error(call.thread, other.thread), min(came, call.end)
            if error is None or call.thread == other.thread or until - call.start <= error:
                continue
            # The one that came last; of two at once, the one whose state is named first.
            if number not in found or (-until, ORDER.index(state), other.thread) < (-found[number][0], ORDER.index(found[number][1]), self.calls[found[number][2]].thread):
                found[number] = (until, state, cause)
        return found

    def wait_sums(self):
        """(state, name of the call, rank, rank that was waited for): [time, count, longest]"""
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for number, (until, state, cause) in self.waits().items():
            call = self.calls[number]
            row = sums[state, call.name, self.rank(call.thread), self.rank(self.calls[cause].thread)]
            row[0] += until - call.start
            row[1] += 1
            row[2] = max(row[2], until - call.start)
        return dict(sums)

    def time_of_ranks(self):
        return sum(max(call.end for call in calls) - min(call.start for call in calls)
                   for calls in ([call for call in self.calls if self.rank(call.thread) == rank] for rank in {self.rank(call.thread) for call in self.calls}))

    def path(self):
        """(rank, name of the call or None): time on the critical path; and the time from the first call to the last."""
        waits, sums = self.waits(), collections.Counter()
        first, last = min(call.start for call in self.calls), max(self.calls, key=lambda call: (call.end, -call.thread))
        thread, now = last.thread, last.end
        while now > first:
            over = [(until, cause, number) for number, (until, _, cause) in waits.items() if self.calls[number].thread == thread and until <= now]
            until, cause, number = max(over) if over else (first, None, None)
            if number is not None:
                del waits[number]
            until = max(until, first)
            inside = 0
            for call in self.calls:
                part = min(call.end, now) - max(call.start, until)
                if call.thread == thread and part > 0:
                    sums[self.rank(thread), call.name] += part
                    inside += part
            sums[self.rank(thread), None] += now - until - inside
            now = until
            thread = self.calls[cause].thread if cause is not None else thread
        return {key: time for key, time in sums.items() if time}, last.end - first


def compare(case, job, waits, path):
    """The rows of mpi_wait_sum:pairs and of critical_path_sum against the truth. case: a unittest.TestCase."""
    total = job.time_of_ranks()
    rows = {}
    for row in waits:
        if row["Name"]:  # of each line of the program that makes such calls
            sums = rows.setdefault((row["Wait State"], row["Name"], int(row["Waiting"]), row["Waits For"]), [0, 0, 0])
            sums[:] = sums[0] + row["Total Time (ns)"], sums[1] + row["Count"], max(sums[2], row["Max (ns)"])
    case.assertEqual(rows, job.wait_sums())
    for row in waits:
        if row["Name"]:
            case.assertAlmostEqual(row["Time (%)"], 100 * row["Total Time (ns)"] / total, delta=0.0501)
    expected, span = job.path()
    found = collections.Counter()
    for row in path:
        found[row["Rank"], None if row["Name"] == "(outside of MPI)" else row["Name"]] += row["Total Time (ns)"]
    case.assertEqual(dict(found), expected)
    case.assertEqual(sum(found.values()), span)
