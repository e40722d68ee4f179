"""A job that hangs and is killed: hang_sum names the rank that never came, and the one that brought another operation."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import rankslib  # noqa: E402
import lib  # noqa: E402

RANKS, AT = 3, 1


class Hang(rankslib.Case):
    def pids(self, program):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as line:
                    is_hanging = os.readlink(f"/proc/{pid}/exe") == program and line.read().split("\0")[-3] in ("hang", "other", "size")
                if is_hanging and "torch.distributed.run" not in open(f"/proc/{pid}/cmdline").read():
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def count_said(self, words):
        with open(self.path("said")) as text:
            return text.read().count(words)

    def kill_in_hang(self, program, command, environment, after):
        """One report of all ranks, which are killed once all of them say that they hang."""
        with open(self.path("said"), "w+") as said:
            process = subprocess.Popen([self.tacho_path, "profile", "-t", "mpi", "-s", "none", "--pytorch=auto", "-f", "true", "-o", "job.tacho", *command],
                                       stdout=said, stderr=said, cwd=self.folder, start_new_session=True, env={**os.environ, **environment, "TMPDIR": self.folder})
            try:
                lib.until(lambda: self.count_said("hangs\n") == RANKS, "all ranks say that they hang")
                time.sleep(after)
                pids = self.pids(program)
                for how in (signal.SIGSTOP, signal.SIGKILL):  # nobody goes on because another one has died
                    for pid in pids:
                        os.kill(pid, how)
                process.wait(timeout=lib.PATIENCE)
            finally:
                lib.end_group(process)
        rows = [row for row in self.table("job.tacho", "hang_sum") if row["Communicator"] in ("ranks 0-2", "gloo group 1")]
        self.assertEqual(len(rows), 1)
        return rows[0]

    def check(self, mpi, fault, expected):
        """A rank that says that it hangs is about to enter: on a busy machine it takes a while."""
        program = os.path.realpath(self.build(mpi, "mpi_faults.c"))
        for after in (0.3, 2, 8):
            row = self.kill_in_hang(program, [*mpi.run, "-n", str(RANKS), program, fault, str(AT)], mpi.environment, after)
            if {name: row[name] for name in expected} == expected:
                return
        self.fail(f"{mpi.name}, {fault}: {row}, expected {expected}")

    def test_a_rank_never_comes(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.check(mpi, "hang", {"State": "hang", "Never Came": str(AT), "Inside": "0,2", "Absent Are In": f"rank {AT}: no call of MPI", "Brought Another": None,
                                         "Operation": "MPI_Allreduce", "Bytes (B)": 256, "Number": 10})

    def test_a_rank_calls_another_operation(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.check(mpi, "other", {"State": "mismatch", "Never Came": None, "Brought Another": f"rank {AT}: MPI_Bcast", "Operation": "MPI_Allreduce", "Number": 10})


    def test_gloo(self):
        self.need_torch()
        python = subprocess.run([lib.TORCH_PYTHON, "-c", "import os; print(os.readlink('/proc/self/exe'))"], capture_output=True, text=True).stdout.strip()
        steps = os.path.join(lib.SOURCE, "tests/trace/python/gloo_steps.py")
        command = [lib.TORCH_PYTHON, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}", steps, "hang", str(AT)]
        row = self.kill_in_hang(python, command, {"OMP_NUM_THREADS": "1"}, 3)
        self.assertEqual({name: row[name] for name in ("State", "Never Came", "Inside", "Operation")},
                         {"State": "hang", "Never Came": str(AT), "Inside": "0,2", "Operation": "gloo:all_reduce"}, row)


if __name__ == "__main__":
    lib.main()
