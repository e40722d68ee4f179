"""Planted faults in programs of MPI and PyTorch: straggler_sum names the rank first, with cause and line, or nobody. Timing: see
unit/analyze_stragglers for the same on made ranks."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import rankslib  # noqa: E402
import lib  # noqa: E402

AT = 1


class Stragglers(rankslib.Case):
    def check(self, folder, cause, where, what):
        rows = self.table(folder, "straggler_sum")
        if cause is None:  # on a busy machine a rank may be late again and again, but not by much: a quarter of the planted faults
            self.assertEqual([row for row in rows if row["Could Gain a Step (ns)"] > (7_000_000 if "gloo" in what else 1_000_000)], [], what)
            return
        self.assertTrue(rows, f"{what}: nobody is named")
        row = rows[0]
        print(f"{what}: {row}")
        self.assertEqual(row["Rank"], AT, f"{what}: {rows}")
        self.assertIn(row["Cause"], (cause, "off CPU: others run there" if cause == "compute" else cause), f"{what}: {rows}")
        self.assertIn(where, row["Where"] or "", f"{what}: {row}")
        self.assertGreater(row["Could Gain a Step (ns)"], 0, what)

    def test_mpi(self):
        faults = (("none", None), ("compute", "compute"), ("sleep", "sleeping"), ("message", "compute"), ("pair", "compute"))
        for mpi in self.each():
            program = self.build(mpi, "mpi_faults.c", "-g")
            # MPICH's ranks poll: more of them than CPUs take turns, which is what straggler_sum then says. Open MPI's yield.
            yields = mpi.name.startswith("openmpi")
            for fault, cause in faults if yields else faults[:3]:
                with self.subTest(mpi=mpi.name, fault=fault):
                    folder = self.record(mpi, 3 if fault in ("message", "pair") else 2, program, fault, str(AT), options=("-t", "mpi,osrt"))
                    self.check(folder, cause, "mpi_faults.c" if fault == "sleep" else "slow_part (mpi_faults.c", f"{mpi.name} {fault}")

    def test_gloo(self):
        self.need_torch()
        for fault, cause, where in (("even", None, ""), ("compute", "compute", "slow_part"), ("load", "sleeping", "load"), ("collect", "garbage collection", "collect")):
            with self.subTest(fault=fault):
                folder = self.torchrun(fault, AT, options=("-t", "osrt", "--python-sampling=true", "--python-events=true"))
                self.check(folder, cause, where, f"gloo {fault}")


if __name__ == "__main__":
    lib.main()
