"""PyTorch itself: a program profiles itself with torch.profiler while we watch, and both must have seen the same. The variable
TACHO_TEST_TORCH names a Python that has torch, where that of the tests has not.
"""
import collections
import json
import os

import lib

PROGRAM = os.path.join(lib.SOURCE, "tests/trace/modules/torch_program.py")
INPUTS = {"Input Dims": "inputDimsId", "Input type": "inputTypesId", "Input Strides": "inputStridesId", "Concrete Inputs": "concreteInputsId"}


def as_older(value):
    """Before 2.2 torch told nothing of lists: not their shapes, and in the end not even that they are lists."""
    if isinstance(value, list):
        return [as_older(each) if not (isinstance(each, list) and each and isinstance(each[0], list)) else [] for each in value]
    return "" if value in ("TensorList", "ScalarList") or isinstance(value, str) and value.startswith("[") else value


# Code made on the fly, whose parts lie where those of the code before it lay.
MADE = '''
import torch
x = torch.ones(3)
for i in range(30):
    names = {}
    exec(compile("def forward(x):\\n    return x.neg()\\n", f"<eval_with_key>.{i}", "exec"), names)
    names["forward"](x)
    del names
'''
# Threads that meet the same stacks, each for the first time, at once.
MEETING = '''
import threading, torch
x, functions, barrier = torch.ones(3), [], threading.Barrier(8)
for i in range(200):
    names = {}
    exec(compile("def f(x):\\n" + "\\n" * i + "    return x.neg()\\n", f"m{i}.py", "exec"), names)
    functions.append(names["f"])
def work(k):
    barrier.wait()
    for function in functions[k::8] + functions:
        function(x)
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
'''
CONTROL = '''
import ctypes, torch
class Calls(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_void_p) for name in "start stop step mark push pop recording flush report".split()]
    _fields_ += [("choose", ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_uint))]
find = ctypes.CDLL(None).tacho_agent_calls
find.restype = ctypes.POINTER(Calls)
choose, x = find().contents.choose, torch.ones(3)
'''
# Threads that change their minds about shapes; then each operator is seen once.
FLIPPING = CONTROL + '''
import threading
def flip():
    for _ in range(300): choose(2); choose(0)
threads = [threading.Thread(target=flip) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for _ in range(100): x.neg()
choose(2)
for _ in range(10): x.cos()
'''
FORKING = CONTROL + '''
import os
choose(2 | 4)
child = os.fork()
if child == 0:
    y = torch.ones(100); del y
    os._exit(0)
os.waitpid(child, 0)
'''
OPERATORS = "FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId"


class RealPyTorch(lib.Case):
    def run_program(self, text, *options):
        self.need_torch()
        return self.profile(lib.TORCH_PYTHON, "-c", text, options=["-t", "none", "--pytorch=auto", *options])

    def test_stacks_of_code_that_is_made_on_the_fly(self):
        report = self.run_program(MADE, "--pytorch-stacks=true")
        stacks = report.rows(f"SELECT (SELECT value FROM StringIds WHERE id = callStackId) {OPERATORS} WHERE value = 'aten::neg' ORDER BY start")
        self.assertEqual([stack.split(";")[0] for stack, in stacks], [f"<eval_with_key>.{i}(2): forward" for i in range(30)])

    def test_each_thread_has_its_stacks(self):
        report = self.run_program(MEETING, "--pytorch-stacks=true")
        self.assertEqual(report.rows(f"SELECT count(*), count(callStackId) {OPERATORS} WHERE value = 'aten::neg'"), [(1800, 1800)])

    def test_choosing_in_several_threads_adds_one_observer(self):
        report = self.run_program(FLIPPING)
        self.assertNotIn("not found", self.output.stderr)
        self.assertEqual(report.rows(f"SELECT value, count(*), count(inputDimsId) {OPERATORS} WHERE value IN ('aten::neg', 'aten::cos') GROUP BY 1"),
                         [("aten::cos", 10, 10), ("aten::neg", 100, 0)])

    def test_a_forked_child_goes_on_with_what_was_chosen(self):
        report = self.run_program(FORKING)
        ((process, shapes),) = report.rows(f"SELECT globalTid >> 24, count(inputDimsId) {OPERATORS} WHERE value = 'aten::fill_' AND inputDimsId IS NOT NULL")
        self.assertEqual(shapes, 1)
        self.assertEqual(report.rows(f"SELECT bytes FROM TACHO_TORCH_MEMORY WHERE globalTid >> 24 = {process} ORDER BY timestamp"), [(400,), (-400,)])

    def inside(self, column):
        return f"{column} >= {self.start} AND {column} <= {self.end}"

    def check_operators(self, report, truth):
        names = [name for name in INPUTS if any(name in event["args"] for event in truth)]  # older versions have fewer
        select = ", ".join(f"(SELECT value FROM StringIds WHERE id = {INPUTS[name]})" for name in names)
        rows = report.rows(f"SELECT value, category, sequenceNumber, {select} FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE {self.inside('start')}")
        wording = (lambda value: value) if "Input Strides" in names else as_older
        ours = collections.Counter(repr((name, category, sequence, [wording(json.loads(text or "[]")) for text in texts]))
                                   for name, category, sequence, *texts in rows)
        theirs = collections.Counter(repr((event["name"], event["cat"], event["args"].get("Sequence number"),
                                           [wording(event["args"].get(name, [])) for name in names])) for event in truth if event["name"] != "[memory]")
        self.assertGreater(len(theirs), 50)
        self.assertEqual((ours - theirs, theirs - ours), (collections.Counter(), collections.Counter()))

    def check_memory(self, report, truth):
        ours = report.rows(f"SELECT deviceType, deviceId, address, bytes FROM TACHO_TORCH_MEMORY WHERE {self.inside('timestamp')} ORDER BY timestamp")
        arguments = [event["args"] for event in truth if event["name"] == "[memory]"]
        theirs = [(each["Device Type"], each["Device Id"], each["Addr"], each["Bytes"]) for each in arguments]
        self.assertGreater(len(theirs), 20)
        self.assertEqual(ours, theirs)

    def check_steps_and_ranges(self, report, truth):
        self.assertEqual(report.rows("SELECT number FROM TACHO_TORCH_STEP ORDER BY start"), [(0,), (1,), (2,)] * 2)
        texts = collections.Counter(text.split(",")[0] for text, in report.rows(f"SELECT text FROM NVTX_EVENTS WHERE {self.inside('start')}"))
        self.assertEqual(texts, collections.Counter(event["name"] for event in truth if event["name"] != "[memory]"))

    def test_the_same_as_its_own_profiler(self):
        self.need_torch()
        report = self.profile(lib.TORCH_PYTHON, PROGRAM, options=["-t", "nvtx", "--pytorch=autograd-shapes-nvtx", "--pytorch-memory=true"])
        truth = [json.loads(line) for line in self.output.stdout.splitlines()]
        ((self.start, self.end),) = report.rows("""SELECT start, "end" FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE value = 'watched'""")
        for check in (self.check_operators, self.check_memory, self.check_steps_and_ranges):
            with self.subTest(check.__name__):
                check(report, truth)


lib.main()
