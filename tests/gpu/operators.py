"""PyTorch's operators in one program under torch.profiler and under Tacho, twice each: the same operators, the same counts, and
the GPU time of each within 2 %. What differs between torch.profiler's own two runs is listed and decides nothing. And programs
that use torch's profilers, with ours in their place."""
import json
import os
import re

import facts
import gpulib
import tools

LIMIT_SECONDS = 120
ALONE = True
PROGRAM = "resnet18_ops.py"
CHANCE_US = 4 * facts.TICK_NS / 1000  # by which the shortest kernels differ from run to run, under one profiler too
# Calls of CUDA stand among torch's rows; which of them are recorded is compared in compare.py. The rest are torch.profiler's own.
LEFT_OUT = re.compile(r"cu[A-Zd]|Activity Buffer Request|Command Buffer Full|Lazy Function Loading|Buffer Flush|Runtime Triggered|ProfilerStep")


class Operators(gpulib.Case):
    def by_torch(self, number):
        path = self.path(f"torch{number}.json")
        done = tools.run([tools.PYTHON, tools.source(PROGRAM), "torch", path], 60)
        self.assertEqual(done.status, 0, str(done))
        with open(path) as file:
            return {name: tuple(values) for name, *values in json.load(file) if not LEFT_OUT.match(name)}

    def by_tacho(self, number):
        report = f"tacho{number}.tacho"
        self.profile(tools.PYTHON, tools.source(PROGRAM), "bare", output=report, seconds=60,
                     options=("-t", "cuda", "--pytorch=auto", "-s", "none", "-c", "cudaProfilerApi", "--capture-range-end=stop"))
        rows = json.loads(tools.run([gpulib.TACHO, "ops", "--format", "json", self.path(report)], 60).stdout)
        return {row["key"]: (row["count"], row["self_device_us"], row["device_total_us"]) for row in rows if not LEFT_OUT.match(row["key"])}

    def test_as_torch_profiler_has_them(self):
        self.need_torch()
        ours, theirs = [], []
        for number in (1, 2):
            theirs.append(self.by_torch(number))
            ours.append(self.by_tacho(number))
        names = {name for run in theirs for name in run}
        self.figure("operators compared", len(names))
        self.assertGreater(len(names), 50)
        wrong, undetermined, most = [], [], 0.0
        for name in sorted(names):
            expected, got = [run.get(name, (0, 0, 0)) for run in theirs], [run.get(name, (0, 0, 0)) for run in ours]
            if expected[0][0] != expected[1][0]:
                undetermined.append(f"{name}: {expected}")
                continue
            if any(row[0] != expected[0][0] for row in got):
                wrong.append(f"{name}: torch {expected[0][0]} times, tacho {got[0][0]} and {got[1][0]}")
                continue
            for column, what in ((1, "self"), (2, "total")):
                first, second = (row[column] for row in expected)
                middle, mine = (first + second) / 2, (got[0][column] + got[1][column]) / 2
                room = max(0.02 * middle, CHANCE_US * expected[0][0])
                if abs(first - second) > room:
                    undetermined.append(f"{name}, {what}: torch {first:.1f} and {second:.1f} µs")
                elif abs(mine - middle) > room:
                    wrong.append(f"{name}, {what}: torch {middle:.1f}, tacho {mine:.1f} µs ({(mine / middle - 1) * 100 if middle else 0:+.1f} %)")
                elif middle:
                    most = max(most, abs(mine / middle - 1))
        self.figure("farthest apart", f"{most * 100:.2f} %")
        self.figure("what torch.profiler's two runs do not determine", facts.some(undetermined))
        self.assertLess(len(undetermined), len(names) / 2)
        self.assertEqual(facts.some(wrong), [])


class Scripts(gpulib.Case):
    """programs/profilers.py by `python -m tacho`, and by `tacho profile --pytorch=replace`."""

    def check(self, command, env):
        self.need_torch()
        done = tools.run([*command, tools.source("profilers.py"), self.folder], 100, env, self.folder)
        self.assertEqual(done.status, 0, str(done))
        tables = dict(part.split("\n", 1) for part in done.stdout.split("==== ")[1:])
        for title, operator in (("torch.square", "aten::square"), ("a * a", "aten::mul"), ("a ** 2", "aten::pow"), ("schedule 4", "aten::square"),
                                ("inference", "model_inference"), ("shapes", "aten::cudnn_convolution"), ("memory", "aten::empty"),
                                ("stacks", "aten::cudnn_convolution")):
            self.assertRegex(tables.get(title, ""), rf"(?m)^ *{re.escape(operator)} ", f"{title}: {done}")
            self.assertRegex(tables[title], r"Self CUDA time total: [0-9.]*[1-9]", title)
        self.assertRegex(tables["shapes"], r"\[\[5, 64, 56, 56\], \[64, 64, 3, 3\]")
        self.assertRegex(tables["stacks"], r"resnet\.py\(\d+\): ")
        self.assertEqual(re.findall(r"step_num=(\d+)", done.stdout), [str(number) for number in range(1, 7)])
        with open(self.path("trace_4.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual(sum(event.get("name") == "aten::square" for event in events), 2)
        self.assertEqual(sum(event.get("cat") == "kernel" and "pow" in event["name"] for event in events), 2)
        with open(self.path("stacks.txt")) as file:
            self.assertRegex(file.read(), r"(?m)forward.* \d+$")

    def test_python_m_tacho(self):
        python = os.path.join(os.path.dirname(gpulib.TACHO), "..", "lib", "tacho", "python")
        self.check([tools.PYTHON, "-m", "tacho"], {"PYTHONPATH": python, "TACHO": gpulib.TACHO})

    def test_replace(self):
        self.check([gpulib.TACHO, "profile", "-t", "cuda", "-s", "none", "--pytorch=replace", "-f", "true", "-o", self.path("r.tacho"), tools.PYTHON], {})


if __name__ == "__main__":
    gpulib.main()
