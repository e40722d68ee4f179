"""Messages, wait states and critical paths of made MPI jobs. Random ones are compared with a brute-force reference (tests/trace/mpi/wait_truth.py), which is told
what belongs together; ten of them, with TACHO_TEST_ALL a thousand. Others are worked out by hand: what cannot be matched is counted and never guessed."""

import json
import os
import random
import sqlite3
import sys
import tempfile
import unittest

from lib import ALL, HERE, output, summary

sys.path.insert(0, os.path.join(HERE, "..", "trace", "mpi"))
import wait_truth  # noqa: E402

SEEDS = 1000 if ALL else 10
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "MPI_RANKS": "globalTid INTEGER NOT NULL, rank INTEGER NOT NULL",
    "MPI_COMMUNICATORS": "rank INTEGER, timestamp INTEGER, commHandle INTEGER, size INTEGER, members TEXT, globalPid INTEGER, name INTEGER",
    "MPI_P2P_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER",
    "MPI_START_WAIT_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER",
    "MPI_OTHER_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER",
    "MPI_COLLECTIVES_EVENTS": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, requestHandle INTEGER, requestEnd INTEGER",
    "TACHO_MPI_MESSAGE": "start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, rank INTEGER, isReceived INTEGER NOT NULL, peer INTEGER, tag INTEGER, "
                         "size INTEGER, communicator INTEGER",
}
WORLD, HANDLE = "aa-0", 77


class Made:
    """A job in the making: calls as the reference wants them, and a report with the same calls."""

    def __init__(self, ranks, whole=True):
        self.ranks, self.calls, self.rows, self.strings = ranks, [], {table: [] for table in TABLES}, {}
        members = ",".join(map(str, range(ranks)))
        for rank in range(ranks):
            self.rows["MPI_RANKS"].append({"globalTid": self.thread(rank), "rank": rank})
            self.rows["MPI_COMMUNICATORS"].append({"rank": rank, "timestamp": 0, "commHandle": HANDLE, "size": ranks, "members": members,
                                                   "globalPid": self.thread(rank) >> 24 << 24, "name": self.string(WORLD)})
            if whole:
                self.call("MPI_OTHER_EVENTS", rank, 0, 5, "MPI_Init")  # all at once: nobody waits

    @staticmethod
    def thread(rank, number=0):
        return 1 << 48 | (100 + rank) << 24 | (100 + rank + 1000 * number)

    @staticmethod
    def rank(thread):
        return (thread >> 24 & 0xffffff) - 100

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def call(self, table, rank, start, end, name, thread=0, **more):
        row = {"start": start, "end": end, "globalTid": self.thread(rank, thread), "textId": self.string(name), **more}
        self.rows[table].append(row)
        self.calls.append(wait_truth.Call(row["globalTid"], start, end, name))
        return len(self.calls) - 1

    def message(self, rank, start, end, name, received, peer, tag=0, size=8, thread=0, communicator=WORLD):
        self.rows["TACHO_MPI_MESSAGE"].append({"start": start, "end": end, "globalTid": self.thread(rank, thread), "textId": self.string(name), "rank": rank,
                                               "isReceived": received, "peer": peer, "tag": tag, "size": size, "communicator": self.string(communicator)})

    def send(self, rank, start, end, peer, **more):
        """A blocking send; recv: a blocking receive."""
        number = self.call("MPI_P2P_EVENTS", rank, start, end, "MPI_Send", more.get("thread", 0))
        self.message(rank, start, end, "MPI_Send", 0, peer, **more)
        return number

    def recv(self, rank, start, end, peer, **more):
        number = self.call("MPI_P2P_EVENTS", rank, start, end, "MPI_Recv", more.get("thread", 0))
        self.message(rank, start, end, "MPI_Recv", 1, peer, **more)
        return number

    def write(self, path):
        if os.path.exists(path):
            os.unlink(path)
        database = sqlite3.connect(path)
        self.rows["StringIds"] = [{"id": number, "value": text} for text, number in self.strings.items()]
        shuffled = random.Random(len(self.calls))
        for table, columns in TABLES.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
            rows = self.rows[table]
            shuffled.shuffle(rows)  # rows of a table are in no certain order
            for row in rows:
                names = list(row)
                database.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", [row[name] for name in names])
        database.commit()
        database.close()


def stats(name, path="job.sqlite"):
    return json.loads(output("stats", "-q", "-f", "json", "-r", name, path))


class RandomJob:
    """Ranks with a time each go through steps that all take part in, in order; a message takes a while, and nobody receives what was not sent."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = Made(self.random.randint(2, 5))
        self.now = [10 + self.random.randrange(50) for _ in range(self.made.ranks)]
        self.messages, self.collectives, self.probes = [], [], []
        for _ in range(self.random.randint(5, 40)):
            self.random.choice((self.one, self.one, self.burst, self.collective))()
        self.finalize()

    def finalize(self):
        """All leave together, or one leaves before the last one came: then nobody waited."""
        entered = [self.later(rank) + rank for rank in range(self.made.ranks)]
        together = self.random.random() < 0.7
        for rank, start in enumerate(entered):
            self.made.call("MPI_OTHER_EVENTS", rank, start, (max(entered) if together else start) + self.random.randint(1, 9), "MPI_Finalize")

    def later(self, rank):
        """The rank computes for a while."""
        self.now[rank] += self.random.choice((1, 5, 50, 1000)) * self.random.randint(1, 9)
        return self.now[rank]

    def take(self, rank, time):
        self.now[rank] += max(1, time)
        return self.now[rank]

    def pair(self):
        return self.random.sample(range(self.made.ranks), 2)

    def send(self, rank, peer, posted, tag, size, may_block):
        """Returns its side, when it was started. posted: when the receive was, for one that meets it."""
        start = self.later(rank)
        form = self.random.choice(("MPI_Send", "MPI_Bsend", "MPI_Isend"))
        meets = may_block and form != "MPI_Bsend" and self.random.random() < 0.5
        end = max(start + 3, posted + 4) if meets and form == "MPI_Send" else start + self.random.randint(1, 9)
        number = completed = self.made.call("MPI_P2P_EVENTS", rank, start, end, form)
        self.now[rank] = end
        if form == "MPI_Isend":
            waits = self.later(rank)
            end = max(waits + 2, posted + 4) if meets else waits + 2
            completed = self.made.call("MPI_START_WAIT_EVENTS", rank, waits, end, "MPI_Wait")
            self.now[rank] = end
        self.made.message(rank, start, end, form, 0, peer, tag, size)
        return wait_truth.Side(number, completed, start)

    def one(self):
        """One message. Which of the two comes first is as it happens; a send that meets the receive ends behind it."""
        source, target = self.pair()
        tag, size, form = self.random.randrange(2), self.random.choice((8, 16)), self.random.choice(("MPI_Recv", "MPI_Irecv", "MPI_Probe"))
        posted = begin = self.later(target)
        if form == "MPI_Irecv":
            posted = self.made.call("MPI_P2P_EVENTS", target, begin, begin + 2, form)
            self.now[target] = begin + 2
            send = self.send(source, target, begin, tag, size, True)
            waits = self.later(target)
            end = max(waits, send.start + 6) + 1
            completed = self.made.call("MPI_START_WAIT_EVENTS", target, waits, end, "MPI_Wait")
        else:
            send = self.send(source, target, begin, tag, size, form == "MPI_Recv")
            probe = begin
            if form == "MPI_Probe":
                seen = max(probe, send.start + 3) + 1
                number = self.made.call("MPI_P2P_EVENTS", target, probe, seen, form, commHandle=HANDLE, tag=tag, remoteRank=source, size=size)
                self.probes.append((number, send))
                begin = seen + self.random.randrange(5)
            end = max(begin, send.start + 6) + 1
            posted = completed = self.made.call("MPI_P2P_EVENTS", target, begin, end, "MPI_Recv")
        self.made.message(target, begin, end, "MPI_Irecv" if form == "MPI_Irecv" else "MPI_Recv", 1, source, tag, size)
        self.now[target] = end
        self.messages.append((send, wait_truth.Side(posted, completed, begin)))

    def burst(self):
        """Several at once, completed by one call at each end."""
        source, target = self.pair()
        tags, sides = [self.random.randrange(2) for _ in range(3)], ([], [])
        for side, rank, name in ((0, source, "MPI_Isend"), (1, target, "MPI_Irecv")):
            self.later(rank)
            for _ in tags:
                start = self.now[rank]
                self.now[rank] = start + 2 + self.random.randrange(3)
                sides[side].append((self.made.call("MPI_P2P_EVENTS", rank, start, start + 1, name), start))
        waits = [self.later(source), self.later(target)]
        last_sent, last_posted = sides[0][-1][1], sides[1][-1][1]
        ends = (max(waits[0], last_posted if self.random.random() < 0.5 else 0) + 2, max(waits[1], last_sent + 3) + 2)
        completed = [self.made.call("MPI_START_WAIT_EVENTS", rank, waits[side], ends[side], "MPI_Waitall") for side, rank in ((0, source), (1, target))]
        for side, rank, peer in ((0, source, target), (1, target, source)):
            self.now[rank] = ends[side]
            for tag, (_, start) in zip(tags, sides[side]):
                self.made.message(rank, start, ends[side], ("MPI_Isend", "MPI_Irecv")[side], side, peer, tag)
        # Of each tag, the n-th that was sent is the n-th that was posted: here, the order of both.
        for (send, sent), (receive, posted) in zip(*sides):
            self.messages.append((wait_truth.Side(send, completed[0], sent), wait_truth.Side(receive, completed[1], posted)))

    def collective(self):
        name = self.random.choice(("MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Allgatherv", "MPI_Bcast", "MPI_Scatter", "MPI_Reduce", "MPI_Gather", "MPI_Ibarrier",
                                   "MPI_Reduce_scatter_block"))
        root = self.random.randrange(self.made.ranks)
        has_root = name in ("MPI_Bcast", "MPI_Scatter", "MPI_Reduce", "MPI_Gather")
        entered = [self.later(rank) for rank in range(self.made.ranks)]
        if any(entered.count(time) > 1 for time in entered):  # who came last would be a matter of taste
            entered = self.now = [time + rank * 7 for rank, time in enumerate(entered)]
        entries = []
        for rank, start in enumerate(entered):
            needs = entered[root] if name in ("MPI_Bcast", "MPI_Scatter") else max(entered) if not has_root or rank == root else start
            end = max(start, needs) + self.random.randint(1, 20)
            more = {"commHandle": HANDLE, **({"rootRank": root} if has_root else {})}
            if name == "MPI_Ibarrier":
                number = self.made.call("MPI_COLLECTIVES_EVENTS", rank, start, start + 2, name, **more)
                self.now[rank] = start + 2
                waits = self.later(rank)
                end = max(waits, end) + 1
                self.made.rows["MPI_COLLECTIVES_EVENTS"][-1].update(requestHandle=5, requestEnd=end)
                waiting = self.made.call("MPI_START_WAIT_EVENTS", rank, waits, end, "MPI_Wait")
            else:
                number = waiting = self.made.call("MPI_COLLECTIVES_EVENTS", rank, start, end, name, **more)
            self.now[rank] = end
            entries.append(wait_truth.Entry(number, waiting, has_root and rank == root))
        self.collectives.append(entries)


class Stragglers(unittest.TestCase):
    def test_a_job_with_nothing_but_mpi(self):
        """Rank 2 computes for 7 ms before each of 40 barriers, the others for 5: its delay is the first line of the summary, and the first advice."""
        made, left = Made(4, whole=False), 0
        for step in range(40):
            entered = [left + (7 if rank == 2 else 5) * 1000000 + 10 * rank for rank in range(4)]
            left = max(entered) + 100000
            for rank in range(4):
                made.call("MPI_COLLECTIVES_EVENTS", rank, entered[rank], left, "MPI_Barrier", commHandle=HANDLE)
        made.write("late.sqlite")
        self.assertRegex(summary("late.sqlite"), r"^tacho: rank 2 is late: 2\.00 ms in each of 39 steps;.* takes about 2\.00 ms less of 7\.10 ms\n")
        self.assertEqual(["straggler"], [row["Rule"] for row in stats("advice_sum", "late.sqlite")])


class Waits(unittest.TestCase):
    def test_random_jobs(self):
        kinds, waits = set(), 0
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                job = RandomJob(seed)
                job.made.write("job.sqlite")
                truth = wait_truth.Job(job.made.calls, job.messages, job.collectives, Made.rank, probes=job.probes)
                rows = stats("mpi_wait_sum:pairs")
                wait_truth.compare(self, truth, rows, stats("critical_path_sum"))
                self.assertEqual(sorted((row["Sent (ns)"], row["Rank"], row["Posted (ns)"], row["PeerRank"]) for row in stats("mpi_message_trace")) if job.messages else [],
                                 sorted((send.start, Made.rank(job.made.calls[send.started].thread), receive.start, Made.rank(job.made.calls[receive.started].thread))
                                        for send, receive in job.messages))
                self.assertNotIn("", [row["Name"] for row in rows])
                kinds |= {row["Wait State"] for row in rows}
                waits += sum(row["Count"] for row in rows)
        self.assertEqual(kinds, set(wait_truth.ORDER))
        print(f"{SEEDS} jobs, {waits} waits")

    def expect(self, made, matched, unmatched):
        """matched: (sent, posted); unmatched: {(sends or receives, reason): count}"""
        made.write("job.sqlite")
        self.assertEqual([(row["Sent (ns)"], row["Posted (ns)"]) for row in stats("mpi_message_trace")], matched)
        rows = [row for row in stats("mpi_wait_sum") if not row["Name"]]
        self.assertEqual({row["Wait State"]: row["Count"] for row in rows}, {f"(unmatched {what}: {why})": count for (what, why), count in unmatched.items()})

    def test_the_order_of_a_channel(self):
        made = Made(2)
        made.send(0, 10, 20, 1, tag=1)
        made.send(0, 30, 40, 1, tag=2)
        made.send(0, 50, 60, 1, tag=1)
        made.recv(1, 100, 110, 0, tag=2)
        made.recv(1, 120, 130, 0, tag=1)
        made.recv(1, 140, 150, 0, tag=1)
        self.expect(made, [(10, 120), (30, 100), (50, 140)], {})

    def test_absent_and_alone(self):
        made = Made(2)
        made.send(0, 10, 20, 3)          # rank 3 was not recorded
        made.recv(1, 30, 40, None)       # from another world
        made.send(0, 30, 40, 1, tag=1)
        made.recv(1, 50, 60, 0, tag=1)
        made.send(0, 50, 60, 1, tag=1)   # the receiver ended before
        made.send(1, 70, 80, 0, tag=9)   # nobody ever receives on this channel
        self.expect(made, [(30, 50)], {("sends", "rank not recorded"): 1, ("receives", "peer not known"): 1, ("sends", "no counterpart"): 2})

    def test_not_recorded_from_the_start(self):
        """Two receives, three sends: which ones are missing cannot be told. As many of both are matched, unless that contradicts the times or the sizes."""
        made = Made(2, whole=False)
        for start in (10, 30, 50):
            made.send(0, start, start + 5, 1)
        for start in (100, 120):
            made.recv(1, start, start + 5, 0)
        self.expect(made, [], {("sends", "order uncertain"): 3, ("receives", "order uncertain"): 2})
        for received, size, matched in ((100, 8, True), (1, 8, False), (100, 9, False)):
            made = Made(2, whole=False)
            made.send(0, 10, 20, 1)
            made.recv(1, received, received + 3, 0, size=size)
            self.expect(made, [(10, received)] if matched else [], {} if matched else {("sends", "order uncertain"): 1, ("receives", "order uncertain"): 1})

    def test_open_receive(self):
        """A receive that nobody saw complete may have taken a message."""
        made = Made(2)
        made.send(0, 10, 20, 1)
        made.send(0, 30, 40, 1)
        made.call("MPI_P2P_EVENTS", 1, 45, 46, "MPI_Irecv")
        made.message(1, 45, None, "MPI_Irecv", 1, None, tag=-1)
        made.recv(1, 50, 60, 0)
        self.expect(made, [], {("sends", "order uncertain"): 2, ("receives", "order uncertain"): 1, ("receives", "peer not known"): 1})
        made = Made(2)
        made.send(0, 10, 20, 1)
        made.call("MPI_P2P_EVENTS", 1, 45, 46, "MPI_Irecv")
        made.message(1, 45, None, "MPI_Irecv", 1, None, tag=-1)
        made.recv(1, 50, 60, 0)          # all that was sent was received: the other one took nothing
        self.expect(made, [(10, 50)], {("receives", "peer not known"): 1})

    def test_order_of_threads(self):
        """Two threads that send at the same time, and two requests that one call started: either may be the first. The next ones are certain again."""
        made = Made(2)
        made.send(0, 10, 20, 1)
        made.send(0, 15, 25, 1, thread=1)
        made.send(0, 30, 40, 1)
        for start in (100, 120, 140):
            made.recv(1, start, start + 5, 0)
        self.expect(made, [(30, 140)], {("sends", "order uncertain"): 2, ("receives", "order uncertain"): 2})
        made = Made(2)
        made.call("MPI_START_WAIT_EVENTS", 0, 10, 11, "MPI_Startall")
        made.call("MPI_START_WAIT_EVENTS", 0, 12, 20, "MPI_Waitall")
        for _ in range(2):
            made.message(0, 10, 20, "MPI_Send_init", 0, 1)
        for start in (100, 120):
            made.recv(1, start, start + 5, 0)
        self.expect(made, [], {("sends", "order uncertain"): 2, ("receives", "order uncertain"): 2})

    def test_two_jobs(self):
        """A rank that is there twice is of two jobs: its messages are of none."""
        made = Made(2)
        made.send(0, 10, 20, 1)
        made.recv(1, 30, 40, 0)
        other = 1 << 48 | 500 << 24 | 500
        made.rows["MPI_RANKS"].append({"globalTid": other, "rank": 0})
        made.rows["TACHO_MPI_MESSAGE"].append({**made.rows["TACHO_MPI_MESSAGE"][0], "globalTid": other, "start": 50, "end": 60})
        self.expect(made, [], {("sends", "order uncertain"): 2, ("receives", "order uncertain"): 1})

    def test_path(self):
        """Rank 1 computes until 100 and sends; rank 0 waits for it, and ends at 130."""
        made = Made(2)
        made.recv(0, 10, 110, 1)
        made.send(1, 100, 105, 0)
        made.call("MPI_OTHER_EVENTS", 0, 120, 130, "MPI_Finalize")
        made.write("job.sqlite")
        self.assertEqual({(row["Rank"], row["Name"]): row["Total Time (ns)"] for row in stats("critical_path_sum")},
                         {(1, "MPI_Init"): 5, (1, "(outside of MPI)"): 95, (0, "MPI_Recv"): 10, (0, "(outside of MPI)"): 10, (0, "MPI_Finalize"): 10})
        self.assertEqual([(row["Wait State"], row["Name"], row["Total Time (ns)"], row["Waiting"], row["Waits For"]) for row in stats("mpi_wait_sum")],
                         [("Late Sender", "MPI_Recv", 90, "0", 1)])
        output("stats", "-q", "-r", "mpi_wait_sum:other", "job.sqlite", status=2)


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
    unittest.main()
