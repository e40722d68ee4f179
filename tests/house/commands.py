"""What the program says of its own commands: the lists that the tests of help, manual pages, docs and completion share."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

TACHO = os.environ["TACHO"]
OPTION = re.compile(r"^  (?:-(\w), |    )--([\w-]+)(=\S+)?", re.M)


def help_of(*command):
    return subprocess.run([TACHO, "help", *command], stdout=subprocess.PIPE, check=True).stdout.decode()


def commands():
    return re.findall(r"^  ([a-z-]+) ", help_of(), re.M)


def section(text, title):
    """The lines of help below a title, up to the next empty line."""
    found = re.search(rf"^{title}\n((?:.+\n)*)", text, re.M)
    return found.group(1) if found else ""


def options(command):
    """The options that help explains, by name: (letter or "", value or "")."""
    return {name: (letter, value[1:]) for letter, name, value in OPTION.findall(section(help_of(command), "options:"))}


def ignored(command):
    """The options of nsys that are accepted and have no effect."""
    return re.findall(r"--([\w-]+)", " ".join(re.findall(r"^  --.*$", help_of(command), re.M)))


def on_terminal(columns, *command):
    """What a command prints on a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([TACHO, *command], stdout=slave, stdin=slave)
    os.close(slave)
    parts = []
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(master)
    assert child.wait() == 0, command
    return b"".join(parts).decode().replace("\r\n", "\n")
