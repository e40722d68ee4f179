"""Steps of loops without marks, found in a plain capture: the answer is about a step, not about the whole run. On the stand-ins of CUDA."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib


PROGRAM = """
import ctypes, time

class Size(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

driver, cuda = (ctypes.CDLL(name, ctypes.RTLD_GLOBAL) for name in ("libcuda.so.1", "libcudart.so.13"))
driver.fake_kernel.restype = ctypes.c_void_p
kernels = [ctypes.c_void_p(driver.fake_kernel(name)) for name in (b"embed", b"attend", b"project", b"expand", b"norm", b"choose")]
for token in range(40):
    for kernel in kernels:
        assert cuda.cudaLaunchKernel(kernel, Size(1, 1, 1), Size(1, 1, 1), None, ctypes.c_size_t(0), None) == 0
    time.sleep(0.001)
    assert cuda.cudaDeviceSynchronize() == 0
"""


class Loops(fakelib.Case):
    def check_steps(self, report):
        said = subprocess.run([os.environ["TACHO"], "summary", report.path], stdout=subprocess.PIPE, text=True, check=True).stdout
        found = re.search(r"\n  step .* over (\d+) steps by a sequence of 6 kernels that repeats", said)
        self.assertTrue(found, said)
        self.assertTrue(20 <= int(found[1]) <= 40, said)  # those of the warm-up do not count: at most half
        self.assertNotIn("the GPU's part of the run", said)

    def test_a_program_in_c(self):
        self.check_steps(self.profile(fakelib.lib.program("cuda_loop"), "40", env=self.environment()))

    def test_a_program_in_python(self):
        environment = self.environment(LD_LIBRARY_PATH=os.path.join(fakelib.FAKE, "lib"))
        self.check_steps(self.profile(sys.executable, "-c", PROGRAM, env=environment))


fakelib.main()
