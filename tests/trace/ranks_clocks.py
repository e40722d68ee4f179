"""Reports of different hosts on one clock. Ranks of one machine share its counter, which says where their events truly are. The report of one rank is then
given another clock (30 ppm fast, and UTC 7 ms off, as hosts are) and another host: its own collectives must bring it back."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import rankslib  # noqa: E402
import lib  # noqa: E402

MOVED = 1
OFFSET_NS = rankslib.OFFSET_NS


class Clocks(mpilib.Case):
    def tacho(self, *arguments):
        return subprocess.run([self.tacho_path, *arguments], capture_output=True, text=True, timeout=lib.PATIENCE, cwd=self.folder)

    def rows(self, folder, query, *options):
        done = self.tacho("sql", "-f", "csv", *options, folder, query)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        return [line.split(",") for line in done.stdout.splitlines()[1:]]

    def clocks(self, folder):
        """Method and error by file."""
        parts = json.loads(self.tacho("info", "-f", "json", folder).stdout)[0]["reports"]
        return {os.path.basename(part["file"]): (part["clock"], part["clock_error_ns"]) for part in parts}

    def check_merged(self, folder):
        """One file of the job has the same messages, collectives and waits as the folder, on the same clock."""
        self.assertEqual(self.tacho("merge", "-q", "-f", "true", "-o", "merged.tacho", folder).returncode, 0)
        reports = "mpi_event_sum,mpi_comm_matrix,mpi_event_trace,mpi_wait_sum,mpi_message_trace,collective_sum,collective_trace,critical_path_sum,run_sum"
        tables = [self.tacho("stats", "-q", "-f", "csv", "-r", reports, path).stdout for path in (folder, "merged.tacho")]
        self.assertGreater(tables[0].count("\n"), 1000)
        self.assertEqual(tables[0].splitlines(), tables[1].splitlines())

    def test_collectives(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                for folder in ("true", "moved"):
                    shutil.rmtree(self.path(folder), ignore_errors=True)
                done = self.mpirun(mpi, 3, self.tacho_path, "profile", "-t", "mpi", "-s", "none", "-o", "true/", self.build(mpi, "mpi_clocks.c"))
                self.assertEqual(done.returncode, 0, done.stderr)
                os.mkdir(self.path("moved"))
                for rank in range(3):
                    source, target = self.path(f"true/rank000{rank}.tacho"), self.path(f"moved/rank000{rank}.tacho")
                    rankslib.move(self, source, target) if rank == MOVED else shutil.copy(source, target)
                query = "SELECT rank, start FROM MPI_COLLECTIVES_EVENTS ORDER BY rank, start"
                true = [int(start) for rank, start in self.rows("true", query) if int(rank) == MOVED]
                off = {}
                for choice in ("collectives", "utc"):
                    found = [int(start) for rank, start in self.rows("moved", query, "--clock", choice) if int(rank) == MOVED]
                    self.assertEqual(len(found), len(true))
                    off[choice] = max(abs(a - b) for a, b in zip(found, true))
                self.assertEqual({method for method, _ in self.clocks("true").values()}, {"reference", "counter"})
                for folder in ("true", "moved"):
                    self.check_merged(folder)
                method, error = self.clocks("moved")[f"rank000{MOVED}.tacho"]
                print(f"{mpi.name}: off by {off['collectives'] / 1000:.1f} µs, stated ± {error / 1000:.1f} µs; by UTC {off['utc'] / 1000:.0f} µs")
                self.assertEqual(method, "collectives")
                self.assertLessEqual(off["collectives"], error)
                self.assertGreater(off["utc"], OFFSET_NS // 2)
                # What the clocks are for: nobody leaves a barrier before the last one has come.
                early = self.rows("moved", "SELECT count(*) FROM (SELECT max(start) AS last, min(end) AS first FROM (SELECT start, end, row_number() OVER "
                                  "(PARTITION BY rank ORDER BY start) AS number FROM MPI_COLLECTIVES_EVENTS c JOIN StringIds s ON s.id = c.textId WHERE s.value = 'MPI_Allreduce') "
                                  f"GROUP BY number) WHERE first + {2 * error} < last")
                self.assertEqual(early, [["0"]])

    def test_none(self):
        """Without anything in common each keeps its own time."""
        for mpi in self.each()[:1]:
            done = self.mpirun(mpi, 2, self.tacho_path, "profile", "-t", "mpi", "-s", "none", "-o", "true/", self.build(mpi, "mpi_clocks.c"))
            self.assertEqual(done.returncode, 0, done.stderr)
            own = self.rows("true/rank0001.tacho", "SELECT min(start) FROM MPI_COLLECTIVES_EVENTS")
            self.assertEqual(self.rows("true", "SELECT min(start) FROM MPI_COLLECTIVES_EVENTS WHERE rank = 1", "--clock", "none"), own)


if __name__ == "__main__":
    lib.main()
