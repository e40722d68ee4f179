"""Collectives over all ranks of a job: what collective_sum and collective_trace say of real programs is what a loop in Python over the
rows of each rank's report says. Communicators are matched here by their members, calls by their order."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import rankslib  # noqa: E402
import lib  # noqa: E402

SYNCHRONISING = {"MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall"}
FACTOR = {"MPI_Allreduce": lambda n: 2 * (n - 1) / n, "MPI_Bcast": lambda n: 1, "MPI_Barrier": lambda n: None}

Call = collections.namedtuple("Call", "rank start end name bytes")


class Collectives(rankslib.Case):
    def instances(self, folder):
        """(members, how many with these before, number): calls by rank."""
        members, made = {}, collections.Counter()
        for rank, at, handle, text in self.rows(folder, "SELECT rank, timestamp, commHandle, members FROM MPI_COMMUNICATORS ORDER BY timestamp"):
            members.setdefault((rank, handle), []).append((at, text, made[rank, text]))
            made[rank, text] += 1
        found, called = collections.defaultdict(list), collections.Counter()
        for rank, start, end, name, handle, sent, received in self.rows(
                folder, "SELECT (SELECT rank FROM MPI_RANKS r WHERE r.globalTid >> 24 = c.globalTid >> 24 LIMIT 1), start, end, value, commHandle, size, recvSize FROM MPI_COLLECTIVES_EVENTS c JOIN StringIds s ON s.id = textId ORDER BY start"):
            text, before = [(text, before) for at, text, before in members[rank, handle] if at <= start][-1]
            key = (text, before, called[rank, text, before])
            called[rank, text, before] += 1
            found[key].append(Call(rank, start, end, name, max(-1 if sent is None else sent, -1 if received is None else received)))
        return found

    def truth(self, calls, errors):
        """Waits, and the index of the last one: durations, bounded by the times of entry."""
        last = max(range(len(calls)), key=lambda i: (calls[i].start, -i))
        shortest = min(call.end - call.start for call in calls)
        waits = []
        for i, call in enumerate(calls):
            off = 0 if i == last or len(errors) < 2 else errors[call.rank] + errors[calls[last].rank]
            by_clock = calls[last].start - call.start
            waits.append(min(max(call.end - call.start - shortest, by_clock - off), by_clock + off))
        waits = [wait - min(waits) for wait in waits]
        error = min(shortest, max([0] + [errors[call.rank] + errors[calls[last].rank] for i, call in enumerate(calls) if i != last and len(errors) > 1]))
        return waits, error

    def check(self, target, ranks):
        errors = {part["rank"]: part["clock_error_ns"] for part in self.info(target).get("reports", [])}
        found = self.instances(target)
        self.assertTrue(found)
        trace = self.table(target, "collective_trace")
        self.assertEqual(len(trace), len(found))
        by_key = {(row["Operation"], row["Communicator"], row["Number"]): row for row in trace}
        sums = collections.defaultdict(lambda: [0, 0, 0, 0, collections.Counter()])
        for (members, before, number), calls in found.items():
            calls.sort()
            label = rankslib.label(members, before)
            name = calls[0].name
            row = by_key[name, label, number]
            self.assertEqual({call.name for call in calls}, {name})
            self.assertEqual(len(calls), len(members.split(",")))
            size = max(call.bytes for call in calls)
            self.assertEqual((row["Start (ns)"], row["Duration (ns)"], row["Ranks"], row["Bytes (B)"]),
                             (min(call.start for call in calls), max(call.end - call.start for call in calls), len(calls), None if size < 0 else size), row)
            total = sums[name, label]
            total[0] += 1
            total[1] += sum(call.end - call.start for call in calls)
            total[3] += max(size, 0)
            if name not in SYNCHRONISING or len(calls) < 2:
                self.assertIsNone(row["Lateness (ns)"], row)
                continue
            waits, error = self.truth(calls, errors)
            last = waits.index(min(waits))
            is_late = max(waits) > error
            self.assertEqual((row["Lateness (ns)"], row["Wait Time (ns)"], row["Error (ns)"]), (max(waits), sum(waits), error), row)
            self.assertEqual((row["First Rank"], row["Last Rank"]), (calls[waits.index(max(waits))].rank, calls[last].rank) if is_late else (None, None), row)
            total[2] += sum(waits)
            if is_late:
                total[4][calls[last].rank] += 1
        self.check_sums(self.table(target, "collective_sum"), sums)

    def check_sums(self, rows, sums):
        self.assertEqual({(row["Operation"], row["Communicator"]) for row in rows}, set(sums))
        for row in rows:
            count, time, wait, size, lasts = sums[row["Operation"], row["Communicator"]]
            self.assertEqual((row["Instances"], row["Total Time (ns)"]), (count, time), row)
            self.assertAlmostEqual(row["Data (MB)"], size / 1e6, 3)
            self.assertEqual(row["Wait Time (ns)"] or 0, wait, row)
            if lasts:
                self.assertEqual(row["Times Last"], max(lasts.values()), row)
                self.assertEqual(row["Last Rank"], min(rank for rank, times in lasts.items() if times == max(lasts.values())), row)

    def test_a_report_of_each_rank_and_one_of_all(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                program = self.build(mpi, "mpi_clocks.c")
                folder = self.record(mpi, 3, program)
                self.check(folder, 3)
                report = self.profile_job(mpi, 3, program, options=("-t", "mpi", "-s", "none"))
                self.check(os.path.basename(report.path), 3)

    def test_without_collectives(self):
        done = self.tacho("profile", "-t", "osrt", "-s", "none", "-o", "plain.tacho", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("collective_sum", "collective_trace"):
            done = self.tacho("stats", "-r", name, "plain.tacho")
            self.assertIn("does not contain collectives of MPI, NCCL or PyTorch", done.stdout + done.stderr)


if __name__ == "__main__":
    lib.main()
