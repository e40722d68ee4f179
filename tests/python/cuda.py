"""CUDA in captures that Python begins, on the stand-ins: also when it has been at work for long before anyone thinks of recording."""
import os

import lib

WORK = f"""
import ctypes, os, sys
import tacho

folder = {os.path.join(os.environ["FAKE"], "lib")!r}

class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

def load():
    global driver, runtime
    driver = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    runtime = ctypes.CDLL(os.path.join(folder, "libcudart.so.13"), mode=ctypes.RTLD_GLOBAL)
    driver.fake_kernel.restype = ctypes.c_void_p
    runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

def launch(name):
    kernel = driver.fake_kernel(name.encode())
    assert runtime.cudaLaunchKernel(kernel, Dim3(1, 1, 1), Dim3(32, 1, 1), None, 0, None) == 0

def kernels(prof):
    report = tacho.load(prof.report())
    if "CUPTI_ACTIVITY_KIND_KERNEL" not in report:
        return []
    start, end = prof._window.span()
    return [row["name"] for row in report.sql(
        f"SELECT value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName WHERE start >= {{start}} AND start <= {{end}} ORDER BY start")]

ACTIVITIES = [tacho.ProfilerActivity.CPU, tacho.ProfilerActivity.CUDA]
"""


class Cuda(lib.Case):
    def test_after_it_is_up(self):
        out = self.run_text(WORK + """
load()
launch("before")
assert runtime.cudaDeviceSynchronize() == 0
for i in range(3):
    with tacho.profile(activities=ACTIVITIES) as prof:
        launch(f"inside_{i}")
    launch("between")
    print(kernels(prof))
""")
        self.assertEqual(out, "['inside_0']\n['inside_1']\n['inside_2']\n")

    def test_before_it_is_up(self):
        out = self.run_text(WORK + """
with tacho.profile(activities=ACTIVITIES) as prof:
    load()
    launch("first")
print(kernels(prof))
""")
        self.assertEqual(out, "['first']\n")

    def test_not_asked_for(self):
        out = self.run_text(WORK + """
load()
with tacho.profile(activities=[tacho.ProfilerActivity.CPU]) as cpu:
    launch("hidden")
with tacho.profile(use_cuda=True) as cuda:
    launch("seen")
print(kernels(cpu), kernels(cuda))
""")
        self.assertEqual(out, "[] ['seen']\n")


if __name__ == "__main__":
    lib.main()
