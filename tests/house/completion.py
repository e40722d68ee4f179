"""bash, zsh and fish complete commands, options, values and files: each shell is asked, with the script that the program prints."""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import TACHO, commands, ignored, options

# Completes each line of a file and prints the answers, with a line "== LINE" before each.
BASH = r"""
source <("$TACHO" completion bash)
while IFS= read -r line; do
    echo "== $line"
    COMP_WORDS=() word=
    for part in $line; do
        while [[ $part == *=* ]]; do COMP_WORDS+=("${part%%=*}" "="); part=${part#*=}; done  # as readline splits words
        [ -z "$part" ] || COMP_WORDS+=("$part")
    done
    [[ $line != *[\ =] ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _tacho
    printf '%s\n' "${COMPREPLY[@]}"
done <lines >answers
"""
FISH = r"""
source ("$TACHO" completion fish | psub)
while read -l line
    echo "== $line"
    complete -C "$line" | string replace -r '\t.*' '' | string replace -r '^--[\w-]+=' ''
end <lines >answers
true # no match is no error
"""
# Completion in zsh is part of its line editor, which needs a terminal.
ZSH = r"""
autoload -Uz compinit; compinit -u -D
source <("$TACHO" completion zsh)
compadd() {
    local -a hits
    if [[ ${@[1,(i)(-|--)]} == *-[OAD]\ * ]]; then builtin compadd "$@"; return; fi
    builtin compadd -A hits "$@"
    print -rl -- ${hits%=} >>answers
    builtin compadd "$@"
}
zle -C capture list-choices _main_complete
zle-line-init() {
    local line
    for line in "${(@f)$(<lines)}"; do
        print -r -- "== $line" >>answers
        BUFFER=$line CURSOR=$#line
        zle capture
    done
    exit
}
zle -N zle-line-init
"""


def in_terminal(words):
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(words[0], words)
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:  # it has ended
            break
    os.waitpid(child, 0)
    os.close(terminal)


def ask(shell, lines):
    """The answers of a shell to each line, as sets."""
    with open("lines", "w") as out:
        out.write("\n".join(lines) + "\n")
    open("answers", "w").close()
    if shell == "bash":
        subprocess.run(["bash", "-c", BASH], check=True)
    elif shell == "fish":
        subprocess.run(["fish", "--no-config", "-c", FISH], check=True)
    else:
        with open(".zshrc", "w") as out:
            out.write(ZSH)
        os.environ["ZDOTDIR"] = os.getcwd()
        in_terminal(["zsh", "-d", "-i"])
    with open("answers") as text:
        parts = re.split(r"^== (.*)\n", text.read(), flags=re.M)[1:]
    return {line: {word.strip() for word in answer.splitlines() if word.strip()} for line, answer in zip(parts[::2], parts[1::2])}


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for name in ("a.tacho", "b.sqlite", "c.txt", "d.nsys-rep"):
            open(name, "w").close()

    def check_shell(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        names = commands()
        values = {}  # what is typed: the values that help names
        for name in names:
            for option, (_, value) in options(name).items():
                if re.fullmatch(r"[a-z0-9_.:-]+(\|[a-z0-9_.:-]+)+", value):
                    values[f"tacho {name} --{option}="] = set(value.split("|"))
        files = "tacho stats "
        lists = "tacho stats -r nvtx_sum,osrt_s"
        program = "tacho profile -o x cat c."
        answers = ask(shell, ["tacho ", *(f"tacho {name} --" for name in names), *values, files, lists, program, "tacho completion "])
        self.assertEqual(answers["tacho "] - {"--help", "--version"}, set(names))
        for name in names:
            wanted = {f"--{option}" for option in [*options(name), *ignored(name)]}
            self.assertEqual(answers[f"tacho {name} --"], wanted, name)
        for line, wanted in values.items():
            self.assertEqual(wanted - answers[line], set(), line)
        self.assertEqual({name for name in answers[files] if not name.startswith("-")}, {"a.tacho", "b.sqlite", "d.nsys-rep"})
        self.assertEqual({word.split(",")[-1] for word in answers[lists]}, {"osrt_sum"})
        self.assertEqual(answers[program], {"c.txt"})
        self.assertEqual(answers["tacho completion "] - {"-h", "--help"}, {"bash", "zsh", "fish"})

    def test_bash(self):
        self.check_shell("bash")

    def test_zsh(self):
        self.check_shell("zsh")

    def test_fish(self):
        self.check_shell("fish")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    for _, why in result.skipped:
        print(f"skipped: {why}")
    sys.exit(1 if not result.wasSuccessful() else 77 if len(result.skipped) == result.testsRun else 0)
