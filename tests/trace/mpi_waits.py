"""Messages, wait states and the critical path of random MPI programs (mpi/mpi_random.c), against ledgers of the programs and a brute-force reference
(mpi/wait_truth.py). Also after the report of a rank was moved to another clock and host: then nothing counts that is smaller than the error of the clocks, and
no message is received before it was sent by more than that."""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import lib  # noqa: E402
import wait_truth  # noqa: E402

SEEDS = range(1, 31) if lib.ALL else (1, 2)
STEPS, RANKS, MOVED = "200", 4, 1
TABLES = ("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS")


class Waits(mpilib.Case):
    with open(os.path.join(mpilib.SOURCES, "mpi_random.c")) as file:
        lines = file.read().splitlines()

    def tacho(self, *arguments):
        done = subprocess.run([self.tacho_path, *arguments], capture_output=True, text=True, timeout=lib.PATIENCE, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def rows(self, target, query):
        return [tuple(row.values()) for row in json.loads(self.tacho("sql", "-f", "json", target, query))]

    def stats(self, target, name):
        return json.loads(self.tacho("stats", "-q", "-f", "json", "-r", name, target))

    def ledger(self, rank):
        """Numbers of messages, in the order of sends, and of posted receives."""
        sent, received = [], {}
        with open(self.path(f"ledger.{rank}")) as file:
            for line in file:
                words = line.split()
                if words[0] == "sent":
                    sent.append(int(words[1]))
                else:
                    received[int(words[1])] = int(words[2])
        return sent, [received[place] for place in range(len(received))]

    def read_job(self, target, error):
        """All that the reference needs: rows of the report, and the ledgers."""
        ranks = dict(self.rows(target, "SELECT globalTid, rank FROM MPI_RANKS"))
        self.assertEqual(sorted(ranks.values()), list(range(RANKS)))
        calls, at = [], {}
        for table in TABLES:
            for thread, start, end, name in self.rows(target, f"SELECT globalTid, start, end, (SELECT value FROM StringIds WHERE id = textId) FROM {table}"):
                at[thread, start] = len(calls)
                calls.append(wait_truth.Call(thread, start, end, name))
        # The end of the received half of MPI_Sendrecv() is told a little after that of the call.
        ending = lambda thread, end: max((call.end, number) for number, call in enumerate(calls) if call.thread == thread and call.end <= end)[1]
        sides = collections.defaultdict(dict)
        for rank in range(RANKS):
            for received, numbers in enumerate(self.ledger(rank)):
                rows = self.rows(target, f"SELECT start, end, globalTid FROM TACHO_MPI_MESSAGE WHERE rank = {rank} AND isReceived = {received} ORDER BY start")
                self.assertEqual(len(rows), len(numbers))
                for (start, end, thread), number in zip(rows, numbers):
                    sides[number][received] = wait_truth.Side(at[thread, start], ending(thread, end), start)
        self.assertEqual({tuple(sorted(both)) for both in sides.values()}, {(0, 1)})
        messages = [(both[0], both[1]) for both in sides.values()]
        probes = []
        for number, call in enumerate(calls):
            if call.name in ("MPI_Probe", "MPI_Mprobe"):  # the program then receives what it saw
                send, _ = min(((send, receive) for send, receive in messages if calls[receive.started].thread == call.thread and receive.start >= call.end),
                              key=lambda pair: pair[1].start)
                probes.append((number, send))
        return wait_truth.Job(calls, messages, self.read_collectives(target, ranks, at, ending), ranks.get, error, probes)

    def read_collectives(self, target, ranks, at, ending):
        communicators = self.rows(target, "SELECT globalPid, commHandle, name, members FROM MPI_COMMUNICATORS")
        named = {(process, handle): (name, [int(rank) for rank in members.split(",")]) for process, handle, name, members in communicators}
        called, instances = collections.Counter(), collections.defaultdict(list)
        for thread, start, done, handle, root in self.rows(
                target, "SELECT globalTid, start, ifnull(requestEnd, end), commHandle, rootRank FROM MPI_COLLECTIVES_EVENTS ORDER BY start"):
            name, members = named[thread >> 24 << 24, handle]
            entry = wait_truth.Entry(at[thread, start], ending(thread, done), root is not None and members[root] == ranks[thread])
            instances[name, called[thread, name]].append(entry)
            called[thread, name] += 1
        self.assertEqual({len(entries) for entries in instances.values()}, {RANKS})
        return list(instances.values())

    def compare(self, target, error):
        job = self.read_job(target, error)
        found = {(row["Sent (ns)"], row["Rank"], row["Posted (ns)"], row["PeerRank"]) for row in self.stats(target, "mpi_message_trace")}
        rank = lambda side: job.rank(job.calls[side.started].thread)
        self.assertEqual(found, {(send.start, rank(send), receive.start, rank(receive)) for send, receive in job.messages})
        waits = self.stats(target, "mpi_wait_sum:pairs")
        wait_truth.compare(self, job, waits, self.stats(target, "critical_path_sum"))
        self.check_sites(waits, self.stats(target, "mpi_wait_sum"))
        return job, waits

    def check_sites(self, pairs, sites):
        """Without pairs, rows are the sums of those by pair. The line of each holds the call."""
        self.assertNotIn("", [row["Name"] for row in sites], "all messages are matched")
        expected = collections.defaultdict(lambda: [0, 0, collections.Counter(), set()])
        for row in pairs:
            site = expected[row["Wait State"], row["Name"], row["Where"]]
            site[0] += row["Total Time (ns)"]
            site[1] += row["Count"]
            site[2][row["Waits For"]] += row["Total Time (ns)"]
            site[3].add(int(row["Waiting"]))
        self.assertEqual({(row["Wait State"], row["Name"], row["Where"]): (row["Total Time (ns)"], row["Count"], row["Waiting"]) for row in sites},
                         {key: (site[0], site[1], ranks_text(site[3])) for key, site in expected.items()})
        for row in sites:
            causes = expected[row["Wait State"], row["Name"], row["Where"]][2]
            self.assertEqual(causes[row["Waits For"]], max(causes.values()))
            if row["Wait State"] == "Wait at Init/Finalize":  # the table of these calls has no places
                continue
            place = re.fullmatch(r"\w+ \(mpi_random\.c:(\d+)\)", row["Where"] or "")
            self.assertTrue(place, row)
            self.assertIn(row["Name"] + "(", self.lines[int(place[1]) - 1])

    def errors(self, folder, moved=None):
        """The errors that `info` states, as the error of two threads. The moved rank is a host of its own; what the others share is the larger of theirs."""
        lines = [line.split() for line in self.tacho("info", folder).splitlines()]
        number = lambda word: int(word.replace(",", "")) if word.replace(",", "").isdigit() else None  # unknown: too few collectives, and no bound by messages
        stated = {int(line[0]): number(line[-2]) for line in lines if len(line) > 5 and line[-1].endswith(".tacho")}
        self.assertEqual(sorted(stated), list(range(RANKS)))
        ranks = dict(self.rows(folder, "SELECT globalTid, rank FROM MPI_RANKS"))

        def error(a, b):
            both = [stated[moved] if ranks[thread] == moved else max(error for other, error in stated.items() if other != moved) for thread in (a, b)]
            return 0 if a == b else None if None in both else sum(both)
        return error

    def move(self, source, target):
        """The same report by another clock, of another host: 30 ppm fast, 7 ms ahead."""
        database = target + ".sqlite"
        self.tacho("export", "-q", "-o", database, source)
        with sqlite3.connect(database) as file:
            for (table,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for name in [row[1] for row in file.execute(f"PRAGMA table_info({table})") if row[1] in ("start", "end", "timestamp", "requestEnd")]:
                    file.execute(f'UPDATE {table} SET "{name}" = "{name}" + 7000000 + "{name}" * 30 / 1000000')
            file.execute("UPDATE TACHO_CLOCK SET utcNs = utcNs + 7000000")
            file.execute("UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'elsewhere' WHERE name IN ('BootId', 'Hostname')")
        self.tacho("import", "-q", "-o", target, database)
        os.unlink(database)

    def check_moved(self):
        os.mkdir(self.path("moved"))
        for rank in range(RANKS):
            source, target = self.path(f"run/rank000{rank}.tacho"), self.path(f"moved/rank000{rank}.tacho")
            self.move(source, target) if rank == MOVED else shutil.copy(source, target)
        error = self.errors("moved", MOVED)
        job, _ = self.compare("moved", error)
        for send, receive in job.messages:
            sender, receiver = job.calls[send.started].thread, job.calls[receive.started].thread
            if error(sender, receiver) is not None:
                self.assertGreaterEqual(job.calls[receive.completed].end + error(sender, receiver), send.start)
        return error(*[next(call.thread for call in job.calls if job.rank(call.thread) == rank) for rank in (0, MOVED)])

    def test_random_programs(self):
        for mpi in self.each():
            program = self.build(mpi, "mpi_random.c", "-g")
            for seed in SEEDS:
                with self.subTest(mpi=mpi.name, seed=seed):
                    for folder in ("run", "moved"):
                        shutil.rmtree(self.path(folder), ignore_errors=True)
                    done = self.mpirun(mpi, RANKS, self.tacho_path, "profile", "-t", "mpi", "-s", "none", "-o", "run/", program, str(seed), STEPS)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    job, waits = self.compare("run", self.errors("run"))
                    print(f"{mpi.name}, seed {seed}: {len(job.messages)} messages, {sum(row['Count'] for row in waits)} waits of {len({row['Wait State'] for row in waits})} kinds")
                    error = self.check_moved()
                    print("  moved to another host: clocks " + ("not known" if error is None else f"± {error / 1000:.1f} µs"))

    def test_one_report(self):
        """All ranks in one report: one clock."""
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.profile_job(mpi, RANKS, self.build(mpi, "mpi_random.c", "-g"), "3", STEPS)
                self.compare(report.path, lambda a, b: 0)


def ranks_text(ranks):
    """0,1,3-5"""
    runs = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


if __name__ == "__main__":
    lib.main()
