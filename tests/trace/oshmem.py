"""OpenSHMEM: the calls that a program of two PEs makes, with their bytes and PEs, as it writes them down itself."""
import os
import shutil
import subprocess

import lib

MODULES = os.path.join(lib.SOURCE, "tests/trace/modules")
# Without patcher: Debian's Open MPI 4.1 ends with SIGSEGV in shmem_finalize() where UCX has hooks of free(), with or without tacho.
LAUNCH = "oshrun -n 2 --oversubscribe --mca spml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any --mca memory ^patcher".split()
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class OpenShmem(lib.Case):
    samples = False

    def setUp(self):
        super().setUp()
        for program in ("oshcc", "oshrun"):
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")

    def launch(self, *command):
        return subprocess.run([*LAUNCH, *command], cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=lib.PATIENCE)

    def program(self):
        path = self.path("program")
        subprocess.run(["oshcc", "-g", "-O1", "-w", "-o", path, os.path.join(MODULES, "oshmem_program.c")], check=True)
        bare = self.launch(path)
        if bare.returncode != 0:
            self.skipTest(f"OpenSHMEM does not work here: status {bare.returncode}, {bare.stderr[:300]}")
        return path

    def test_calls_with_bytes_and_pe(self):
        done = self.launch(*self.command(self.program(), options=["-t", "oshmem"], output="pe%q{OMPI_COMM_WORLD_RANK}.tacho"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("wrong:", done.stderr)
        for rank in range(2):
            report = self.report(f"pe{rank}.tacho")
            with open(self.path(f"calls.{rank}")) as file:
                expected = [tuple(line.split()) for line in file]
            self.assertGreater(len(expected), 40)
            rows = report.rows("""SELECT (SELECT value FROM StringIds WHERE id = nameId), coalesce(bytes, -1), coalesce(pe, -1), end - start
                                  FROM TACHO_OSHMEM ORDER BY start""")
            self.assertEqual([(name, str(size), str(pe)) for name, size, pe, _ in rows], expected)
            self.assertGreaterEqual(min(duration for *_, duration in rows), 0)
            self.assertEqual(report.count("oshmem", "recorded"), len(expected))
            self.assertEqual(report.count("oshmem", "empty-poll"), 1)
            self.assertEqual(report.causes("oshmem"), {})

    def test_one_of_two(self):
        """A PE that is not recorded works with one that is."""
        program = self.program()
        recorded = " ".join(self.command(program, options=["-t", "oshmem"], output="one.tacho"))
        done = self.launch("sh", "-c", f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec {recorded}; fi; exec {program}')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("calls.1")) as calls:
            self.assertEqual(self.report("one.tacho").count("oshmem", "recorded"), len(calls.readlines()))

    def test_a_program_without_openshmem(self):
        report = self.profile("true", options=["-t", "oshmem"])
        self.assertEqual(report.produced("oshmem"), 0)


if __name__ == "__main__":
    lib.main()
