"""Ranges and marks: in the report under `tacho profile`, and nothing at all without."""
import lib

PROGRAM = """
import tacho

@tacho.range()
def named():
    return 3

@tacho.range("other")
def given():
    raise ValueError

with tacho.range("outer"):
    with tacho.range("inner"), tacho.record_function("recorded"):
        assert named() == 3
    tacho.mark("a mark")
try:
    given()
except ValueError:
    pass
tacho.push("pushed")
tacho.pop()
shared = tacho.range("again")
for _ in [1, 2]:
    with shared:
        pass
print(named.__name__)
"""
RANGES = {"outer": 1, "inner": 1, "recorded": 1, "named": 1, "other": 1, "pushed": 1, "again": 2}


class Marks(lib.Case):
    def test_under_profile(self):
        for options in (["-t", "nvtx"], ["-t", "nvtx", "--preload=no"]):
            report = self.profile(self.python, self.write("program.py", PROGRAM), options=options, env=lib.environment(lib.PACKAGE))
            self.assertEqual(report.ranges(), RANGES, options)
            self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 34 AND text = 'a mark'"), 1)

    def test_without(self):
        self.assertEqual(self.run_text(PROGRAM), "named\n")

    def test_nests(self):
        report = self.profile(self.python, self.write("program.py", PROGRAM), options=["-t", "nvtx"], env=lib.environment(lib.PACKAGE))
        spans = {name: (start, end) for name, start, end in report.rows("SELECT text, start, end FROM NVTX_EVENTS WHERE end IS NOT NULL")}
        self.assertLess(spans["outer"][0], spans["inner"][0])
        self.assertLess(spans["inner"][1], spans["outer"][1])


if __name__ == "__main__":
    lib.main()
