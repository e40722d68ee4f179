"""Clocks of made reports whose true times are known: NTP slews the clock of a host in the middle of a capture, and its ranks began to record at different times; hosts without a
collective in common have the error that their kernels stated of UTC; clocks that contradict each other are named."""
import json
import os
import sqlite3
import subprocess
import tempfile
import unittest

from lib import PATIENCE, TACHO

SECOND = 1_000_000_000
TICKS = 2.1  # a ns
SLEW_FROM, SLEW_TO, SLEW_NS = 10 * SECOND, 11 * SECOND, 500_000
UTC = 1_790_000_000 * SECOND


def monotonic(time):
    """CLOCK_MONOTONIC at a true time: NTP adds half a millisecond within a second."""
    return time + SLEW_NS * (min(max(time, SLEW_FROM), SLEW_TO) - SLEW_FROM) // (SLEW_TO - SLEW_FROM)


def own(time, begin):
    """The time of a report: the counter, by lines between readings of each whole second."""
    second = time // SECOND * SECOND
    a, b = monotonic(second), monotonic(second + SECOND)
    return a + (b - a) * (time - second) // SECOND - monotonic(begin)


def make(folder, rank, begin, end, boot, events, utc_error=None, utc_off=0, communicator=None, error_column=True, host=None):
    """A report of a rank that recorded from one true time to another."""
    thread = 1 << 48 | (100 + rank) << 24 | (100 + rank)
    with sqlite3.connect(os.path.join(folder, f"rank{rank}.sqlite")) as file:
        file.executescript(f"""
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES (1, 'MPI_Allreduce'), (2, 'step');
            CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
            INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('BootId', '{boot}'), ('Hostname', '{host or boot}');
            CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);
            INSERT INTO MPI_RANKS VALUES ({thread}, {rank});
            CREATE TABLE MPI_COMMUNICATORS (rank INTEGER, timestamp INTEGER, commHandle INTEGER, size INTEGER, members TEXT);
            INSERT INTO MPI_COMMUNICATORS VALUES ({rank}, 0, 7, 2, '{communicator or rank}');
            CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, requestHandle INTEGER, requestEnd INTEGER);
            CREATE TABLE TACHO_CLOCK (timestamp INTEGER NOT NULL, ticks INTEGER NOT NULL, monotonicNs INTEGER NOT NULL, utcNs INTEGER NOT NULL, errorNs INTEGER NOT NULL{", utcErrorNs INTEGER" if error_column else ""});
        """)
        file.executemany(f"INSERT INTO MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId, commHandle) VALUES (?, ?, {thread}, 1, 7)", ((own(a, begin), own(b, begin)) for a, b in events))
        readings = [begin, *range((begin // SECOND + 1) * SECOND, end + SECOND, SECOND)]
        file.executemany(f"INSERT INTO TACHO_CLOCK VALUES (?, ?, ?, ?, 60{', ?' if error_column else ''})",
                         [(own(time, begin), int(time * TICKS) + 10**12, monotonic(time), UTC + utc_off + monotonic(time), *([utc_error] if error_column else [])) for time in readings])


class SetClocks(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = self.scratch.name

    def run_tacho(self, *words):
        return subprocess.run([TACHO, *words], capture_output=True, text=True, timeout=PATIENCE)

    def parts(self, *options):
        done = self.run_tacho("info", "-f", "json", *options, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {part["rank"]: part for part in json.loads(done.stdout)[0]["reports"]}

    def starts(self):
        done = self.run_tacho("sql", "-f", "csv", self.folder, "SELECT rank, start FROM MPI_COLLECTIVES_EVENTS ORDER BY rank, start")
        rows = [tuple(map(int, line.split(","))) for line in done.stdout.splitlines()[1:]]
        return [[start for rank, start in rows if rank == wanted] for wanted in (0, 1)]

    def test_a_slew_does_not_part_the_ranks_of_a_host(self):
        """One rank recorded from the start, the other from the middle of the slew on: events of the same moment are so in the set."""
        moments = [(time, time + 1000) for time in range(10_700_000_000, 20 * SECOND, 97_000_000)]
        make(self.folder, 0, 0, 20 * SECOND, "one", moments)
        make(self.folder, 1, 10_600_000_000, 20 * SECOND, "one", moments)
        first, second = self.starts()
        error = self.parts()[1]["clock_error_ns"]
        off = max(abs(a - b) for a, b in zip(first, second))
        print(f"off by {off} ns, stated ± {error} ns")
        self.assertEqual((len(first), self.parts()[1]["clock"]), (len(moments), "counter"))
        self.assertLessEqual(off, error + 2)

    def test_utc_has_the_error_of_both_kernels(self):
        for column, errors, expected in ((True, (1_500_000, 2_000_000), 3_500_000), (True, (None, 2_000_000), 52_000_000), (False, (None, None), 100_000_000)):
            with self.subTest(errors=errors, column=column):
                for rank, utc_error in enumerate(errors):
                    make(self.folder, rank, 0, 20 * SECOND, f"host{rank}", [(SECOND, 2 * SECOND)], utc_error, rank * 1_000_000, error_column=column)
                part = self.parts()[1]
                self.assertEqual(part["clock"], "utc")
                self.assertLessEqual(abs(part["clock_error_ns"] - expected), 20_000, part)
                self.assertLessEqual(abs(abs(part["clock_offset_ns"]) - 1_000_000), 20_000, part)
                for rank in (0, 1):
                    os.unlink(os.path.join(self.folder, f"rank{rank}.sqlite"))

    def test_contradicting_clocks_are_named(self):
        """One boot id for two machines, as restored snapshots have: by their counter they left barriers before the other one came."""
        times = range(SECOND, 19 * SECOND, 100_000_000)
        make(self.folder, 0, 0, 20 * SECOND, "same", [(time, time + 50_000) for time in times], communicator="0,1")
        make(self.folder, 1, 0, 20 * SECOND, "same", [(time + 3_000_000, time + 3_050_000) for time in times], communicator="0,1", host="copy")
        done = self.run_tacho("info", self.folder)
        self.assertRegex(done.stderr, r"the clocks of '.*rank0\.sqlite' and '.*rank1\.sqlite' contradict each other by 2\.9\d+ ms: a rank left a collective before another had come")


if __name__ == "__main__":
    unittest.main()
