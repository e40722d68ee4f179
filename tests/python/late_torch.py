"""A window that PyTorch is imported in: its operators are recorded from then on. PyTorch is a stand-in of its C++ library."""
import os
import subprocess

import lib

PACKAGE = """
import ctypes, os
_library = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", "libtorch_cpu.so"))
_library.standin_begin.restype = ctypes.c_void_p
_library.standin_end.argtypes = [ctypes.c_void_p]

class _Operator(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("scope", ctypes.c_int), ("sequence", ctypes.c_long), ("forward_thread", ctypes.c_uint64),
                ("inputs", ctypes.c_void_p), ("input_count", ctypes.c_uint64)]

def run(name):
    _library.standin_end(_library.standin_begin(ctypes.byref(_Operator(name=name.encode(), sequence=-1))))
"""
LATE = """
import tacho
with tacho.profile() as first:
    import torch
    torch.run("aten::early")
torch.run("aten::between")
with tacho.profile() as second:
    torch.run("aten::late")
print([row.key for row in first.key_averages()], [row.key for row in second.key_averages()])
assert "<td>aten::early</td>" in first.key_averages()._repr_html_()
"""
TWO = """
import tacho, threading
outer = tacho.profile()
outer.start()
def load():
    with tacho.profile() as inner:
        import torch
        torch.run("aten::inner")
thread = threading.Thread(target=load)
thread.start(), thread.join()
import torch
torch.run("aten::outer")
outer.stop()
print([row.key for row in outer.key_averages()])
"""


class LateTorch(lib.Case):
    def setUp(self):
        super().setUp()
        sources = os.path.join(lib.SOURCE, "tests", "trace", "modules")
        os.makedirs(self.path("torchs/torch/lib"))
        self.write("torchs/torch/__init__.py", PACKAGE)
        self.write("torchs/torch/version.py", "__version__ = '2.15.0'\n")
        for name, source, more in (("libc10.so", "torch_c10.c", ["-Wl,-soname,libc10.so"]),
                                   ("libtorch_cpu.so", "torch_standin.c", ["-DSTRING_BYTES=32", "-DNAMED_INPUTS=56", "-DDESCRIPTION", "-Wl,--no-as-needed",
                                                                           self.path("torchs/torch/lib/libc10.so"), "-Wl,-rpath,$ORIGIN"])):
            subprocess.run([*os.environ["CC"].split(), "-O1", "-w", "-fPIC", "-fsemantic-interposition", "-shared", os.path.join(sources, source), *more,
                            "-o", self.path("torchs/torch/lib/" + name), "-ldl", "-lpthread"], check=True)

    def test_imported_within(self):
        out = self.run_text(LATE, path=(lib.PACKAGE, self.path("torchs")))
        self.assertEqual(out, "['aten::early'] ['aten::late']\n")

    def test_windows_of_two_threads(self):
        out = self.run_text(TWO, path=(lib.PACKAGE, self.path("torchs")))
        self.assertEqual(out, "['aten::inner', 'aten::outer']\n")


if __name__ == "__main__":
    lib.main()
