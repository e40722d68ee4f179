"""tacho profile as a rank of a job: a folder gets a report of each rank, %r, --ranks, what one rank of a host records for all, and launchers in front of
which tacho does not belong. With Debian's Open MPI and MPICH where they are installed; other launchers by the variables that they set."""
import glob
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402
import lib  # noqa: E402

# Of launchers that are not installed here: what they set for rank 5 of 8 that is number 1 of 4 on its host. SLURM_GTIDS lists the ranks of the host.
LAUNCHERS = {
    "torchrun": {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "job7"},
    "Slurm": {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_GTIDS": "4,5,6,7", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "3"},
    "MVAPICH": {"MV2_COMM_WORLD_RANK": "5", "MV2_COMM_WORLD_SIZE": "8", "MV2_COMM_WORLD_LOCAL_RANK": "1", "MV2_COMM_WORLD_LOCAL_SIZE": "4"},
    "jsrun": {"JSM_NAMESPACE_RANK": "5", "JSM_NAMESPACE_SIZE": "8", "JSM_NAMESPACE_LOCAL_RANK": "1", "JSM_NAMESPACE_LOCAL_SIZE": "4", "LSB_JOBID": "9"},
    "Flux": {"FLUX_TASK_RANK": "5", "FLUX_JOB_SIZE": "8", "FLUX_TASK_LOCAL_ID": "1", "FLUX_JOB_ID": "f8"},
    "PALS": {"PALS_RANKID": "5", "PMI_RANK": "5", "PMI_SIZE": "8", "PALS_LOCAL_RANKID": "1", "PALS_LOCAL_SIZE": "4", "PALS_APID": "a"},
    "PMIx": {"PMIX_RANK": "5", "PMIX_NAMESPACE": "n"},
    "Kubernetes": {"JOB_COMPLETION_INDEX": "5"},
}
JOBS = {"torchrun": "job7", "Slurm": "77.3", "jsrun": "9", "Flux": "f8", "PALS": "a", "PMIx": "n"}
PREFIXES = ("SLURM_", "OMPI_", "PMI", "PALS_", "JSM_", "FLUX_", "MV2_", "MVP_", "MPI_LOCAL", "TORCHELASTIC_")


def outside():
    """The environment of a process in no job."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(PREFIXES) and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "JOB_COMPLETION_INDEX", "PBS_NODEFILE")}


class Ranks(mpilib.Case):
    samples = False

    def tacho(self, *arguments, variables=None, output="run/", options=(), force=(), **more):
        """tacho profile with these variables; output is relative to the folder."""
        command = [self.tacho_path, "profile", "-s", "none", "-t", "osrt", "-o", output, *force, *options, *arguments]
        return subprocess.run(command, cwd=more.pop("cwd", self.folder), env={**outside(), **(variables or {})}, capture_output=True, text=True, timeout=lib.PATIENCE, **more)

    def files(self, folder="run"):
        return sorted(os.path.relpath(path, self.folder) for path in glob.glob(self.path(folder) + "/*"))

    def ok(self, done, status=0):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def refused(self, done, *words, status=2):
        """One sentence, nothing else, and the program did not run."""
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def facts(self, report):
        return dict(report.rows("SELECT name, value FROM META_DATA_CAPTURE"))


class Folder(Ranks):
    def test_every_launcher_has_its_rank(self):
        for launcher, variables in LAUNCHERS.items():
            with self.subTest(launcher=launcher):
                self.ok(self.tacho("true", variables=variables, output=f"{launcher}/deep/"))
                self.assertEqual(self.files(f"{launcher}/deep"), [f"{launcher}/deep/rank0005.tacho"])
                report = self.report(f"{launcher}/deep/rank0005.tacho")
                facts = self.facts(report)
                self.assertEqual((facts["LAUNCHER"], facts["RANK"], facts.get("JOB")), (launcher, "5", JOBS.get(launcher)))
                self.assertEqual(report.rows("SELECT DISTINCT rank, rankSource FROM TACHO_PROCESS"), [(5, launcher)])
                if launcher in JOBS:
                    self.assertEqual(report.rows("SELECT DISTINCT job FROM TACHO_PROCESS"), [(JOBS[launcher],)])
                self.ok(self.tacho("true", variables=variables, output=f"{launcher}-%r-%%"))
                self.assertTrue(os.path.exists(self.path(f"{launcher}-5-%.tacho")))

    def test_machine_can_be_told_from_others(self):
        self.ok(self.tacho("true", output="one"))
        found = dict(self.report("one.tacho").rows("SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"))
        with open("/proc/sys/kernel/random/boot_id") as file:
            self.assertEqual(found["BootId"], file.read().strip())
        self.assertEqual(f"pid:[{found['PidNamespace']}]", os.readlink("/proc/self/ns/pid"))

    def test_outside_of_a_job(self):
        for expected in (["run/report1.tacho"], ["run/report1.tacho", "run/report2.tacho"]):
            self.ok(self.tacho("true"))
            self.assertEqual(self.files(), expected)
        self.refused(self.tacho("echo", "x", output="x-%r"), "%r is the rank", "mpirun -n 4 tacho profile")

    def test_batch_script_of_slurm_is_no_rank(self):
        variables = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "4"}
        self.ok(self.tacho("true", variables=variables))
        self.assertEqual(self.files(), ["run/report1.tacho"])

    def test_existing_folder_without_a_slash_and_many_ranks(self):
        os.mkdir(self.path("run"))
        self.ok(self.tacho("true", variables={"RANK": "7", "WORLD_SIZE": "123456"}, output="run"))
        self.assertEqual(self.files(), ["run/rank000007.tacho"])

    def test_second_job_overwrites_nothing(self):
        variables = LAUNCHERS["torchrun"]
        self.ok(self.tacho("true", variables=variables))
        with open(self.path("run/rank0005.tacho"), "rb") as file:
            before = file.read()
        self.refused(self.tacho("echo", "x", variables=variables), "rank0005.tacho", "exists already", "rank 5", "-f true", "another folder", status=1)
        with open(self.path("run/rank0005.tacho"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.ok(self.tacho("true", variables={**variables, "TORCHELASTIC_RUN_ID": "other"}, force=["-f", "true"]))
        self.assertEqual(self.facts(self.report("run/rank0005.tacho"))["JOB"], "other")

    def test_one_rank_twice_at_once(self):
        """One of them gets the name, the other one sentence."""
        command = [self.tacho_path, "profile", "-s", "none", "-t", "osrt", "-o", "run/", "sh", "-c", "read line; true"]
        both = [subprocess.Popen(command, cwd=self.folder, env={**outside(), **LAUNCHERS["torchrun"]}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate("\n", timeout=lib.PATIENCE)[1] for process in both]
        self.assertEqual(sorted(process.returncode for process in both), [0, 1], said)
        self.assertEqual(sum("exists already" in text for text in said), 1, said)
        self.assertEqual(self.files(), ["run/rank0005.tacho"])
        self.assertEqual(self.report("run/rank0005.tacho").value("SELECT count(*) FROM TACHO_PROCESS WHERE image = 0"), 1)

    def test_folders_that_cannot_be(self):
        variables = LAUNCHERS["torchrun"]
        with open(self.path("file"), "w"):
            pass
        self.refused(self.tacho("echo", "x", variables=variables, output="file/"), "'file'", "a file has that name", status=1)
        self.refused(self.tacho("echo", "x", variables=variables, output="file/run/"), "a file has that name", status=1)
        if os.geteuid() != 0:
            return
        self.open_to_all_users()
        os.mkdir(self.path("closed"), 0o755)
        for output in ("closed/", "closed/run/"):
            command = [*lib.AS_NOBODY, self.tacho_path, "profile", "-s", "none", "-o", self.path(output), "echo", "x"]
            done = subprocess.run(command, cwd=self.folder, env={**outside(), **variables}, capture_output=True, text=True, timeout=lib.PATIENCE)
            self.refused(done, "Permission denied", "closed/", status=1)

    def test_program_without_the_variables_keeps_its_rank(self):
        self.ok(self.tacho("true", variables=LAUNCHERS["Slurm"], options=["-n", "false"]))
        self.assertEqual(self.report("run/rank0005.tacho").rows("SELECT DISTINCT rank, worldSize, job FROM TACHO_PROCESS"), [(5, 8, "77.3")])

    def test_one_line_and_no_summary(self):
        done = self.ok(self.tacho("true", variables=LAUNCHERS["torchrun"]))
        self.assertEqual(done.stderr, "tacho: report: run/rank0005.tacho\n")


class Chosen(Ranks):
    def bare(self, ranks, *command, variables=None, **more):
        return self.tacho(*command, variables=variables or LAUNCHERS["torchrun"], options=["--ranks", ranks], **more)

    def test_others_run_bare(self):
        """Same environment, output, status and parent; nothing is written."""
        expected = {**outside(), **LAUNCHERS["torchrun"]}
        for ranks in ("0", "0,6-7", "6,4"):
            done = self.ok(self.bare(ranks, "cat", "/proc/self/environ"))
            self.assertEqual(dict(line.split("=", 1) for line in done.stdout.split("\0") if line), expected)
            done = self.bare(ranks, "sh", "-c", "echo $PPID; echo error >&2; exit 7")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (7, f"{os.getpid()}\n", "error\n"), "it is no child of tacho, but takes its place")
        self.assertFalse(os.path.exists(self.path("run")))
        done = self.bare("0", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, -signal.SIGKILL)

    def test_variables_of_the_command_line_are_set(self):
        done = self.ok(self.tacho("sh", "-c", "echo $A", variables=LAUNCHERS["torchrun"], options=["--ranks", "0", "-e", "A=b"]))
        self.assertEqual(done.stdout, "b\n")

    def test_chosen_ones_are_recorded(self):
        for ranks in ("5", "0,5", "4-6", "0-7"):
            self.ok(self.bare(ranks, "true", force=["-f", "true"]))
            self.assertEqual(self.files(), ["run/rank0005.tacho"])

    def test_script_without_interpreter_and_no_program(self):
        with open(self.path("script"), "w") as file:
            file.write("echo here $1\n")
        os.chmod(self.path("script"), 0o755)
        self.assertEqual(self.ok(self.bare("0", "./script", "x")).stdout, "here x\n")
        self.refused(self.bare("0", "./missing"), "missing", status=127)

    def test_bad_lists(self):
        for ranks in ("", "x", "1,", ",1", "3-1", "-1", "1-", "1 2", "0x1", "99999999999", "1,,2", "1-2-3"):
            done = self.bare(ranks, "echo", "x")
            self.assertEqual((done.returncode, done.stdout), (2, ""), ranks)
            self.assertIn("--ranks must be a list of ranks such as 0,8-15" if ranks else "--ranks", done.stderr)
        self.refused(self.bare("0,8", "echo", "x"), "--ranks names rank 8", "ranks 0 to 7")
        self.refused(self.tacho("echo", "x", options=["--ranks", "0"]), "--ranks needs a rank", "mpirun -n 4 tacho profile --ranks 0")


class OfHost(Ranks):
    """Data of the whole host are recorded by one rank of it."""

    def left(self, variables, options=("-s", "system-wide"), output="run/"):
        self.ok(self.tacho("true", variables=variables, options=["-f", "true", *options], output=output))
        path = max(glob.glob(self.path(output) + "*.tacho"), key=os.path.getmtime)
        info = subprocess.run([self.tacho_path, "info", path], capture_output=True, text=True).stdout
        left = [line[len("Left to others"):].strip() for line in info.splitlines() if line.startswith("Left to others")]
        self.assertEqual(left, [self.facts(self.report(path)).get("LEFT_TO")] if left else [])
        return left[0] if left else None

    def slurm(self, rank, local, ranks):
        return {**LAUNCHERS["Slurm"], "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(local), "SLURM_GTIDS": ranks}

    def torch(self, rank, local, size):
        return {**LAUNCHERS["torchrun"], "RANK": str(rank), "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(size)}

    def test_samples_of_all_processes(self):
        what = "CPU samples and context switches"
        for variables, ranks, expected in ((self.torch(4, 0, 4), None, None),
                                           (self.torch(6, 2, 4), None, f"{what} (to rank 4)"),
                                           (self.torch(6, 2, 4), "5,6", f"{what} (to rank 5)"),
                                           (self.torch(6, 2, 4), "0,6", None),
                                           (self.torch(5, 0, 1), None, None),
                                           (self.slurm(6, 1, "4,6"), None, f"{what} (to rank 4)"),
                                           (self.slurm(6, 1, "4,6"), "6-7", None),
                                           (self.torch(6, 1, 4), None, f"{what} (to local rank 0 of this host)"),
                                           (self.torch(6, 1, 4), "5,6", None),
                                           (LAUNCHERS["Kubernetes"], None, None)):
            with self.subTest(variables=variables, ranks=ranks):
                options = ["-s", "system-wide", *(["--ranks", ranks] if ranks else [])]
                self.assertEqual(self.left(variables, options), expected)

    def test_what_is_the_ranks_own_stays(self):
        self.assertIsNone(self.left(self.torch(6, 2, 4), ["-s", "process-tree"]))

    def test_metrics_of_gpus(self):
        """Of all GPUs, by one rank; a rank that has a GPU for itself records that one."""
        expected = "GPU metrics (to rank 4)"
        self.assertEqual(self.left(self.torch(6, 2, 4), ["-t", "cuda"]), expected)
        self.assertEqual(self.left({**self.torch(6, 2, 4), "CUDA_VISIBLE_DEVICES": "0,1"}, ["-t", "cuda"]), expected)
        self.assertIsNone(self.left({**self.torch(6, 2, 4), "CUDA_VISIBLE_DEVICES": "2"}, ["-t", "cuda"]))
        self.assertEqual(self.left({**self.torch(6, 2, 4), "CUDA_VISIBLE_DEVICES": "2"}, ["--gpu-metrics-devices=all"]), expected)
        self.assertEqual(self.left(self.torch(6, 2, 4), ["-t", "cuda", "--event-sample=system-wide"]),
                         "GPU metrics, event counters (to rank 4)")


class Launchers(Ranks):
    """A launcher as the program."""

    def said(self, *command, variables=None):
        """What tacho says in front of a stand-in with the launcher's name."""
        stand_in = self.path(command[0])
        if not os.path.exists(stand_in):
            os.symlink("/bin/true", stand_in)
        done = self.ok(self.tacho(stand_in, *command[1:], output="x%n", options=["-q"], variables=variables))
        return [line for line in done.stderr.splitlines() if not line.startswith("tacho: report")]

    def test_those_that_start_ranks_elsewhere(self):
        with open(self.path("hosts"), "w") as file:
            file.write("# ours\nlocalhost slots=2\nnode9:4\n")
        for command in (["srun", "-n", "8", "./x"], ["jsrun", "-n", "8", "./x"], ["flux", "run", "-n8", "./x"], ["kubectl", "exec", "pod", "--", "./x"],
                        ["mpirun", "-H", "node8,node9", "sh"], ["mpirun", "--host", "localhost:2,node9:2", "sh"], ["mpiexec.hydra", "-hosts", "node9", "sh"],
                        ["mpirun", "--hostfile", self.path("hosts"), "sh"], ["mpiexec", "-n", "2", "-f", self.path("hosts"), "sh"]):
            with self.subTest(command=command):
                said = self.said(*command)
                self.assertEqual(len(said), 1, said)
                self.assertIn(f"put tacho behind it: {command[0].split('.')[0]} ", said[0])
                self.assertIn("tacho profile -o run/ PROGRAM", said[0])
        self.assertIn("SLURM_JOB_NUM_NODES=4", self.said("mpirun", "-n", "8", "sh", variables={"SLURM_JOB_NUM_NODES": "4"})[0])
        self.assertIn("node9", self.said("mpirun", "-n", "8", "sh", variables={"PBS_NODEFILE": self.path("hosts")})[0])

    def test_no_false_alarm(self):
        with open(self.path("hosts"), "w") as file:
            file.write(f"localhost slots=2\n{os.uname().nodename}:4\n127.0.0.1\n")
        for command in (["mpirun", "-n", "4", "./x"], ["mpirun", "-n", "4", "--oversubscribe", "sh", "--host", "node9"], ["mpirun", "-H", "localhost:4", "sh"],
                        ["mpirun", "--hostfile", self.path("hosts"), "sh"], ["mpirun", "--host", os.uname().nodename + ".example.org", "sh"],
                        ["mpirun", "-n", "2", "python3", "-m", "x", "--hosts", "node9"], ["kubectl", "get", "pods"], ["flux", "jobs"],
                        ["torchrun", "--nnodes", "2", "x.py"], ["srunner", "x"], ["mpirun"], ["mpirun", "--host"], ["mpirun", "--hostfile", "/missing", "sh"]):
            with self.subTest(command=command):
                self.assertEqual(self.said(*command), [])
        self.assertEqual(self.said("mpirun", "--host", "localhost", "sh", variables={"SLURM_JOB_NUM_NODES": "4"}), [])
        self.assertEqual(self.said("mpirun", "-n", "2", "sh", variables={"SLURM_JOB_NUM_NODES": "1"}), [])


class Mpi(Ranks):
    def test_a_report_of_each_rank(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                program = self.build(mpi, "mpi_collectives.c")
                self.ok(self.mpirun(mpi, 3, self.tacho_path, "profile", "-s", "none", "-t", "mpi", "-o", f"{mpi.name}/", program))
                self.assertEqual(self.files(mpi.name), [f"{mpi.name}/rank000{rank}.tacho" for rank in range(3)])
                jobs = set()
                for rank in range(3):
                    report = self.report(f"{mpi.name}/rank000{rank}.tacho")
                    self.assertEqual(report.rows("SELECT DISTINCT rank FROM MPI_RANKS"), [(rank,)], "what MPI_Comm_rank said")
                    self.assertEqual(report.rows("SELECT DISTINCT rank, localRank, worldSize FROM TACHO_PROCESS"), [(rank, rank, 3)])
                    jobs.add(self.facts(report).get("JOB"))
                self.assertEqual(len(jobs), 1, jobs)

    def test_one_report_of_all_ranks(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                program = self.build(mpi, "mpi_collectives.c")
                done = self.ok(self.mpirun(mpi, 3, program, before=[self.tacho_path, "profile", "-s", "none", "-t", "mpi", "-o", f"{mpi.name}/"]))
                self.assertNotIn("put tacho behind", done.stderr)
                self.assertEqual(self.files(mpi.name), [f"{mpi.name}/report1.tacho"])
                report = self.report(f"{mpi.name}/report1.tacho")
                self.assertEqual(report.rows("SELECT DISTINCT rank FROM MPI_RANKS ORDER BY rank"), [(0,), (1,), (2,)])
                self.assertNotIn("RANK", self.facts(report), "the capture itself is none")

    def test_chosen_ranks(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                program = self.build(mpi, "mpi_collectives.c")
                self.ok(self.mpirun(mpi, 3, self.tacho_path, "profile", "-s", "none", "-t", "mpi", "-o", f"{mpi.name}/", "--ranks", "0,2", program))
                self.assertEqual(self.files(mpi.name), [f"{mpi.name}/rank000{rank}.tacho" for rank in (0, 2)])


class Torch(Ranks):
    """torchrun itself, where torch is installed."""

    def torchrun(self, *arguments):
        self.need_torch()
        return [lib.TORCH_PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *arguments]

    def script(self):
        with open(self.path("ranks.py"), "w") as file:
            file.write("import os\nprint('rank', os.environ['RANK'])\n")
        return "ranks.py"

    def test_behind_torchrun(self):
        command = self.torchrun("--no-python", self.tacho_path, "profile", "-s", "none", "-t", "osrt", "-o", "run/", sys.executable, self.script())
        done = self.ok(subprocess.run(command, cwd=self.folder, env=outside(), capture_output=True, text=True, timeout=lib.PATIENCE))
        self.assertEqual(sorted(done.stdout.split("\n")), ["", "rank 0", "rank 1"])
        self.assertEqual(self.files(), ["run/rank0000.tacho", "run/rank0001.tacho"])
        jobs = {self.facts(self.report(f"run/rank000{rank}.tacho")).get("JOB") for rank in range(2)}
        self.assertEqual(len(jobs - {None}), 1, jobs)

    def test_in_front_of_torchrun(self):
        command = self.torchrun(self.script())
        self.ok(self.tacho(*command, output="one"))
        self.assertEqual(self.report("one.tacho").rows("SELECT DISTINCT rank FROM TACHO_PROCESS WHERE rank IS NOT NULL ORDER BY rank"), [(0,), (1,)])


if __name__ == "__main__":
    lib.main()
