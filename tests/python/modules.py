"""Calls of nn.Module: told while somebody wants them, named as torch does it, and without a trace in the program otherwise. PyTorch is a
stand-in; torch_real.py compares with PyTorch itself."""
import lib

MODEL = """
import torch

class Leaf(torch.nn.Module):
    def forward(self, value, fail=False):
        if fail:
            raise ValueError("within")
        return value + 1

class Net(torch.nn.Module):
    def __init__(self):
        self.first, self.second = Leaf(), Leaf()

    def forward(self, value):
        return self.second(self.first(self.first(value)))

net = Net()
"""
CALLS = """SELECT value, pythonId, parentId, moduleId, argsId FROM TACHO_TORCH_PYTHON JOIN StringIds ON id = nameId ORDER BY start"""


class Modules(lib.Case):
    def calls(self, text, *options, path=(lib.STANDIN,)):
        report = self.profile(self.python, "-c", MODEL + text, options=["-t", "nvtx", *options], env=lib.environment(*path))
        return report.rows(CALLS) if report.has("TACHO_TORCH_PYTHON") else []

    def test_named_numbered_and_nested(self):
        expected = [("nn.Module: Net_0", 1, None, 0, None), ("nn.Module: Leaf_0", 2, 1, 0, None), ("nn.Module: Leaf_0", 3, 1, 0, None),
                    ("nn.Module: Leaf_1", 4, 1, 1, None)]
        for option in ("--pytorch=autograd-nvtx", "--pytorch=autograd-shapes-nvtx", "--pytorch-modules=true"):
            self.assertEqual(self.calls("print(net(1))", option), expected, option)
            self.assertEqual(self.output.stdout, "4\n")

    def test_not_asked_for(self):
        self.assertEqual(self.calls("print(net(1), hasattr(torch.nn.Module.__call__, '__wrapped__'))", "--pytorch=auto"), [])
        self.assertEqual(self.output.stdout, "4 False\n")

    def test_failing(self):
        text = "try:\n    net.first(1, fail=True)\nexcept ValueError as error:\n    print(error)\nnet.second(value=1)"
        self.assertEqual([row[:3] for row in self.calls(text, "--pytorch-modules=true")],
                         [("nn.Module: Leaf_0", 1, None), ("nn.Module: Leaf_1", 2, None)])
        self.assertEqual(self.output.stdout, "within\n")

    def test_steps_by_the_outermost_module(self):
        """With --advise, where nothing better marks steps. Calls of modules are rows in detailed steps alone."""
        text = "import time\nfor _ in range(60):\n    net.first(net(1))\n    time.sleep(0.005)\nprint('done')"
        report = self.profile(self.python, "-c", MODEL + text, options=["-t", "nvtx", "--advise"], env=lib.environment(lib.STANDIN))
        self.assertEqual(self.output.stdout, "done\n")
        steps = report.rows("SELECT start, \"end\", number, phase, value FROM TACHO_STEP_TIME JOIN StringIds ON id = nameId ORDER BY start")
        self.assertEqual(([number for _, _, number, _, _ in steps], {name for *_, name in steps}), (list(range(58)), {"Net_"}))
        self.assertEqual({phase for *_, phase, _ in steps}, {"settling", "detailed", "traced", "timed"})
        starts = [start for start, in report.rows("SELECT start FROM TACHO_TORCH_PYTHON")]
        for start, end, number, phase, _ in steps:
            if phase != "settling":
                self.assertEqual(sum(start <= time < end for time in starts), 5 if phase == "detailed" else 0, (number, phase))
        # Nor are stacks sampled in timed steps. The two clocks may differ by some microseconds.
        samples = [start for start, in report.rows("SELECT start FROM TACHO_PYTHON_SAMPLE")]
        spans = {phase: [(start + 50000, end - 50000) for start, end, _, its, _ in steps if its == phase] for phase in ("timed", "traced")}
        sampled = {phase: sum(start <= time < end for time in samples for start, end in spans[phase]) for phase in spans}
        self.assertEqual(sampled["timed"], 0)
        self.assertGreater(sampled["traced"], 0)

    def test_of_windows(self):
        """In those that ask for them alone; then __call__ is torch's own again."""
        text = """
import tacho
plain = torch.nn.Module.__call__
with tacho.profile(with_modules=True):
    net(1)
    with tacho.profile():
        net.first(1)
print(torch.nn.Module.__call__ is plain)
with tacho.profile():
    net(1)
with tacho.profile(with_stack=True):
    net.second(1)
"""
        calls = self.calls(text, "--pytorch=auto", path=(lib.PACKAGE, lib.STANDIN))
        self.assertEqual([name for name, *_ in calls], ["nn.Module: " + name for name in ("Net_0", "Leaf_0", "Leaf_0", "Leaf_1", "Leaf_0", "Leaf_1")])
        self.assertEqual(self.output.stdout, "True\n")


if __name__ == "__main__":
    lib.main()
