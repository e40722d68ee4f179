"""Slurm itself, three slurmd on this host: srun in front of tacho profile makes a report of each rank, and processes that srun starts divide the
reports of a folder and print what one process prints, also if one of them is killed.

The daemons are those of build/slurm, where scripts/test --all unpacks Debian's packages, or those that are installed. They have their own folder and
ports, and need neither munge nor cgroups."""
import getpass
import glob
import gzip
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import lib

NODES = 3
UNPACKED = os.path.join(lib.SOURCE, "build/slurm")
CONFIGURATION = """ClusterName=tacho
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
PluginDir={plugins}
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""
REPORTS = "cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_size_sum,osrt_sum,nvtx_sum"
# A rank of a job in which rank 1 is killed once it has begun with its share.
KILLED = """import os, glob, signal, subprocess, sys
if os.environ["SLURM_PROCID"] != "1":
    os.execv(sys.argv[1], sys.argv[1:])
process = subprocess.Popen(sys.argv[1:])
while process.poll() is None and not glob.glob(sys.argv[-1] + "/.tacho-share*/*.1.begun"):
    pass
process.kill()
process.wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


def find(folder, name):
    """A program of Slurm; Debian's daemons have a suffix, which dpkg's alternatives hide."""
    for path in (f"{UNPACKED}/usr/{folder}/{name}", f"{UNPACKED}/usr/{folder}/{name}-wlm", shutil.which(name), f"/usr/sbin/{name}-wlm"):
        if path and os.path.exists(path):
            return path
    return None


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm(lib.Case):
    samples = False
    why_not = None

    @classmethod
    def setUpClass(cls):
        cls.place, cls.daemons = tempfile.mkdtemp(prefix="tacho-slurm-"), []
        cls.addClassCleanup(cls.end)
        cls.start()

    @classmethod
    def start(cls):
        programs = {name: find(folder, name) for folder, name in (("sbin", "slurmctld"), ("sbin", "slurmd"), ("sbin", "slurmstepd"), ("bin", "srun"), ("bin", "sinfo"))}
        plugins = glob.glob(f"{UNPACKED}/usr/lib/*/slurm-wlm") or glob.glob("/usr/lib/*/slurm-wlm")
        if None in programs.values() or not plugins:
            cls.why_not = "no Slurm here (Debian: slurmctld slurmd slurm-client slurm-wlm-basic-plugins)"
            return
        host, ports = socket.gethostname().partition(".")[0], free_ports(1 + NODES)
        nodes = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1 + i]} CPUs=4" for i in range(NODES))
        for name in ("state", *(f"spool.n{i}" for i in range(NODES))):
            os.mkdir(f"{cls.place}/{name}")
        with open(f"{cls.place}/slurm.conf", "w") as file:
            file.write(CONFIGURATION.format(host=host, user=getpass.getuser(), ports=ports, folder=cls.place, plugins=plugins[0], nodes=nodes))
        cls.programs = programs
        cls.environment = {**{name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PMI", "OMPI"))},
                           "SLURM_CONF": f"{cls.place}/slurm.conf", "LD_LIBRARY_PATH": plugins[0]}
        cls.daemon("slurmctld", [programs["slurmctld"], "-D", "-i"])
        for i in range(NODES):
            cls.daemon(f"n{i}", [programs["slurmd"], "-D", "-N", f"n{i}", "-d", programs["slurmstepd"]])
        cls.why_not = cls.wait_for_nodes()

    @classmethod
    def daemon(cls, name, command):
        """It ends with this process, however that ends."""
        with open(f"{cls.place}/{name}.out", "w") as out:
            cls.daemons.append(subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], env=cls.environment, stdout=out, stderr=out, start_new_session=True))

    @classmethod
    def wait_for_nodes(cls):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and all(daemon.poll() is None for daemon in cls.daemons):
            done = subprocess.run([cls.programs["sinfo"], "-h", "-o", "%T%D"], env=cls.environment, capture_output=True, text=True)
            if done.stdout.strip() == f"idle{NODES}":
                return None
            time.sleep(0.05)
        said = [open(path, errors="replace").read() for path in glob.glob(f"{cls.place}/*.out")]
        return "Slurm's daemons do not run here: " + " ".join(" ".join(said).split())[-400:]

    @classmethod
    def end(cls):
        for daemon in cls.daemons:
            daemon.send_signal(signal.SIGTERM)
        for daemon in cls.daemons:
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                pass
            lib.end_group(daemon)
        shutil.rmtree(cls.place, ignore_errors=True)

    def setUp(self):
        super().setUp()
        if self.why_not:
            self.skipTest(self.why_not)

    def srun(self, ranks, *command, options=()):
        return subprocess.run([self.programs["srun"], f"-N{min(ranks, NODES)}", f"-n{ranks}", *options, *command], env=self.environment, capture_output=True, cwd=self.folder, timeout=lib.PATIENCE)

    def test_a_report_of_each_rank(self):
        script = "echo $SLURM_PROCID $$ $SLURM_JOB_ID.$SLURM_STEP_ID $SLURM_LOCALID $SLURMD_NODENAME"
        for ranks in (3, 5):
            done = self.srun(ranks, self.tacho_path, "profile", "-s", "none", "-t", "osrt", "-o", f"run{ranks}/", "sh", "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = sorted(line.split() for line in done.stdout.decode().splitlines())
            self.assertEqual([int(words[0]) for words in said], list(range(ranks)))
            self.assertEqual(len({words[4] for words in said}), NODES)
            self.assertEqual(sorted(os.listdir(self.path(f"run{ranks}"))), [f"rank{rank:04}.tacho" for rank in range(ranks)])
            for rank, pid, job, local, _ in said:
                report = self.report(f"run{ranks}/rank{int(rank):04}.tacho")
                self.assertEqual(report.rows("SELECT rank, localRank, worldSize, job FROM TACHO_PROCESS WHERE globalPid >> 24 & 0xffffff = ?", int(pid)), [(int(rank), int(local), ranks, job)])
                facts = dict(report.rows("SELECT name, value FROM META_DATA_CAPTURE"))
                self.assertEqual((facts["LAUNCHER"], facts["RANK"], facts["JOB"]), ("Slurm", rank, job))

    def reports(self):
        """A folder of six reports."""
        os.mkdir(self.path("run"))
        for name in ("mix", "resnet18", "wait_stream"):
            with open(self.path(name + ".sqlite"), "wb") as out:
                out.write(gzip.open(f"{lib.SOURCE}/tests/golden/nsys/{name}.sqlite.gz").read())
            for number in range(2):
                subprocess.run([self.tacho_path, "import", "-q", "-o", self.path(f"run/{name}{number}.tacho"), self.path(name + ".sqlite")], check=True, capture_output=True)
        return self.path("run")

    def tables(self, name):
        """What was written under this name."""
        found = {path.rpartition("/")[2].removeprefix(name): open(path, "rb").read() for path in glob.glob(self.path(name + "_*"))}
        self.assertEqual(len(found), REPORTS.count(",") + 1)
        return found

    def test_shares(self):
        folder = self.reports()
        words = ("-r", REPORTS, "-f", "csv", folder)
        truth = subprocess.run([self.tacho_path, "stats", *words], capture_output=True, env=self.environment)
        self.assertEqual(truth.returncode, 0, truth.stderr)
        self.assertGreater(len(truth.stdout), 1000)
        for ranks in (1, 3, 8):
            done = self.srun(ranks, self.tacho_path, "stats", "--share", *words)
            self.assertEqual((done.returncode, done.stdout), (0, truth.stdout), f"{ranks} ranks: {done.stderr}")
        # Once a task was killed by a signal, srun may lose what the others print (seq 60000, too): tables go to files here.
        subprocess.run([self.tacho_path, "stats", "-q", "-o", self.path("one"), *words], check=True, capture_output=True, env=self.environment)
        for _ in range(5):  # it may be done with its share before it is killed
            done = self.srun(3, sys.executable, "-c", KILLED, self.tacho_path, "stats", "-q", "--share", "--force-overwrite", "true", "-o", self.path("job"), *words)
            self.assertEqual(self.tables("job"), self.tables("one"), f"with one that was killed: {done.stderr}")
            self.assertNotEqual(done.returncode, 0, "srun tells that a task was killed")
            if b"share 1 of 3: its process ended early; computed here" in done.stderr:
                break
        else:
            self.fail(f"its share was never computed by another one: {done.stderr}")
        self.assertEqual([name for name in os.listdir(folder) if not name.endswith(".tacho")], [])


if __name__ == "__main__":
    lib.main()
