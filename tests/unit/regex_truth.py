"""Generates regular expressions and texts, with the verdict of Python's re: the expected results of base_regex.c.

regex_truth.py SEED COUNT prints lines of FLAGS PATTERN TEXT VERDICT, pattern and text in hexadecimal with an x in front. Expressions
use the syntax that both engines have; where they spell it differently ($ is \\Z in Python), each gets its own.
"""

import random
import re
import sys
import warnings

IGNORE_CASE = 2
CHARACTERS = ["a", "b", "c", "A", "B", "_", "0", "7", " ", "-", ".", "é", "€", "😀", "\n", "::", "[", "^", "\\"]


def quoted(character):
    return "".join("\\" + c if c in r"\[]^$.|?*+(){}-" else c for c in character)


def bracket(choose):
    items = []
    for _ in range(choose.randint(1, 3)):
        kind = choose.randrange(5)
        if kind == 0:
            first, last = sorted(choose.choices("abcxyzABCXYZ059é€", k=2))
            items.append(f"{first}-{last}")
        elif kind == 1:
            items.append(choose.choice([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"]))
        elif kind == 2:
            items.append(choose.choice([r"\]", r"\[", r"\^", r"\-", r"\\", r"\n", r"\t"]))
        else:
            items.append(choose.choice(["a", "b", "B", "é", ".", "*", "$", "(", "|"]))
    return "[" + choose.choice(["", "^"]) + "".join(items) + "]"


def expression(choose, depth):
    """Returns the expression as the engine under test spells it, and as Python does."""
    kind = choose.randrange(12 if depth > 0 else 6)
    if kind < 3:
        one = quoted(choose.choice(CHARACTERS))
        return one, one
    if kind == 3:
        one = choose.choice([".", bracket(choose), r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\t", r"\n"])
        return one, one
    if kind == 4:
        return choose.choice([("^", r"\A"), ("$", r"\Z"), (r"\b", r"\b"), (r"\B", r"\B"), (r"\<", r"\b(?=\w)"), (r"\>", r"\b(?<=\w)")])
    if kind == 5:
        return choose.choice([("", ""), ("()", "()"), ("{", "{"), ("a{,x", "a{,x"), ("{}", "{}")])
    if kind < 9:
        parts = [expression(choose, depth - 1) for _ in range(choose.randint(2, 4))]
        return "".join(ours for ours, _ in parts), "".join(theirs for _, theirs in parts)
    ours, theirs = expression(choose, depth - 1)
    if kind == 9:
        also, them = expression(choose, depth - 1)
        return f"({ours}|{also})", f"({theirs}|{them})"
    count = choose.choice(["*", "+", "?", "{2}", "{0}", "{0,2}", "{1,3}", "{2,}", "{,2}"]) + choose.choice(["", "", "?"])
    return f"(?:{ours}){count}", f"(?:{theirs}){count}"


def main():
    warnings.simplefilter("ignore", FutureWarning)  # of sets that some later Python may read otherwise
    choose = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        ours, theirs = expression(choose, 4)
        flags = choose.choice([0, IGNORE_CASE])
        compiled = re.compile(theirs, re.ASCII | re.DOTALL | (re.IGNORECASE if flags else 0))
        for _ in range(6):
            text = "".join(choose.choices(CHARACTERS, k=choose.randint(1, 8)))  # \B and an empty text: engines differ
            print(flags, "x" + ours.encode().hex(), "x" + text.encode().hex(), int(compiled.search(text) is not None))


main()
