"""The vendor's own NVTX headers and the Python package nvtx, where they are installed: same events, same layouts.

They are found in CUDA's usual place and among Python's packages; the variable NVTX_PACKAGES names another folder into
which the packages nvidia-nvtx and nvtx were unpacked (pip install --target FOLDER nvidia-nvtx nvtx).
"""
import glob
import os
import subprocess
import sys

import lib

FOLDERS = [folder for folder in [os.environ.get("NVTX_PACKAGES"), *sys.path] if folder and os.path.isdir(folder)]
NAME = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"


def headers():
    """Folders that hold nvtx3/nvToolsExt.h."""
    places = ["/usr/local/cuda/include", "/usr/include", *(path for folder in FOLDERS for path in glob.glob(folder + "/nvidia/*/include"))]
    return [place for place in places if os.path.exists(place + "/nvtx3/nvToolsExt.h")]


def packages():
    """Folders that hold the Python package."""
    return [folder for folder in FOLDERS if os.path.exists(folder + "/nvtx/__init__.py")]


class Vendor(lib.Case):
    def test_headers(self):
        if not headers():
            self.skipTest("no NVTX headers on this machine (NVTX_PACKAGES)")
        for folder in headers():
            with self.subTest(folder=folder):
                self.check_headers(folder)

    def check_headers(self, folder):
        program = self.path("vendor")
        source = os.path.join(lib.SOURCE, "tests/trace/modules/nvtx_vendor.c")
        subprocess.run([*os.environ["CC"].split(), "-O1", "-D_GNU_SOURCE", "-isystem", folder, "-o", program, source, "-ldl"], check=True)
        report = self.profile(program, options=["-t", "nvtx"])
        self.assertEqual(self.output.stdout.split()[:3], ["0", "0", "0"], "levels")
        extended = "counters" in self.output.stdout.splitlines()[0]
        self.assertEqual(report.rows(f"SELECT eventType, {NAME}, category, color, int32Value, domainId FROM NVTX_EVENTS "
                                     "WHERE jsonText IS NULL ORDER BY start"),
                         [(75, "vendor", None, None, None, 1), (39, "named", None, None, None, 0), (33, "three", 3, None, None, 0),
                          (59, "registered", 3, 0xff0000ff, -9, 1), (59, "plain", None, None, None, 0), (34, "wide", None, None, None, 0),
                          (60, "started", None, None, None, 0)])
        self.assertEqual([action for action, in report.rows("SELECT action FROM TACHO_SYNC ORDER BY timestamp")],
                         ["create", "acquire-start", "acquire-success"])
        if extended:
            self.assertEqual(report.rows("SELECT jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL"), [('{"a":5,"b":0.5}',)])
            self.assertEqual(report.rows("SELECT intValue FROM TACHO_COUNTER"), [(12,)])

    def test_python_package(self):
        if not packages():
            self.skipTest("no Python package nvtx on this machine (NVTX_PACKAGES)")
        program = self.path("program.py")
        with open(program, "w") as file:
            file.write("""import nvtx
@nvtx.annotate("decorated", color="purple", domain="py", category="cat", payload=3)
def function():
    pass
for i in range(10):
    function()
with nvtx.annotate("with"):
    pass
nvtx.push_range("pushed", domain="py")
nvtx.pop_range(domain="py")
nvtx.end_range(nvtx.start_range("started"))
nvtx.mark("mark")
""")
        report = self.profile(sys.executable, program, options=["-t", "nvtx"],
                              env={**os.environ, "PYTHONPATH": packages()[0]})
        domains = dict(report.rows("SELECT domainId, text FROM NVTX_EVENTS WHERE eventType = 75"))
        rows = report.rows(f"SELECT eventType, domainId, {NAME}, int64Value, count(*) FROM NVTX_EVENTS "
                           "WHERE eventType IN (34, 59, 60) GROUP BY 1, 2, 3, 4 ORDER BY 1, 3")
        self.assertEqual([(kind, domains.get(domain), *rest) for kind, domain, *rest in rows],
                         [(34, None, "mark", None, 1), (59, "py", "decorated", 3, 10), (59, "py", "pushed", None, 1),
                          (59, None, "with", None, 1), (60, None, "started", None, 1)])


if __name__ == "__main__":
    lib.main()
