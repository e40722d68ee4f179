"""Captures of this process, and windows in them.

There is one capture a process: `tacho profile`'s if it runs under that, else one that is started here, in which a `tacho` that we
start records us. A window is the time between a start() and a stop(). Both kinds of capture are one growing report; all that is asked
of a window is asked of that report, for the window's time.
"""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import functools
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from types import ModuleType
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from . import _agent, _imports, _modules, _native
from ._report import Report

HOW = "run instead: tacho profile python " + (os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "script.py")


@contextlib.contextmanager
def _variables(values: Dict[str, str]) -> Iterator[None]:
    """Sets them for the time being."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _is_loaded(library: str) -> bool:
    """Whether the process has it already; asking does not load it."""
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        return True
    except OSError:
        return False


def _take(path: str) -> bool:
    """Creates a file, unless it exists: of several processes that want a name, one gets it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        return False
    return True


def report_file(output: "os.PathLike[str] | str", take: bool = False) -> str:
    """The file that a report goes to, named as `tacho profile -o` names it: a folder gets the next reportN.tacho, which is created with
    take, so that no other process gets the same name. An output that cannot be written is refused here, before anything is recorded."""
    name = os.fspath(output)
    if not name:
        raise _native.TachoError("output='' names no file: give a name such as 'report1.tacho'")
    path = os.path.abspath(name)
    is_folder = os.path.isdir(path)
    folder = path if is_folder else os.path.dirname(path)
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise _native.TachoError(f"cannot write output={name!r}: {folder} is not a folder that this process may write to")
    if not is_folder:
        return path if path.endswith(".tacho") else path + ".tacho"
    names = (os.path.join(folder, f"report{number}.tacho") for number in itertools.count(1))
    return next(free for free in names if (_take(free) if take else not os.path.exists(free)))


def _let_read(pid: int) -> None:
    """Lets a process read our memory, for Python samples: with Yama, the default of some distributions, only a parent may. 0: no other
    any more. There is one such process, and it cannot be asked for: one that the program has named before is replaced."""
    set_ptracer = 0x59616d61  # PR_SET_PTRACER; fails where there is no Yama
    ctypes.CDLL(None).prctl(set_ptracer, ctypes.c_ulong(pid), 0, 0, 0)


class OwnCapture:
    """A tacho beside us that records this process, from the first window on until the process ends."""

    def __init__(self, output: Optional[str] = None) -> None:
        self.pid = os.getpid()
        self.program = _native.program()
        self.is_silent = False  # it has not answered, and is not waited for again
        if output:
            self._start("caller", output)
        else:  # whose folder goes with it, however we end
            self._start("caller-temporary", os.path.join(tempfile.mkdtemp(prefix="tacho-"), "report.tacho"))

    def _start(self, attach_to: str, path: str) -> None:
        self.folder = os.path.dirname(path) if attach_to == "caller-temporary" else None
        command = [self.program, "profile", "--attach", attach_to, "-c", "api", "--capture-range-end", "repeat", "-t", "cuda,nvtx",
                   "--pytorch=auto", "-o", path.replace("%", "%%"), "-f", "true"]
        with tempfile.TemporaryFile() as complaints:
            # A session of its own: Ctrl-C is for the program, which ends the capture in its own time.
            self.collector = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints,
                                              env=_native.environment(), start_new_session=True)
            _let_read(self.collector.pid)
            assert self.collector.stdout
            session, library = (os.fsdecode(self.collector.stdout.readline()).rstrip("\n") for _ in (1, 2))
            if not library:
                complaints.seek(0)
                said = _native.sentence(complaints.read().decode("utf-8", "replace"))
                self.end()
                raise _native.TachoError(f"cannot start a capture of this process: {said or 'tacho printed no error'}; {HOW}")
        agent = self._load(session, library)
        if agent is None:
            self.end()
            raise _native.TachoError(f"cannot load the agent into this process; {HOW}")
        _agent.set_current(agent)
        atexit.register(self.end)

    @staticmethod
    def _load(session: str, library: str) -> Optional[_agent.Agent]:
        # CUDA and NVTX look for these when they are first used, which may be later.
        for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"):
            os.environ.setdefault(name, library)
        with _variables({"TACHO_SESSION": session}):
            agent = _agent.load(library)
        if agent is not None and _is_loaded("libcuda.so.1"):
            ctypes.CDLL(library).InitializeInjection()  # cuInit() may be over, and it would have called it
        return agent

    def end(self) -> None:
        """The report is closed. A forked child has no part in it."""
        if os.getpid() != self.pid or self.collector.stdin is None or self.collector.stdin.closed:
            return
        with contextlib.suppress(OSError):
            self.collector.stdin.write(b"end\n")  # a forked child may have the other end still
            self.collector.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.collector.wait(timeout=1 if self.is_silent else 10)
        _let_read(0)
        if self.folder is not None:  # the collector does it if it can
            shutil.rmtree(self.folder, ignore_errors=True)


_lock = threading.Lock()
_own: Optional[OwnCapture] = None


def attach(output: Optional[str] = None) -> _agent.Agent:
    """The agent of the capture of this process, which is started if there is none. output: the report of a capture that is started here."""
    global _own
    with _lock:
        agent = _agent.current()
        if agent is None:
            _own = OwnCapture(output)
            agent = _agent.current()
            assert agent is not None
        return agent


_SLACK_NS = 1_000_000
_last_end_ns = 0


def _begin_ns(is_alone: bool) -> int:
    """Now; or a bit earlier where nothing was recorded before: the report's clock may be some microseconds off while a capture is young
    and the machine is busy. Not so early that the window before is met."""
    now = time.monotonic_ns()
    return now - min(_SLACK_NS, (now - _last_end_ns) // 2) if is_alone else now


class _Recording:
    """Windows that are open, in whichever threads: recording is on while there is one, and is what any of them wants."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted: List[int] = []
        self.before = 0       # what was chosen
        self.was_on = False   # recording was, without us, and stays so

    def _all(self) -> int:
        together = self.before if self.was_on else 0
        for wanted in self.wanted:
            together |= wanted
        return together

    @staticmethod
    def _choose(agent: _agent.Agent, what: int) -> None:
        agent.choose(what)
        _modules.tell(agent, bool(what & _agent.MODULES))

    def follow(self, agent: _agent.Agent) -> None:
        """To be called when the process may have loaded PyTorch: an agent that was not preloaded does not see that."""
        with self.lock:
            if self.wanted:
                self._choose(agent, self._all())
                agent.start()

    def begin(self, agent: _agent.Agent, wanted: int) -> int:
        """The time from which the window counts."""
        with self.lock:
            is_on = bool(agent.recording())
            self.wanted.append(wanted)
            if len(self.wanted) == 1:
                self.was_on, self.before = is_on, agent.choose(wanted)
            self._choose(agent, self._all())
            began_ns = _begin_ns(not is_on)
            agent.start()
            return began_ns

    def change(self, agent: _agent.Agent, before: int, wanted: int) -> None:
        """One of the windows wants something else."""
        with self.lock:
            self.wanted[self.wanted.index(before)] = wanted
            self._choose(agent, self._all())
            agent.start()

    def end(self, agent: _agent.Agent, wanted: int) -> None:
        """The last one to end leaves all as it was before the first."""
        with self.lock:
            self.wanted.remove(wanted)
            if self.wanted:
                self._choose(agent, self._all())
                return
            if not self.was_on:
                agent.stop()
            self._choose(agent, self.before)


_recording = _Recording()


@functools.lru_cache(maxsize=None)
def _await_torch() -> None:
    """Once for the process: a window that is open when the program imports PyTorch sees its operators."""
    def came(_: ModuleType) -> None:
        agent = _agent.current()
        if agent is not None:
            _recording.follow(agent)

    _imports.when_imported("torch", came)


def _after_fork() -> None:
    """A child has begun none of the windows, and its parent's threads, which may hold a lock, are not in it."""
    global _lock, _recording
    _lock = threading.Lock()
    _recording = _Recording()


os.register_at_fork(after_in_child=_after_fork)


def _complain(failed: int) -> None:
    """Of a profiler that does not say that it has written all down."""
    if failed == -errno.EAGAIN:
        if _own is not None:
            _own.is_silent = True
        _native.say_once("the profiler did not answer: the last events of the window may be missing")
    else:
        _native.say_once(f"the profiler exited before this program ({os.strerror(-failed)}): later events are not in the report, "
                         "and later windows are empty")


class Window:
    """A part of the capture in time, open until stop() was called."""

    def __init__(self, wanted: int, output: Optional[str] = None) -> None:
        self.agent = attach(output)
        self.pid = os.getpid()
        self.wanted = wanted
        self.ended_ns: Optional[int] = None
        self.is_open = True
        _await_torch()
        self.started_ns = _recording.begin(self.agent, wanted)

    def stop(self) -> None:
        """Ends it; what it has recorded is in the report then. Recording goes on if it was on before, or for another window."""
        global _last_end_ns
        if not self.is_open or os.getpid() != self.pid:  # a child that was forked within leaves it, too, but has not begun it
            return
        self.is_open = False
        _recording.end(self.agent, self.wanted)
        failed = self.agent.flush()
        self.ended_ns = _last_end_ns = time.monotonic_ns()  # the GPU has done by now what it was given before
        if failed:
            _complain(failed)

    @property
    def path(self) -> str:
        """The report."""
        return self.agent.report()

    def span(self) -> Tuple[int, int]:
        """The window in the report's own time."""
        with Report(self.path) as report:
            if "TACHO_CLOCK" not in report:
                raise _native.TachoError("the capture is empty: the profiler was killed or failed before it wrote any event")
            clock = report["TACHO_CLOCK"]
            shift = int(clock["timestamp"][0]) - int(clock["monotonicNs"][0])
        return self.started_ns + shift, (time.monotonic_ns() if self.ended_ns is None else self.ended_ns) + shift

    def pid_in_report(self) -> Optional[int]:
        """This process, where the report knows it under the number that it has itself: not so in a container that tacho looks into from
        outside."""
        with Report(self.path) as report:
            pids = {int(process) >> 24 & 0xffffff for process in report["TACHO_PROCESS"]["globalPid"]}
        return self.pid if self.pid in pids else None

    def _process(self) -> List[str]:
        pid = self.pid_in_report()
        return ["--filter-pid", str(pid)] if pid is not None else []

    def want(self, what: int, is_wanted: bool) -> None:
        """More or less, from now on, while it is open."""
        if self.is_open:
            before, self.wanted = self.wanted, self.wanted | what if is_wanted else self.wanted & ~what
            _recording.change(self.agent, before, self.wanted)

    def filter(self, option: str = "--filter-time") -> List[str]:
        """Words for a command, to see the window alone: what this process did, as torch's profiler has it, in that time."""
        start, end = self.span()
        return [option, f"{start}/{end}", *self._process()]


def export(windows: Sequence[Window], path: str) -> None:
    """Writes a report of these windows alone. They are of one capture."""
    times = ",".join(f"{start}/{end}" for start, end in (window.span() for window in windows))
    _native.run(["export", "--type", "tacho", "--times", times, "-o", path, "-f", "true", "-q", windows[0].path])
