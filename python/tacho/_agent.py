"""The agent in this process: the calls of <tacho/tacho.h>, without a library between.

Under `tacho profile` the agent is here already; else _capture.py loads it. The calls for ranges never block and are made
with the GIL held, which is faster than to let it go; those that wait let it go.
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Optional

_NOTHING = ctypes.PYFUNCTYPE(None)
_TEXT = ctypes.PYFUNCTYPE(None, ctypes.c_char_p)


class _Calls(ctypes.Structure):
    """struct tacho_calls."""
    _fields_ = [("size", ctypes.c_size_t), ("start", ctypes.CFUNCTYPE(None)), ("stop", ctypes.CFUNCTYPE(None)), ("step", _NOTHING),
                ("mark", _TEXT), ("push", _TEXT), ("pop", _NOTHING), ("recording", ctypes.PYFUNCTYPE(ctypes.c_int)),
                ("flush", ctypes.CFUNCTYPE(ctypes.c_int)), ("report", ctypes.PYFUNCTYPE(ctypes.c_char_p)),
                ("choose", ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_uint)),
                ("module_begin", ctypes.PYFUNCTYPE(ctypes.c_ulong, ctypes.c_char_p)), ("module_end", ctypes.PYFUNCTYPE(None, ctypes.c_ulong)),
                ("modules", ctypes.POINTER(ctypes.c_uint)), ("event_begin", ctypes.PYFUNCTYPE(ctypes.c_ulong)),
                ("event_end", ctypes.PYFUNCTYPE(None, ctypes.c_ulong, ctypes.c_uint, ctypes.c_char_p))]


CUDA, SHAPES, MEMORY, STACKS, MODULES = 1, 2, 4, 8, 16  # enum tacho_choice


class Agent:
    """The calls, as attributes; each as in the header."""

    def __init__(self, calls: _Calls) -> None:
        self.start: Callable[[], None] = calls.start
        self.stop: Callable[[], None] = calls.stop
        self.mark: Callable[[bytes], None] = calls.mark
        self.push: Callable[[bytes], None] = calls.push
        self.pop: Callable[[], None] = calls.pop
        self.recording: Callable[[], int] = calls.recording
        self.flush: Callable[[], int] = calls.flush
        self.choose: Callable[[int], int] = calls.choose
        self.module_begin: Callable[[bytes], int] = calls.module_begin
        self.module_end: Callable[[int], None] = calls.module_end
        self.modules: ctypes.c_uint = calls.modules.contents
        self.event_begin: Callable[[], int] = calls.event_begin
        self.event_end: Callable[[int, int, bytes], None] = calls.event_end
        self._report: Callable[[], Optional[bytes]] = calls.report

    def report(self) -> str:
        """The path of the report that is being written."""
        return os.fsdecode(self._report() or b"")


def _calls_of(library: Any) -> Optional[Agent]:
    try:
        find = library.tacho_agent_calls
    except AttributeError:
        return None
    find.restype = ctypes.POINTER(_Calls)
    calls = find()
    if not calls or calls.contents.size < ctypes.sizeof(_Calls):  # not attached, or older than this package
        return None
    return Agent(calls.contents)


def load(path: str) -> Optional[Agent]:
    """Loads the agent, which looks for its session in the environment; None when there is none."""
    return _calls_of(ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL))


_agent: Optional[Agent] = None
_looked = False


def current() -> Optional[Agent]:
    """The agent, if this process is being captured. One that is not there at first comes by set_current() alone."""
    global _agent, _looked
    if not _looked:
        _looked = True
        _agent = _calls_of(ctypes.CDLL(None))
        path = os.environ.get("NVTX_INJECTION64_PATH", "")
        if _agent is None and os.environ.get("TACHO_SESSION") and os.path.exists(path):
            _agent = load(path)  # --preload=no
    return _agent


def set_current(agent: Agent) -> None:
    """What a capture of our own has loaded."""
    global _agent
    _agent = agent
