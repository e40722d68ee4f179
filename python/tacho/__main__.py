"""python -m tacho [OPTIONS] SCRIPT …: records a Python program like `tacho profile python SCRIPT …`, with the options of that.

-m MODULE and -c CODE stand for a script, as they do for Python. In scripts that use torch.profiler, tacho's classes take the place of torch's.
With a command of tacho instead of a script (stats, ops, …) it runs that command, for those who have the package alone.
"""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Dict, List, NoReturn, Optional, Tuple

from . import _native

USAGE = """usage: python -m tacho [OPTIONS] SCRIPT [ARGUMENT …]
       python -m tacho [OPTIONS] -m MODULE [ARGUMENT …]
       python -m tacho [OPTIONS] -c CODE [ARGUMENT …]
       python -m tacho COMMAND [ARGUMENT …]

Records the program and prints a summary. OPTIONS are those of tacho profile; --capture-range has no short form here.
COMMAND is one of tacho's: stats, view, ops and others. python -m tacho help lists them."""


def _become(arguments: List[str]) -> NoReturn:
    """The program tacho in the place of this process: status, signals and input are its own."""
    try:
        program = _native.program()
    except _native.TachoError as error:
        sys.exit(f"tacho: {error}")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec keeps that
    os.execv(program, ["tacho", *arguments])


def command() -> NoReturn:
    """The command `tacho` that pip makes of a wheel."""
    _become(sys.argv[1:])


_OPTION = re.compile(r"^ +(?:(-\w), )?(--[\w-]+)(?:=(\S+))?", re.M)
_TRUTH = ["true", "false", "yes", "no", "on", "off", "1", "0"]


def _values_of(kind: Optional[str]) -> Optional[List[str]]:
    """Which words behind an option are its value, by what help calls it; None: any."""
    if kind is None:
        return []
    if kind == "true|false":
        return _TRUTH
    return kind.strip("[]").split("|") if kind.startswith("[") else None


def _options() -> Dict[str, Optional[List[str]]]:
    """The options of tacho profile, and their values in the next word."""
    found: Dict[str, Optional[List[str]]] = {}
    for letter, name, kind in _OPTION.findall(_native.run(["profile", "--help"])):
        found[name] = found[letter] = _values_of(kind or None)
    return found


def _split(words: List[str]) -> Tuple[List[str], List[str]]:
    """Options of tacho, and the words of the program: a script, -m or -c begins it."""
    options, at = _options(), 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--") and not re.match("-[mc]", words[at]):
        word = words[at]
        at += 1
        values = [] if "=" in word or (len(word) > 2 and word[1] != "-") else options.get(word, [])
        if at < len(words) and (values is None or words[at] in values):
            at += 1
    return words[:at], words[at + 1:] if words[at:at + 1] == ["--"] else words[at:]


def _is_command(word: str) -> bool:
    """Whether tacho has a command of this name; a script that is called so too is run as ./NAME. Scripts have dots or slashes."""
    if not word.replace("-", "").isalpha() or word.startswith("-"):
        return False
    try:
        _native.run(["help", word])
    except _native.TachoError:
        return False
    return True


def _profile(words: List[str]) -> NoReturn:
    options, program = _split(words)
    if not program:
        sys.exit(f"tacho: no program given\n{USAGE}")
    if not program[0].startswith("-") and not os.path.exists(program[0]):
        print(f"tacho: cannot open file {os.path.abspath(program[0])!r}: no such file", file=sys.stderr)
        sys.exit(2)
    flags: List[str] = getattr(subprocess, "_args_from_interpreter_flags")()
    _become(["profile", "--pytorch=replace", *options, "--", sys.executable, *flags, *program])


def main() -> None:
    """See above."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(USAGE)
        return
    try:
        if words[0] == "--version" or _is_command(words[0]):
            _become(words)
        if not words[0].startswith("-") and not os.path.exists(words[0]) and words[0].replace("-", "").isalpha():
            _become(words)  # tacho says that it has no such command, and which it has
        _profile(words)
    except _native.TachoError as error:
        sys.exit(f"tacho: {error}")


if __name__ == "__main__":
    main()
