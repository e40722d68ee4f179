"""The table of MPI's functions has every function that the headers of the installed MPIs declare, with as many parameters, but for those that
docs/mpi.md leaves out."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402: it finds the lib of tests/trace
import lib  # noqa: E402

# Clocks, addresses, the tools interface, conversions of handles and statuses, callbacks.
LEFT_OUT = re.compile(r"MPI_(T_\w+|Wtime|Wtick|Aint_\w+|Abi_\w+|F_sync_reg|Status_(c2|f2|f082|get_|set_)\w+|\w+(_toint|_fromint|_f2c|_c2f)|\w+_FN)$")


def parameters(text):
    """How many; those of a function pointer are one."""
    depth, count = 0, 1
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        count += letter == "," and depth == 0
    return 0 if text.strip() in ("void", "") else count


def declared(mpi):
    """name: parameters, of all functions in the header."""
    done = subprocess.run([*mpi.cc, "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True,
                          env={**os.environ, **mpi.environment})
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)(?=[\s;,)])", "", done.stdout, flags=re.S)
    return {name: parameters(inside) for name, inside in re.findall(r"\bint\s+(MPI_\w+)\s*\(([^;{}]*)\)\s*;", text)}


class Table(unittest.TestCase):
    def test_every_function_is_there(self):
        with open(os.path.join(lib.SOURCE, "src/wire/mpi_calls.def")) as file:
            table = {"MPI_" + name: int(words) for name, words in re.findall(r"^MPI_CALL\((\w+), (\d+),", file.read(), flags=re.M)}
        self.assertGreater(len(table), 400)
        self.assertEqual([name for name in table if LEFT_OUT.match(name)], [])
        found = mpilib.installed()
        if not found:
            self.skipTest("no MPI here")
        for mpi in found:
            with self.subTest(mpi=mpi.name):
                functions = {name: count for name, count in declared(mpi).items() if not LEFT_OUT.match(name)}
                self.assertGreater(len(functions), 300)
                # Variadic in some headers: its first parameter counts.
                functions.pop("MPI_Pcontrol", None)
                self.assertEqual({name: count for name, count in functions.items() if table.get(name) != count}, {})


lib.main()
