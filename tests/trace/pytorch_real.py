"""PyTorch itself: a program profiles itself with torch.profiler while we watch, and both must have seen the same. The variable
TACHO_TEST_TORCH names a Python that has torch, where that of the tests has not.
"""
import collections
import json
import os
import subprocess
import sys

import lib

PYTHON = os.environ.get("TACHO_TEST_TORCH", sys.executable)
PROGRAM = os.path.join(lib.SOURCE, "tests/trace/modules/torch_program.py")
INPUTS = {"Input Dims": "inputDimsId", "Input type": "inputTypesId", "Input Strides": "inputStridesId", "Concrete Inputs": "concreteInputsId"}


def as_older(value):
    """Before 2.2 torch told nothing of lists: not their shapes, and in the end not even that they are lists."""
    if isinstance(value, list):
        return [as_older(each) if not (isinstance(each, list) and each and isinstance(each[0], list)) else [] for each in value]
    return "" if value in ("TensorList", "ScalarList") or isinstance(value, str) and value.startswith("[") else value


class RealPyTorch(lib.Case):
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
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
            self.skipTest(f"{PYTHON} has no torch: TACHO_TEST_TORCH can name a Python that has")
        report = self.profile(PYTHON, PROGRAM, options=["-t", "nvtx", "--pytorch=autograd-shapes-nvtx", "--pytorch-memory=true"])
        truth = [json.loads(line) for line in self.output.stdout.splitlines()]
        ((self.start, self.end),) = report.rows("""SELECT start, "end" FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE value = 'watched'""")
        for check in (self.check_operators, self.check_memory, self.check_steps_and_ranges):
            with self.subTest(check.__name__):
                check(report, truth)


lib.main()
