"""The GPU's clock is off and drifts: the report's times are right all the same, within 2 µs. On the stand-ins of CUDA."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib


class Clock(fakelib.Case):
    def errors(self, **settings):
        report = self.cuda("cuda_work", "clock", 1500, settings=settings)
        time = fakelib.monotonic(report)
        starts = dict(report.rows("SELECT correlationId, start FROM CUPTI_ACTIVITY_KIND_KERNEL"))
        kernels = self.truth("kernel")
        self.assertEqual(len(starts), len(kernels))
        errors = sorted(abs(starts[kernel["correlation"]] - time(kernel["start"])) for kernel in kernels)
        # A thread that compares clocks may be interrupted between them: of many, one in twenty may be worse.
        return errors[int(len(errors) * 0.95)], errors

    def test_drift(self):
        """50 ppm is what real clocks do; 5000 ppm over 1.5 s shifts as much as those do in two and a half minutes."""
        for ppb in (0, 50_000, -50_000, 5_000_000):
            with self.subTest(ppb=ppb):
                worst, errors = self.errors(gpu_drift_ppb=ppb)
                self.assertLessEqual(worst, 2000, errors)

    def test_offset(self):
        worst, errors = self.errors(gpu_offset_ns=-5_000_000_000_000)
        self.assertLessEqual(worst, 2000, errors)


if __name__ == "__main__":
    fakelib.main()
