"""PyTorch's operators in one program under torch.profiler and under Tacho, twice each: the same operators, the same counts, and
the GPU time of each within 2 %. What differs between torch.profiler's own two runs is listed and decides nothing."""
import json
import re

import facts
import gpulib
import tools

LIMIT_SECONDS = 120
ALONE = True
PROGRAM = "resnet18_ops.py"
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
                room = max(0.02 * middle, facts.TICK_NS / 1000 * expected[0][0])
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


if __name__ == "__main__":
    gpulib.main()
