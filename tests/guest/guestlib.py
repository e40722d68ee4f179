"""What the tests of this ring share: run programs bare and under combinations of sources, and compare all that can be seen of them.

A difference is a line such as "+ stdout: threads 2" (only in the profiled run) or "- status 0" (only in the bare one). It must match
a row of visible.VISIBLE, which cannot be hidden, or of visible.EXPECTED_DIFFERENCES, which is to be mended.

TACHO_TEST_ALL=1 runs many more combinations than the gate. TACHO_GUEST_PROGRAMS and TACHO_GUEST_COMBINATIONS are regular
expressions: only programs and combinations with a match in their names are run."""
import collections
import difflib
import itertools
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace"))
import lib  # noqa: E402
import batch  # noqa: E402
import visible  # noqa: E402

ALL = lib.ALL
GUESTS = os.environ["GUESTS"]  # the folder with the built programs
WITH_CUDA = os.path.join(GUESTS, "with_cuda.so")

# What a source is on the command line. Calls of the OS are recorded however short they are, the stack of each with them.
TRACES = {
    "nvtx": "nvtx",
    "osrt": "osrt",
    "cuda": "cuda",
    "libraries": "cublas,cudnn,cusolver,cusparse,nccl",
    "python": "python-gil",
    "openmp": "openmp",
    "mpi": "mpi",
    "ucx": "ucx",
    "oshmem": "oshmem",
    "openacc": "openacc",
    "heap": "heap",
}
MORE = {
    "osrt": ["--osrt-threshold=0", "--osrt-backtrace-threshold=0"],
    "cuda": ["--cudabacktrace=all:0", "--cuda-memory-usage=true", "--cuda-trace-all-apis=true"],
    "python": ["--python-backtrace=cuda"],
    "heap": ["--heap=all"],
    "pytorch": ["--pytorch=functions-trace", "--pytorch-shapes=true", "--pytorch-memory=true", "--pytorch-modules=true"],
    "counters": ["--os-events=0,1,2"],
    "no-preload": ["--preload=no"],
}

Combination = collections.namedtuple("Combination", "name options by_timers cuda")


def combination(name):
    """Of a name such as "nvtx+osrt+timers": sources, "perf" or "timers" for samples, "standin" for a program that uses CUDA."""
    parts = name.split("+")
    traces = ",".join(TRACES[part] for part in parts if part in TRACES)
    options = ["-t", traces or "none", "-s", "process-tree" if {"perf", "timers"} & set(parts) else "none"]
    for part in parts:
        options += MORE.get(part, [])
    return Combination(name, options, "timers" in parts, "standin" in parts)


MODELS = "mpi+openmp+ucx+oshmem+openacc"

# Under these every program runs in each test of the ring; together they have every source.
COMMON = "osrt+nvtx+perf+heap+" + MODELS
GATE = [COMMON, "osrt+cuda+libraries+python+pytorch+timers+standin"]

# With TACHO_TEST_ALL=1: each source alone, some others and all at once; and each pair too, in which the models are one.
SOURCES = ["nvtx", "osrt", "cuda+standin", "libraries", MODELS, "python", "perf", "timers", "heap"]
EACH = [*GATE, "none", "cuda+nvtx+standin", *SOURCES, *MODELS.split("+"), "cuda", "pytorch", "no-preload+nvtx+cuda+standin",
        "nvtx+osrt+cuda+libraries+python+pytorch+counters+perf+standin+" + MODELS]
PAIRS = [*EACH, *("+".join(pair) for pair in itertools.combinations(SOURCES, 2) if pair != ("perf", "timers"))]


def wanted(names):
    """Those of the combinations that TACHO_GUEST_COMBINATIONS asks for."""
    return [combination(name) for name in names if re.search(os.environ.get("TACHO_GUEST_COMBINATIONS", ""), name)]


class Program:
    """A command that is compared. rewrite makes two bare runs equal where they are not."""

    def __init__(self, name, command, rewrite=lambda text: text, environment=None, **more):
        self.name, self.command, self.rewrite, self.environment, self.more = name, command, rewrite, environment or {}, more


def tiny_programs():
    """All of the built files."""
    found = []
    for file in sorted(os.listdir(GUESTS)):
        path = os.path.join(GUESTS, file)
        if not file.endswith(".so"):
            names = subprocess.run([path, "list"], capture_output=True, text=True, check=True).stdout.split()
            found += [Program(f"{file}/{name}", [path, name]) for name in names]
    return found


def lines_of(result, program):
    """All that can be seen of a run, as lines."""
    lines = [f"status {result['status']}"]
    for stream in ("stdout", "stderr"):
        lines += [f"{stream}: {line}" for line in program.rewrite(result[stream]).splitlines()]
    return lines + [f"file {name}" for name in result["files"]]


def differences(bare, profiled, program):
    """Lines that only one of the two has, with a sign before them. A number of threads that changed is told as "threads +2"."""
    found = [f"{line[0]} {line[1:]}" for line in difflib.unified_diff(lines_of(bare, program), lines_of(profiled, program), lineterm="", n=0)
             if line[0] in "+-" and line[:3] not in ("+++", "---")]
    counts = [[int(line.rpartition(" ")[2]) for line in found if line.startswith(f"{sign} stdout: threads ")] for sign in "-+"]
    if len(counts[0]) == len(counts[1]):
        found = [line for line in found if not re.match("[-+] stdout: threads ", line)]
        found += [f"threads {after - before:+d}" for before, after in zip(*counts)]
    if profiled["status"] != "hung" and batch.is_longer(profiled["times"], bare["times"]):
        found.append("+ takes seconds longer")
    return found


class Case(lib.Case):
    """Compares programs. The bare run is made once for each kind of surroundings that a combination has."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)  # programs that drop their rights work here too
        self.bare = {}

    def environment(self):
        """Small, so that what a program prints of it is."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "JAVA_HOME", "GOROOT", "RUSTUP_HOME", "CARGO_HOME") if name in os.environ}
        return dict(kept, TMPDIR=self.folder)

    def jobs(self, programs, combination, bare=None):
        return [{"name": program.name, "command": program.command, "environment": program.environment, **program.more,
                 **({"preload_first": WITH_CUDA} if combination.cuda else {}),
                 **({"times": bare[program.name]["times"]} if bare else {})} for program in programs]

    def batch(self, jobs, combination, before=()):
        """Results of a batch, which is started by a command before it."""
        given, answer = self.path("jobs.json"), self.path("results.json")
        with open(given, "w") as file:
            json.dump({"jobs": jobs, "folder": self.path("work")}, file)
        if os.path.exists(answer):
            os.unlink(answer)
        done = subprocess.run([*before, sys.executable, batch.__file__, given, answer], env=self.environment(), capture_output=True, text=True,
                              errors="surrogateescape", cwd=self.folder, timeout=lib.PATIENCE,
                              preexec_fn=lib.refuse_perf_events if combination.by_timers else None)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(answer) as file:
            return json.load(file)

    def profiled(self, combination):
        return [lib.TACHO, "profile", "-q", "--resolve-symbols=false", "-o", self.path("report.tacho"), "-f", "true", *combination.options]

    def bare_run(self, programs, combination):
        kind = (combination.by_timers, combination.cuda)
        if kind not in self.bare:
            self.bare[kind] = self.batch(self.jobs(programs, combination), combination)
        return self.bare[kind]

    def as_children(self, programs, combination):
        """One capture of all of them."""
        bare = self.bare_run(programs, combination)
        return bare, self.batch(self.jobs(programs, combination, bare), combination, self.profiled(combination))

    def as_first(self, programs, combination):
        """A capture of each. What tacho itself says on stderr is not the program's."""
        bare = self.bare_run(programs, combination)
        jobs = self.jobs(programs, combination, bare)
        for job in jobs:
            job["command"] = self.profiled(combination) + job["command"]
        results = self.batch(jobs, combination)
        for result in results.values():
            result["stderr"] = "".join(line for line in result["stderr"].splitlines(True) if not line.startswith("tacho profile: "))
        return bare, results

    def compare(self, programs, run, gate=GATE, every=PAIRS):
        """Every program under the combinations of gate, or with TACHO_TEST_ALL=1 of every; what differs, and rows of EXPECTED_DIFFERENCES that no longer do, is a failure each. Where it
        ran is told as "nvtx+osrt as_first"."""
        programs = [program for program in programs if re.search(os.environ.get("TACHO_GUEST_PROGRAMS", ""), program.name)]
        skips, failures = {}, []
        for combination in wanted(every if ALL else gate):
            bare, profiled = run(programs, combination)
            for program in programs:
                first, second = bare[program.name], profiled[program.name]
                if first["status"] == "hung":
                    failures.append(f"{program.name} hangs without tacho too: nothing was compared")
                if first["status"] == 77 and "skipped: " in first["stdout"]:
                    skips[program.name] = first["stdout"].partition("skipped: ")[2].splitlines()[0]
                failures += visible.judge(program.name, f"{combination.name} {run.__name__}", differences(first, second, program))
        for name, why in sorted(skips.items()):
            print(f"{name} was not run: {why}")
        if failures:
            self.fail("\n".join(failures))
