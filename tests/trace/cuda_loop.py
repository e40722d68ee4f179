"""Steps of loops without marks, found in a plain capture: the answer is about a step, not about the whole run. On the stand-ins of CUDA."""
import json
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib

STEPS = 40

PROGRAM = """
import ctypes, sys, time

class Size(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

driver, cuda = (ctypes.CDLL(name, ctypes.RTLD_GLOBAL) for name in ("libcuda.so.1", "libcudart.so.13"))
driver.fake_kernel.restype = ctypes.c_void_p
kernels = [ctypes.c_void_p(driver.fake_kernel(name)) for name in (b"embed", b"attend", b"project", b"expand", b"norm", b"choose")]
for token in range(int(sys.argv[1])):
    for kernel in kernels:
        assert cuda.cudaLaunchKernel(kernel, Size(1, 1, 1), Size(1, 1, 1), None, ctypes.c_size_t(0), None) == 0
    time.sleep(0.001)
    assert cuda.cudaDeviceSynchronize() == 0
"""


def tacho(*arguments):
    return subprocess.run([os.environ["TACHO"], *arguments], stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "COLUMNS": "10000"}).stdout


def warm_up(lengths):
    """How many steps do not count in means: docs/pytorch.md. They depend on how busy the machine was."""
    usual = lengths[len(lengths) // 2:]
    middle = statistics.median(usual)
    most_off = max(middle / 5, 3 * 1.4826 * statistics.median(int(abs(length - middle)) for length in usual))
    steady = [abs(length - middle) <= most_off for length in lengths]
    first = next((i for i in range(len(steady)) if all(steady[i:i + 3])), 0)
    # A machine that was busy for the first steps only makes a loop that gets faster once and for good.
    settled = max((i for i in range(1, len(lengths) - 3) if min(lengths[:i]) >= 2 * max(lengths[i:])), default=0)
    return max(first if first <= len(lengths) // 2 else 0, settled)


class Loops(fakelib.Case):
    def check_steps(self, report):
        steps = json.loads(tacho("stats", "-q", "-r", "step_sum", "-f", "json", report.path))
        self.assertEqual(list(range(STEPS)), [step["Step"] for step in steps])
        self.assertEqual([6] * STEPS, [step["Kernels"] for step in steps])
        said = tacho("summary", report.path)
        found = re.search(r"\n  step .* over (\d+) steps by a sequence of 6 kernels that repeats", said)
        self.assertTrue(found, said)
        lengths = [step["Time (ns)"] for step in steps]
        self.assertEqual(STEPS - warm_up(lengths), int(found[1]), lengths)
        self.assertNotIn("the GPU's part of the run", said)

    def test_a_program_in_c(self):
        self.check_steps(self.profile(fakelib.lib.program("cuda_loop"), str(STEPS), env=self.environment()))

    def test_rules_on_cuda_name_the_option_that_records_it(self):
        """The program loads CUDA, so that its rules could apply; what is about PyTorch could not."""
        report = self.profile(fakelib.lib.program("cuda_loop"), str(STEPS), options=["-t", "nvtx"], env=self.environment())
        self.assertRegex(tacho("analyze", report.path).splitlines()[-1], r"^Not checked, for lack of data: launch_bound, result_waits, copies and \d+ more \(--trace=cuda\), "
                         r"low_sm_activity, idle_tensor_cores, dram_bound, gpu_throttling, pcie_bound \(--gpu-metrics-devices=all\), lock_contention, blocked_io \(--trace=osrt\)$")
        unchecked = json.loads(tacho("stats", "-q", "-r", "rule_sum", "-f", "json", report.path))
        self.assertIn("tensor_cores", [row["Rule"] for row in unchecked])
        self.assertNotIn("unfused_optimizer", [row["Rule"] for row in unchecked])

    def test_a_program_in_python(self):
        environment = self.environment(LD_LIBRARY_PATH=os.path.join(fakelib.FAKE, "lib"))
        self.check_steps(self.profile(sys.executable, "-c", PROGRAM, str(STEPS), env=environment))


fakelib.main()
