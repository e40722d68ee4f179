"""The table of MPI's functions has every function that the headers of the installed MPIs declare, with as many parameters, but for those that
docs/mpi.md leaves out. What the agent reads through an address is one in the header, and what it takes as a value is none."""
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


# Members of the shape.
ADDRESSES = {"send_counts", "send_types", "receive_counts", "receive_types", "new_comm", "message", "request", "requests", "status", "statuses", "flag", "index",
             "out_count", "indices"}
VALUES = {"send_count", "send_type", "receive_count", "receive_type", "partitions", "peer", "tag", "source", "receive_tag", "root", "level", "request_count"}


def parameters(text):
    """Those of a function pointer are one."""
    depth, found = 0, [""]
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [] if text.strip() in ("void", "") else found


def declared(mpi):
    """name: parameters, of all functions in the header."""
    done = subprocess.run([*mpi.cc, "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True,
                          env={**os.environ, **mpi.environment})
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)(?=[\s;,)])", "", done.stdout, flags=re.S)
    return {name: parameters(inside) for name, inside in re.findall(r"\bint\s+(MPI_\w+)\s*\(([^;{}]*)\)\s*;", text)}


def listed():
    """name: (words, action, members of the shape with their places), of the table."""
    with open(os.path.join(lib.SOURCE, "src/wire/mpi_calls.def")) as file:
        rows = re.findall(r"^MPI_CALL(S?)\((\w+), (\d+), \w+, (\w+)([^)]*)\)", file.read(), flags=re.M)
    return {"MPI_" + name + large: (int(words), action, {member: int(place) for member, place in re.findall(r"\.(\w+) = (\d+)", shape)})
            for has_large, name, words, action, shape in rows for large in (("", "_c") if has_large else ("",))}


def is_address(parameter):
    return "*" in parameter or "[" in parameter


class Table(unittest.TestCase):
    def test_every_function_is_there(self):
        table = {name: words for name, (words, _, _) in listed().items()}
        self.assertGreater(len(table), 400)
        self.assertEqual([name for name in table if LEFT_OUT.match(name)], [])
        found = mpilib.installed()
        if not found:
            self.skipTest("no MPI here")
        for mpi in found:
            with self.subTest(mpi=mpi.name):
                functions = {name: len(found) for name, found in declared(mpi).items() if not LEFT_OUT.match(name)}
                self.assertGreater(len(functions), 300)
                # Variadic in some headers: its first parameter counts.
                functions.pop("MPI_Pcontrol", None)
                self.assertEqual({name: count for name, count in functions.items() if table.get(name) != count}, {})

    def test_addresses_and_values(self):
        found = mpilib.installed()
        if not found:
            self.skipTest("no MPI here")
        for mpi in found:
            with self.subTest(mpi=mpi.name):
                checked, wrong = 0, []
                functions = declared(mpi)
                for name, (_, action, members) in listed().items():
                    addresses = ADDRESSES | ({"comm"} if action == "COMM_FREED" else set())
                    for member, place in members.items() if name in functions else ():
                        if member in addresses | VALUES | {"comm"}:
                            checked += 1
                            if is_address(functions[name][place - 1]) != (member in addresses):
                                wrong.append((name, member, functions[name][place - 1]))
                self.assertEqual(wrong, [])
                self.assertGreater(checked, 500)


lib.main()
