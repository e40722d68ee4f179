"""Jobs of MPI in which some ranks are profiled and others are not: they end, with the output that they have without Tacho. Communicators are split,
copied, created, joined and spawned, which all ranks must do together: a profiler that sent a message of its own would hang the job or break it.

The gate runs each kind a few times, TACHO_TEST_ALL=1 a hundred times."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import guestlib  # noqa: E402

TIMES = 100 if guestlib.ALL else 2


class Ranks(mpilib.Case):
    def job(self, mpi, profiled, *command):
        """Four ranks, of which the first so many are profiled; what the job printed."""
        mine = self.command(options=["-q", "-t", "mpi"], output=f"run-%q{{{mpi.rank}}}.tacho")
        parts = [*mine, *command, ":", "-n", str(4 - profiled), *command] if 0 < profiled < 4 else [*(mine if profiled else []), *command]
        done = self.mpirun(mpi, profiled or 4, *parts)
        said = [line for line in done.stderr.splitlines() if not line.startswith("tacho")]
        self.assertEqual((done.returncode, said), (0, []), f"{mpi.name}: {profiled} of 4 ranks")
        return done.stdout

    def test_some_ranks(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                command = [self.build(mpi, "mpi_groups.c"), *(["spawn"] if "spawn" in mpi.can else [])]
                bare = self.job(mpi, 0, *command)
                self.assertEqual(bare.count("checks"), 4, bare)
                for profiled in (1, 3):
                    for _ in range(TIMES):
                        self.assertEqual(self.job(mpi, profiled, *command), bare, f"{profiled} of 4 ranks")
                        self.assertEqual([os.path.exists(self.path(f"run-{rank}.tacho")) for rank in range(4)], [rank < profiled for rank in range(4)])
                    for rank in range(profiled):
                        os.unlink(self.path(f"run-{rank}.tacho"))


if __name__ == "__main__":
    guestlib.lib.main()
