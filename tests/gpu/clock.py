"""The times of kernels against the host's clock: the error is at most 2 µs, in every minute.

The kernels of programs/clock.cu give bounds that hold whatever the hardware does: a kernel began before the host saw it running
and ended after the host let it go. A report whose clock of the GPU is off by e shows begins that are too late by e, or ends that
are too early. So e is at least every (begin in the report - seen) and at most every (end in the report - let go); over the
kernels of a second, in which e hardly changes, that leaves an interval. CLOCK_SECONDS=3600 measures for an
hour, when this file is run by itself."""
import os
import struct
import unittest

import gpulib
import tools

LIMIT_SECONDS = 120
ALONE = True
SECONDS = float(os.environ.get("CLOCK_SECONDS", "60"))
LIMIT_NS = 2000


def to_report_time(clock):
    """A function from CLOCK_MONOTONIC to the report's time, by TACHO_CLOCK's pairs: straight lines between them."""
    clock = sorted(clock)

    def convert(ns, place=[0]):  # times come in order
        while place[0] + 2 < len(clock) and clock[place[0] + 1][0] <= ns:
            place[0] += 1
        if len(clock) == 1:
            return ns - clock[0][0] + clock[0][1]
        (m0, t0), (m1, t1) = clock[place[0]:place[0] + 2]
        return t0 + (ns - m0) * (t1 - t0) / (m1 - m0)
    return convert


def intervals(kernels, pairs, convert, second_ns=1_000_000_000):
    """[(second, least error, greatest error)] from kernels [(begin, end)] and pairs [(seen, let go)]."""
    bounds = {}
    for (begin, end), (seen, released) in zip(kernels, pairs):
        low, high = begin - convert(seen), end - convert(released)
        second = int((seen - pairs[0][0]) // second_ns)
        before = bounds.get(second, (-float("inf"), float("inf")))
        bounds[second] = max(before[0], low), min(before[1], high)
    return [(second, *bounds[second]) for second in sorted(bounds)]


class Clock(gpulib.Case):
    def test_error_is_at_most_two_microseconds(self):
        program = tools.compiled("clock")
        report = self.profile(program, str(SECONDS), self.path("notes"), options=gpulib.CUDA, seconds=SECONDS + 50)
        with open(self.path("notes"), "rb") as file:
            pairs = list(struct.iter_unpack("QQ", file.read()))
        kernels = report.rows(f"SELECT start, end FROM {gpulib.KERNEL} ORDER BY start")
        self.assertEqual(len(kernels), len(pairs), "kernels in the report, kernels launched")
        self.assertGreater(len(pairs), 100 * SECONDS, "too few kernels to say anything")
        found = intervals(kernels, pairs, to_report_time(report.rows("SELECT monotonicNs, timestamp FROM TACHO_CLOCK")))
        self.figure("kernels", len(kernels))
        self.figure("seconds", len(found))
        least, greatest = max(low for _, low, _ in found), min(high for _, _, high in found)
        self.figure("error is at least, ns, in the worst second", round(least))
        self.figure("error is at most, ns, in the worst second", round(greatest))
        self.figure("widest interval, ns", round(max(high - low for _, low, high in found)))
        self.figure("farthest bound from zero, ns", round(max(max(abs(low), abs(high)) for _, low, high in found)))
        self.figure("each minute: least, greatest, ns",
                    [(round(max(low for second, low, _ in found if second // 60 == minute)), round(min(high for second, _, high in found if second // 60 == minute)))
                     for minute in sorted({second // 60 for second, _, _ in found})])
        for second, low, high in found:
            self.assertLessEqual(low, high + LIMIT_NS, f"second {second}: the clock is not steady")
            self.assertLessEqual(low, LIMIT_NS, f"second {second}: the GPU's times are too late, ns")
            self.assertGreaterEqual(high, -LIMIT_NS, f"second {second}: the GPU's times are too early, ns")


class Bounds(unittest.TestCase):
    """The reckoning itself, on made-up kernels."""

    def test_a_shifted_clock_is_found(self):
        pairs = [(1_000_000 * i, 1_000_000 * i + 40) for i in range(1, 3000)]
        convert = to_report_time([(0, 500), (10_000_000_000, 10_000_000_500)])
        for shift in (0, 5000, -5000):
            kernels = [(seen + 500 - 900 + shift, released + 500 + 1100 + shift) for seen, released in pairs]
            for _, low, high in intervals(kernels, pairs, convert):
                self.assertAlmostEqual(low, shift - 900, delta=1)
                self.assertAlmostEqual(high, shift + 1100, delta=1)


if __name__ == "__main__":
    gpulib.main()
