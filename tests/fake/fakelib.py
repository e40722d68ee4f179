"""What the tests of CUDA without a GPU share: a program is profiled on the stand-ins, and says itself what it did.

    self.cuda("cuda_work", "kernels")     the report; then self.truth("kernel") is what the program printed
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace"))
import lib  # noqa: E402

FAKE = os.environ["FAKE"]
main = lib.main


def cupti(version):
    """The stand-in of a version of CUPTI; 13.0 is the one beside the runtime."""
    folder = os.path.join(FAKE, "lib" if version == "13.0" else "cupti-" + version)
    return os.path.join(folder, next(name for name in os.listdir(folder) if name.startswith("libcupti")))


class Values:
    """The settings and counters of a process on the stand-ins, alive or dead: a file that it maps."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(os.environ["SOURCE"], "tests", "fake", "fake.h")) as file:
            self.names = re.findall(r"^    X\((\w+), ", file.read(), re.M)

    def __getitem__(self, name):
        try:
            with open(self.path, "rb") as file:
                file.seek(8 * self.names.index(name))
                return int.from_bytes(file.read(8), "little", signed=True)
        except FileNotFoundError:
            return 0


class Case(lib.Case):
    waits_in_callbacks = False  # true: where kernels are counted, callbacks wait for the GPU

    def environment(self, settings=None, **variables):
        """Settings of the stand-ins, see fake.h; and other variables."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TACHO_FAKE_")}
        for name, value in (settings or {}).items():
            environment["TACHO_FAKE_" + name.upper()] = str(value)
        return dict(environment, **variables)

    def cuda(self, name, *arguments, options=(), settings=None, variables=None, source="cuda", **more):
        """Profiles one of the programs that are linked with the stand-ins; its report."""
        environment = self.environment(settings, **(variables or {}))
        report = self.profile(lib.program(name), *map(str, arguments), options=["-t", source, *options], env=environment, **more)
        self.said = self.lines(self.output.stdout)
        counters = self.truth("counters")
        if counters:
            if not self.waits_in_callbacks:
                self.assertEqual(counters[-1]["calls_in_callbacks"], 0, "CUDA was called inside of a callback of CUPTI's")
            self.assertEqual(counters[-1]["dirty_requests"], 0, "CUPTI was lent a buffer that was not filled with zeros")
        return report

    @staticmethod
    def lines(text):
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def truth(self, what):
        return [line for line in self.said if line["what"] == what]

    def counters(self):
        return self.truth("counters")[-1]

    def warnings(self, report):
        """What the report says to its reader."""
        if not report.has("DIAGNOSTIC_EVENT"):
            return ""
        return "\n".join(text for text, in report.rows("SELECT text FROM DIAGNOSTIC_EVENT"))


def kernels(report):
    """(mangled name, count)."""
    if not report.has("CUPTI_ACTIVITY_KIND_KERNEL"):
        return {}
    return dict(report.rows("""SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = coalesce(mangledName, demangledName)
                               GROUP BY value"""))


def calls(report, condition="1", *arguments):
    """(API call, count), without the version that CUPTI puts behind the name."""
    if not report.has("CUPTI_ACTIVITY_KIND_RUNTIME"):
        return {}
    counts = {}
    for name, count in report.rows(f"SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE {condition} GROUP BY value", *arguments):
        counts[name] = counts.get(name, 0) + count
    return counts


def findings(report):
    """What does not fit together: (finding, how often)."""
    if not report.has("TACHO_CUDA_CHECK"):
        return {}
    return dict(report.rows("SELECT finding, sum(count) FROM TACHO_CUDA_CHECK GROUP BY finding"))


def monotonic(report):
    """A function from CLOCK_MONOTONIC to the report's time."""
    pairs = report.rows("SELECT monotonicNs, timestamp FROM TACHO_CLOCK ORDER BY monotonicNs")

    def convert(ns):
        before = [pair for pair in pairs if pair[0] <= ns] or pairs[:1]
        after = [pair for pair in pairs if pair[0] > ns] or pairs[-1:]
        (m0, t0), (m1, t1) = before[-1], after[0]
        return t0 + (ns - m0) if m1 <= m0 else t0 + (ns - m0) * (t1 - t0) / (m1 - m0)

    return convert
