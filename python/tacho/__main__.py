"""python -m tacho script.py …: runs a script that uses torch.profiler or torch.autograd.profiler, with tacho's classes in their place.

It is `tacho profile --pytorch=replace python script.py`, recording only what the script's own profilers are put around. With a command of
tacho's own instead of a script (profile, ops, stats, …) it runs that, for those who have the package alone.
"""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from typing import List, NoReturn

from . import _native

USAGE = "usage: python -m tacho [-m MODULE | SCRIPT] [ARGUMENT …], or a command of tacho: python -m tacho profile …"
HOW = ["-q", "-t", "cuda,nvtx", "--pytorch=replace", "-c", "api", "--capture-range-end", "repeat"]


def command() -> NoReturn:
    """The command `tacho` that pip makes of a wheel."""
    try:
        os.execv(_native.program(), ["tacho", *sys.argv[1:]])
    except _native.TachoError as error:
        sys.exit(f"tacho: {error}")


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """To the end of the program, to which signals belong: those of the terminal it has got, others are passed on."""
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    return process.wait()


def _run(arguments: List[str]) -> int:
    """The status of a script, or of a module behind -m."""
    flags: List[str] = getattr(subprocess, "_args_from_interpreter_flags")()
    with tempfile.TemporaryDirectory(prefix="tacho-") as folder:
        return _wait(subprocess.Popen([_native.program(), "profile", *HOW, "-o", os.path.join(folder, "report"), sys.executable, *flags, *arguments]))


def _could_be_command(word: str) -> bool:
    """Or an option of tacho's own: names of files that Python runs have dots or slashes."""
    return word.startswith("-") or word.replace("-", "").isalpha()


def _is_command(word: str) -> bool:
    """Whether tacho has a command of this name; a script that is called so too is run as ./NAME."""
    if word.startswith("-") or not _could_be_command(word):
        return False
    try:
        _native.run(["help", word])
    except _native.TachoError:
        return False
    return True


def main() -> None:
    """See above."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    first = arguments[0]
    try:
        if first != "-m" and (_is_command(first) or not os.path.exists(first)):
            if not _could_be_command(first):
                print(f"tacho: cannot open file {os.path.abspath(first)!r}: there is none", file=sys.stderr)
                sys.exit(2)
            command()
        status = _run(arguments)
    except _native.TachoError as error:
        sys.exit(f"tacho: {error}")
    if status < 0:  # as it ended, so do we
        with contextlib.suppress(OSError):  # SIGKILL is as it is
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main()
