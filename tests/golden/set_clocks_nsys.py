"""Files of nsys of two hosts, made from true times: the clock of one is 7 ms off and 30 ppm fast, and NTP slews it by 0.5 ms. 1,000 small collectives must bring it back: the true
offset lies within the stated error, which is at most 20 µs. nsys's rule (UTC at the start of each report) is off by milliseconds. TACHO_TEST_ALL takes 1,000 seeds."""
import json
import os
import random
import sqlite3
import subprocess
import tempfile
import unittest

from lib import ALL, PATIENCE, TACHO

SEEDS = 1000 if ALL else 2
SECOND, US = 1_000_000_000, 1000
OFFSET, DRIFT, SLEW = 7_000_000, 30e-6, 500e-6  # ns; slewed for a second
UTC = 1_790_000_000 * SECOND
INSTANCES, SPAN = 1000, 30 * SECOND


def make(path, rank, utc, spans):
    """What nsys exports of a rank, as far as clocks need it: no counter, no boot id."""
    thread = 1 << 48 | (100 + rank) << 24 | (100 + rank)
    with sqlite3.connect(path) as file:
        file.executescript(f"""
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES (1, 'MPI_Allreduce');
            CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
            INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES ({utc});
            CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
            INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('Hostname', 'node{rank}');
            CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);
            INSERT INTO MPI_RANKS VALUES ({thread}, {rank});
            CREATE TABLE MPI_COMMUNICATORS (rank INTEGER, timestamp INTEGER, commHandle INTEGER, size INTEGER, members TEXT);
            INSERT INTO MPI_COMMUNICATORS VALUES ({rank}, 0, 7, 2, '0,1');
            CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER);
        """)
        file.executemany(f"INSERT INTO MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId, commHandle) VALUES (?, ?, {thread}, 1, 7)", spans)


class Job:
    """Two ranks that meet INSTANCES times. Rank 0 has the true time."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.begin = self.random.randrange(SECOND)  # of the capture of rank 1
        self.slew = self.random.uniform(5, 20) * SECOND
        self.spans = [[], []]
        for number in range(INSTANCES):
            when = 2 * SECOND + (number + self.random.uniform(0.2, 0.8)) * SPAN / INSTANCES
            enter = [when + self.random.expovariate(1 / (30 * US)) for _ in range(2)]
            latency = [self.random.uniform(2 * US, 7 * US) for _ in range(2)]
            for rank in range(2):
                self.spans[rank].append((enter[rank], max(enter[rank], enter[1 - rank] + latency[rank]) + self.wakeup()))

    def wakeup(self):
        """A rank needs some time to see the last message; now and then something else has its CPU."""
        return 500 + self.random.expovariate(1 / 1500) + (10 ** self.random.uniform(4, 6.3) if self.random.random() < 0.02 else 0)

    def own(self, time):
        """The time of rank 1's report."""
        return int((time - self.begin) * (1 + DRIFT) + SLEW * min(max(time - self.slew, 0), SECOND))

    def write(self, folder):
        make(f"{folder}/rank0.sqlite", 0, UTC, [(int(a), int(b)) for a, b in self.spans[0]])
        make(f"{folder}/rank1.sqlite", 1, UTC + self.begin + OFFSET, [(self.own(a), self.own(b)) for a, b in self.spans[1]])


class NsysClocks(unittest.TestCase):
    def run_tacho(self, *words):
        done = subprocess.run([TACHO, *words], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def off(self, job, folder, choice):
        """By how much the starts of rank 1 are off at most."""
        table = self.run_tacho("sql", "-f", "csv", "--clock", choice, folder, "SELECT start FROM MPI_COLLECTIVES_EVENTS WHERE rank = 1 ORDER BY start")
        found = [int(line) for line in table.splitlines()[1:]]
        self.assertEqual(len(found), INSTANCES)
        return max(abs(start - int(true)) for start, (true, _) in zip(found, job.spans[1]))

    def test_collectives_bring_the_clock_back(self):
        inside, stated, true, utc = 0, [], [], []
        for seed in range(SEEDS):
            with tempfile.TemporaryDirectory() as folder:
                job = Job(seed)
                job.write(folder)
                part = next(part for part in json.loads(self.run_tacho("info", "-f", "json", folder))[0]["reports"] if part["rank"] == 1)
                self.assertEqual(part["clock"], "collectives", f"seed {seed}")
                stated.append(part["clock_error_ns"])
                true.append(self.off(job, folder, "collectives"))
                utc.append(self.off(job, folder, "utc"))
                inside += true[-1] <= stated[-1]
        print(f"{inside} of {SEEDS} inside the stated error: {max(stated) / US:.1f} µs at most; off by {max(true) / US:.1f} µs at most; nsys's rule: {min(utc) / US:.0f} µs at least")
        self.assertGreaterEqual(inside, SEEDS * 0.99)
        self.assertLessEqual(max(stated), 20 * US)
        self.assertGreater(min(utc), 5_000 * US)


if __name__ == "__main__":
    unittest.main()
