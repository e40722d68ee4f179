"""The native part of Tacho: where its program and libraries are, and how a command of it is run.

Nothing here is loaded into the process; that is _agent.py's, and only when a capture begins.
"""
from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Dict, Iterator, List, Optional, Set

HERE = os.path.dirname(os.path.abspath(__file__))


class TachoError(RuntimeError):
    """Tacho could not do what was asked; the text is one sentence that says why, and what to do."""


def _up(path: str, levels: int) -> str:
    """bin/tacho so many levels above; not through links on the way, which a build has."""
    return os.path.normpath(os.path.join(path, *[os.pardir] * levels, "bin", "tacho"))


def _named(path: str) -> str:
    """The program that TACHO names. If it cannot be run, no other one is used in its place."""
    if os.path.isdir(path):
        raise TachoError(f"TACHO={path} is a folder: set TACHO to the program, such as {os.path.join(path, 'bin', 'tacho')}")
    if not os.access(path, os.X_OK):
        raise TachoError(f"TACHO={path} is not a program: set TACHO to the path of tacho, or unset it")
    return path


def _places() -> Iterator[str]:
    """Programs called tacho, the most fitting first."""
    if os.environ.get("TACHO"):
        yield _named(os.environ["TACHO"])
    if os.environ.get("TACHO_SESSION"):  # the one whose agent is in this process
        yield _up(os.path.realpath(os.environ.get("NVTX_INJECTION64_PATH", "")), 3)
    yield os.path.join(HERE, "native", "bin", "tacho")  # a wheel
    yield _up(HERE, 4)  # lib/tacho/python/tacho of an installation
    yield os.path.join(sysconfig.get_path("scripts"), "tacho")
    found = shutil.which("tacho")
    if found:
        yield found


@functools.lru_cache(maxsize=None)
def program() -> str:
    """The program `tacho`."""
    for place in _places():
        path = os.path.realpath(place)
        if os.access(path, os.X_OK) and os.path.isfile(path) and not _is_script(path):
            return path
    raise TachoError("cannot find the program tacho: add it to PATH, or set TACHO to its path")


def _is_script(path: str) -> bool:
    """The command that pip makes for this package would come back to us."""
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def prefix() -> str:
    """The folder that has bin/tacho and lib/."""
    return os.path.dirname(os.path.dirname(program()))


def library() -> str:
    """libtacho.so, of the same build as the program."""
    path = os.path.join(prefix(), "lib", "libtacho.so")
    if not os.path.exists(path):
        raise TachoError(f"cannot find {path}: reinstall Tacho")
    return path


def environment() -> Dict[str, str]:
    """Our own, for a tacho that must not take itself for a part of the capture."""
    return {name: value for name, value in os.environ.items()
            if name not in ("TACHO_SESSION", "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "LD_PRELOAD")}


def run(arguments: List[str], stdin: Optional[str] = None) -> str:
    """What a command prints. Failing, it raises what the command said."""
    done = subprocess.run([program(), *arguments], input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), universal_newlines=True,
                          encoding="utf-8", errors="surrogateescape")
    if done.returncode != 0:
        raise TachoError(sentence(done.stderr) or f"tacho {arguments[0]} failed with status {done.returncode}")
    return done.stdout


def sentence(stderr: str) -> str:
    """What a command failed with, without its name in front. Remarks on the file ("tacho: …") are not it."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    failures = [line.partition(": ")[2] for line in lines if line.startswith("tacho ")]
    return (failures or lines or [""])[-1]


class UnknownName(TachoError, KeyError):
    """There is no table or column of this name."""

    def __str__(self) -> str:
        return str(self.args[0])


_told: Set[str] = set()


def say_once(text: str) -> None:
    """A sentence on stderr, the first time that it is said in this process."""
    if text not in _told:
        _told.add(text)
        print("tacho: " + text, file=sys.stderr)
