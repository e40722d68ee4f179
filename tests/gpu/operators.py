"""PyTorch's operators and kernels in one program under torch.profiler and under Tacho, in turns: the same names on both sides, the same
counts, and GPU times as close as those of several runs of torch.profiler (facts.py), in all and one by one. What differs between torch.profiler's own runs is
listed and decides nothing; it must be little. And programs that use torch's profilers, with ours in their place."""
import json
import os
import re

import facts
import gpulib
import tools

LIMIT_SECONDS = 300
ALONE = True
PROGRAM = "resnet18_ops.py"
# Calls of CUDA stand among torch's rows; which of them are recorded is compared in compare.py. The rest are torch.profiler's own.
LEFT_OUT = re.compile(r"cuda?[A-Z]|Activity Buffer Request|Command Buffer Full|Lazy Function Loading|Buffer Flush|Runtime Triggered|ProfilerStep")
NONE = (0, 0, 0)
# A kernel of some microseconds takes up to 0.32 µs more or less under the one tool than under the other, in every run (H200, six runs of
# each): launches that come closer together find other data in the caches. Rows where that is more than a few percent decide nothing.
LAUNCH_NS = 400


def kept(rows):
    """{(where, name): (count, self µs, total µs)} of what is compared."""
    return {(where, name): tuple(values) for where, name, *values in rows if where == "GPU" or not LEFT_OUT.match(name)}


class Difference:
    """What the runs of each say of all names that any of them has."""

    def __init__(self, ours, theirs):
        self.wrong, self.counts_open, self.times = [], [], facts.Times("torch", LAUNCH_NS)
        self.names = sorted({name for run in (*ours, *theirs) for name in run})
        for name in self.names:
            self.compare(name, *([run.get(name, NONE) for run in runs] for runs in (ours, theirs)))
        self.times.compare("all work of the GPU", *([sum(1000 * row[1] for (where, _), row in run.items() if where == "GPU") for run in runs]
                                                    for runs in (ours, theirs)), 0)

    def compare(self, name, ours, theirs):
        count = theirs[0][0]
        got, known = (" and ".join(str(row[0]) for row in rows) for rows in (ours, theirs))
        if any(row[0] != count for row in theirs):
            self.counts_open.append(f"{name}: torch {known} times")
        elif any(row[0] != count for row in ours):
            self.wrong.append(f"{name}: torch {count} times, tacho {got}")
        else:
            for column, what in ((1, "self"), (2, "total")):
                self.times.compare(f"{name}, {what}, {count} times", *([1000 * row[column] for row in rows] for rows in (ours, theirs)), count)


class Operators(gpulib.Case):
    def by_torch(self, number):
        path = self.path(f"torch{number}.json")
        done = tools.run([tools.PYTHON, tools.source(PROGRAM), "torch", path], 60)
        self.assertEqual(done.status, 0, str(done))
        with open(path) as file:
            return kept(json.load(file))

    def by_tacho(self, number):
        report = f"tacho{number}.tacho"
        self.profile(tools.PYTHON, tools.source(PROGRAM), "bare", output=report, seconds=60,
                     options=("-t", "cuda", "--pytorch=auto", "-s", "none", "-c", "cudaProfilerApi", "--capture-range-end=stop"))
        rows = json.loads(tools.run([gpulib.TACHO, "ops", "--format", "json", self.path(report)], 60).stdout)
        return kept(("GPU" if row["on_device"] else "CPU", row["key"], row["count"], row["self_device_us"], row["device_total_us"]) for row in rows)

    def test_as_torch_profiler_has_them(self):
        self.need_torch()
        ours, theirs, found = [], [], None
        while len(theirs) < facts.ROUNDS or (found.times.wrong and len(theirs) < facts.MOST_ROUNDS):
            theirs.append(self.by_torch(len(theirs)))
            ours.append(self.by_tacho(len(ours)))
            found = Difference(ours, theirs)
        self.figure("rounds", len(theirs))
        self.figure("operators and kernels compared", len(found.names))
        self.assertGreater(len(found.names), 70)
        self.figure("farthest apart", f"{found.times.most * 100:.2f} %")
        self.figure("counts that torch.profiler's runs do not determine", facts.some(found.counts_open))
        self.figure("times that they do not determine", facts.some(found.times.open))
        self.figure("share of the time that they determine", f"{found.times.share() * 100:.0f} %")  # of both columns of all rows
        self.assertEqual(facts.some(found.wrong + found.times.wrong), [])
        self.assertLessEqual(len(found.counts_open), len(found.names) / 20)
        self.assertGreater(found.times.share(), 0.75)


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
