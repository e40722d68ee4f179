"""What the GPU tests and bench/gpu.py share: finding nvcc and nsys, compiling the programs, running with a time limit.

Choices can be made by environment: NVCC, NSYS, NSYS_LIBS (a folder of libraries that nsys needs and the host lacks; nsys-libs beside the folder of TACHO), PYTHON
(the one with PyTorch), GPU_PROGRAMS (where compiled programs are kept)."""
import functools
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = os.path.join(HERE, "programs")
BUILT = os.environ.get("GPU_PROGRAMS") or os.path.join(ROOT, "build", "gpu-programs")
PYTHON = os.environ.get("PYTHON") or shutil.which("python3") or sys.executable


class Done:
    """What became of a command: status (None: it ran out of time), stdout, stderr, seconds, end_ns (CLOCK_MONOTONIC)."""

    def __init__(self, status, stdout, stderr, seconds):
        self.status, self.stdout, self.stderr, self.seconds = status, stdout, stderr, seconds
        self.end_ns = time.monotonic_ns()

    def __str__(self):
        state = "ran out of time" if self.status is None else f"status {self.status}"
        return f"{state} after {self.seconds:.1f} s\nstdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-2000:]}"


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def start(command, env=None, cwd=None):
    """A Popen that leads its own group."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                            env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True)


def finish(process, began, seconds):
    """Waits for what start() began; ends its whole group when it takes too long."""
    try:
        stdout, stderr = process.communicate(timeout=max(seconds, 0.1))
        return Done(process.returncode, stdout, stderr, time.monotonic() - began)
    except subprocess.TimeoutExpired:
        end_group(process)
    try:
        stdout, stderr = process.communicate(timeout=10)
    except subprocess.TimeoutExpired:  # something outside the group holds the pipes
        stdout = stderr = ""
    return Done(None, stdout, stderr, time.monotonic() - began)


def run(command, seconds, env=None, cwd=None):
    began = time.monotonic()
    return finish(start(command, env, cwd), began, seconds)


# ---- The GPU and its tools -------------------------------------------------------------------------------------------

@functools.lru_cache(None)
def gpu():
    """The GPU in words, or None."""
    try:
        done = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 30)
    except OSError:
        return None
    return done.stdout.strip().splitlines()[0] if done.status == 0 and done.stdout.strip() else None


@functools.lru_cache(None)
def nvcc():
    candidates = [os.environ.get("NVCC"), shutil.which("nvcc"), os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")]
    return next((path for path in candidates if path and os.path.exists(path)), None)


@functools.lru_cache(None)
def has_torch():
    return run([PYTHON, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], 120).status == 0


@functools.lru_cache(None)
def nsys():
    """The first nsys that works: by NSYS, on the PATH, or under /opt; None if there is none."""
    found = [os.environ.get("NSYS"), shutil.which("nsys")]
    found += sorted(glob.glob("/opt/nvidia/**/target-linux-*/nsys", recursive=True))
    for path in filter(None, found):
        try:
            if run([path, "--version"], 30).status == 0:
                return path
        except OSError:
            pass  # for another architecture
    return None


def nsys_environment():
    """The libraries that its importer needs, for nsys alone."""
    beside = os.path.join(os.path.dirname(os.environ.get("TACHO", "")), "..", "..", "nsys-libs")  # as scripts/gpu-carry lays them
    libraries = os.environ.get("NSYS_LIBS", beside)
    if not os.path.isdir(libraries):
        return {}
    return {"LD_LIBRARY_PATH": ":".join(filter(None, (os.path.abspath(libraries), os.environ.get("LD_LIBRARY_PATH"))))}


def source(name):
    return os.path.join(SOURCES, name)


def compiled(name, *options):
    """Path of a program of programs/NAME.cu, compiled unless that was done; the options give it a name of its own."""
    path = os.path.join(BUILT, name + "".join(options).replace("/", "_").replace(" ", "_"))
    if os.path.exists(path) and os.path.getmtime(path) >= os.path.getmtime(source(name + ".cu")):
        return path
    if not nvcc():
        raise FileNotFoundError("no nvcc: set NVCC or CUDA_HOME")
    os.makedirs(BUILT, exist_ok=True)
    made = f"{path}.{os.getpid()}"
    done = run([nvcc(), "-O2", "-std=c++17", "-arch=native", *options, "-o", made, source(name + ".cu"), "-ldl"], 120)
    if done.status != 0:
        raise RuntimeError(f"nvcc could not compile {name}.cu: {done}")
    os.replace(made, path)
    return path
