"""Events of Python itself: collections of its garbage collector, which are real here, and compilations, of a stand-in for Dynamo."""
import lib

EVENTS = """SELECT kind, n.value, generation, collected, uncollectable, f.value, line, r.value, e."end" - e.start, globalTid FROM TACHO_PYTHON_EVENT e
            JOIN StringIds n ON n.id = nameId LEFT JOIN StringIds f ON f.id = module LEFT JOIN StringIds r ON r.id = reasonId ORDER BY e.start"""
COLLECT = """
import gc, sys
import torch
gc.disable()

class Node:
    pass

def cycles(count):
    for _ in range(count):
        node = Node()
        node.self = node

gc.collect()
cycles(17)
young = gc.collect(0)
cycles(30)
full = gc.collect()
"""
COMPILE = """
import torch
import torch._dynamo
from torch._dynamo import convert_frame

def forward(x):
    return x

def other(x):
    return x
"""


class Events(lib.Case):
    def events(self, text, *options):
        report = self.profile(self.python, "-c", text, options=["-t", "nvtx", *(options or ["--python-events=true"])], env=lib.environment(lib.STANDIN))
        return report.rows(EVENTS) if report.has("TACHO_PYTHON_EVENT") else []

    def collections(self, text, *options):
        return [row for row in self.events(text, *options) if row[0] == "gc"]

    def compilations(self, text):
        return [row[:2] + row[5:8] for row in self.events(COMPILE + text) if row[0] != "gc"]

    def test_collections(self):
        """gc.collect() returns how many objects it freed."""
        rows = self.collections(COLLECT + "print(young, full)")
        young, full = (int(number) for number in self.output.stdout.split())
        first = next(place for place, row in enumerate(rows) if row[2] == 0 and row[3] == young)
        self.assertEqual([row[1:8] for row in rows[first:first + 2]],
                         [("gc generation 0", 0, young, 0, None, None, None), ("gc generation 2", 2, full, 0, None, None, None)])
        self.assertGreaterEqual((young, full), (17, 30))
        self.assertTrue(all(row[8] > 0 for row in rows))

    def test_not_asked_for(self):
        """The sampler of stacks may see collections then, but nothing is in the program."""
        self.assertEqual({row[0] for row in self.events(COLLECT + "print(len(gc.callbacks))", "--pytorch=auto")} - {"gc"}, set())
        self.assertEqual(self.output.stdout, "0\n")
        self.assertEqual(self.events(COLLECT, "--pytorch=auto", "--python-sampling=false"), [])

    def test_told_once(self):
        """Collections that callbacks tell are not taken from the sampler, too."""
        text = COLLECT + "keep = [[number] for number in range(300000)]\nfor _ in range(10):\n    cycles(1000)\n    gc.collect()"
        rows = [row for row in self.collections(text) if row[2] == 2 and row[3] >= 1000]
        self.assertEqual(len(rows), 10, rows)

    def test_with_advice(self):
        self.assertTrue(self.collections(COLLECT, "--advise"))

    def test_program_that_removes_callbacks(self):
        rows = self.collections(COLLECT + "gc.callbacks.clear()\ncycles(5000)\ngc.collect()\nprint('done')")
        self.assertEqual(self.output.stdout, "done\n")
        self.assertFalse([row for row in rows if row[3] >= 5000])

    def test_children_of_fork(self):
        text = """
import os
child = os.fork()
cycles(3000)
gc.collect()
if not child:
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""
        rows = [row for row in self.collections(COLLECT + text) if row[3] >= 3000]
        self.assertEqual(self.output.stdout, "0\n")
        self.assertEqual((len(rows), len({row[9] for row in rows})), (2, 2))

    def test_collections_at_the_end_of_the_interpreter(self):
        """The program ends as it would, whatever is taken apart by then."""
        self.events("import torch, gc\nlists = []\nfor _ in range(1000):\n    one = []\n    one.append(one)\n    lists.append(one)\nprint('done')")
        self.assertEqual((self.output.stdout, self.output.stderr.count("Traceback"), self.output.stderr.count("Exception")), ("done\n", 0, 0))

    def test_compilations(self):
        rows = self.compilations("""
convert_frame.compile_function(forward, breaks=[("call to print", 21), ("data dependent\\n  hint", 33)])
convert_frame.compile_function(other)
convert_frame.compile_function(forward, failed="tensor 'x' size mismatch\\tat index 0")
convert_frame.compile_function(forward, failed="tensor 'x' stride mismatch", with_argument=False)
""")
        self.assertEqual(rows, [("compile", "compile forward", "<string>", 6, None), ("graph break", "graph break forward", "<string>", 21, "call to print"),
                                ("graph break", "graph break forward", "<string>", 33, "data dependent\n  hint"),
                                ("compile", "compile other", "<string>", 9, None),
                                ("recompile", "recompile forward", "<string>", 6, "tensor 'x' size mismatch\tat index 0"),
                                ("recompile", "recompile forward", "<string>", 6, "tensor 'x' stride mismatch")])

    def test_compilations_take_time(self):
        durations = [row[8] for row in self.events(COMPILE + "convert_frame.compile_function(forward)") if row[0] == "compile"]
        self.assertEqual(len(durations), 1)
        self.assertGreaterEqual(durations[0], 2000000)

    def test_other_triggers(self):
        rows = self.compilations("for name in ('LAZY_BACKWARD', 'TRITON_AUTOTUNING', 'CUDAGRAPH_RECORDING'):\n    convert_frame.other(name)")
        self.assertEqual([row[0] for row in rows], ["compile backward", "autotune", "record CUDA graph"])

    def test_a_dynamo_of_another_shape(self):
        """The program does not notice that its lists are of no use."""
        rows = self.compilations("""
from torch._dynamo import utils
utils.graph_break_reasons = None
del utils.guard_failures
convert_frame.compile_function(forward)
print("done")
""")
        self.assertEqual((self.output.stdout, rows), ("done\n", []))


if __name__ == "__main__":
    lib.main()
