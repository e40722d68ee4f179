"""python -m tacho script.py …: runs a script that uses torch.profiler or torch.autograd.profiler, with tacho's classes in their place.

`python -m tacho COMMAND …` for a command of tacho's own (profile, ops, stats, …) runs that, for those who have the package alone.
"""
from __future__ import annotations

import os
import runpy
import sys
from typing import List, NoReturn

from . import _native, _replace

USAGE = "usage: python -m tacho [-m MODULE | SCRIPT] [ARGUMENT …], or a command of tacho: python -m tacho profile …"


def _run_native(arguments: List[str]) -> NoReturn:
    os.execv(_native.program(), ["tacho", *arguments])


def command() -> NoReturn:
    """The command `tacho` that pip makes of a wheel."""
    try:
        _run_native(sys.argv[1:])
    except _native.TachoError as error:
        sys.exit(f"tacho: {error}")


def main() -> None:
    """See above."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    if arguments[0] == "-m" and len(arguments) > 1:
        _replace.install()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif os.path.exists(arguments[0]):
        _replace.install()
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        _run_native(arguments)


if __name__ == "__main__":
    main()
