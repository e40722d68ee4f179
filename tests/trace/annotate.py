"""tacho annotate: lines whose CPU time the program measures itself. All figures are shares of its own CPU time, so that a busy machine changes
nothing."""
import json
import os
import shutil
import subprocess

import lib

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "annotate.c")


def line_with(comment):
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.endswith(f"/* {comment} */\n"))


class Annotate(lib.Case):
    samples = True

    def annotate(self, *arguments, status=0):
        done = subprocess.run([lib.TACHO, "annotate", *arguments, self.report], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_lines_have_their_share(self):
        self.profile(lib.program("annotate"))
        self.report = os.path.join(self.folder, "report.tacho")
        rows = {row["Line"]: row for row in json.loads(self.annotate("-f", "json", "two_loops"))}
        long, short, calls = (rows[line_with(comment)] for comment in ("long", "short", "calls"))
        loops = {row["Line"]: row["Self Samples"] for row in rows.values()}
        first = sum(count for line, count in loops.items() if line <= line_with("long"))
        second = sum(count for line, count in loops.items() if line_with("long") < line <= line_with("short"))
        self.assertAlmostEqual(3, first / second, delta=0.75)
        self.assertGreater(long["Self Samples"], 2 * short["Self Samples"])
        self.assertEqual(calls["Self Samples"], 0)
        self.assertAlmostEqual(1, calls["Total Samples"] / second, delta=0.25)
        self.assertEqual(sum(row["Total Samples"] for row in json.loads(self.annotate("-f", "json", "helper"))), calls["Total Samples"])
        self.assertEqual(long["Source"].strip(), "sink += i; /* long */")
        self.assertEqual((long["Function"], os.path.basename(long["File"])), ("two_loops", "annotate.c"))

        shown = self.annotate("two_loops").splitlines()
        self.assertTrue(shown[0].startswith("two_loops  "), shown)
        line = next(line for line in shown if line.endswith("/* long */"))
        self.assertEqual(line.split()[0::2][:2], [f"{long['Self (%)']:.1f}", f"{long['Total (%)']:.1f}"])
        self.assertIn(f"{line_with('calls') + 1:6}  ", "\n".join(shown), "lines around those with samples")
        with open(self.path("annotate.c"), "w", encoding="utf-8") as file:
            file.write("another text\n" * 100)
        self.assertIn("another text", self.annotate("--source", self.folder, "two_loops"))
        self.assertIn("no sample is in a function 'nobody'", self.annotate("nobody", status=1))

    def test_instructions_have_the_samples_of_their_function(self):
        program = self.path("annotated")
        shutil.copy(lib.program("annotate"), program)
        self.profile(program)
        self.report = self.path("report.tacho")
        lines = json.loads(self.annotate("-f", "json", "two_loops"))
        code = json.loads(self.annotate("--instructions", "-f", "json", "two_loops"))
        self.assertEqual(sum(row["Self Samples"] for row in code), sum(row["Self Samples"] for row in lines))
        for line in lines:
            self.assertEqual(sum(row["Self Samples"] for row in code if row["Line"] == line["Line"]), line["Self Samples"], line)
        symbols = subprocess.run([os.environ["NM"], "-S", program], check=True, stdout=subprocess.PIPE, text=True).stdout
        start, size = next((int(row.split()[0], 16), int(row.split()[1], 16)) for row in symbols.splitlines() if row.endswith(" two_loops"))
        addresses = [int(row["Address"], 16) for row in code]
        self.assertEqual((addresses[0], addresses == sorted(addresses), addresses[-1] < start + size), (start, True, True))
        shown = self.annotate("-i", "two_loops")
        self.assertTrue(shown.startswith(f"two_loops  {program}\n"), shown)
        hottest = max(code, key=lambda row: row["Self Samples"])
        self.assertIn(f"{hottest['Self (%)']:.1f} %", next(line for line in shown.splitlines() if f"{hottest['Address']}  " in line))
        with open(self.path("none.c"), "w", encoding="utf-8") as file:
            file.write("int main(void) { return 0; }\n")
        subprocess.run([os.environ["CC"], "-Wl,--build-id", "-o", program, file.name], check=True)
        self.assertIn("was built again since the report was recorded", self.annotate("-i", "two_loops", status=1))
        os.remove(program)
        self.assertIn(f"cannot read '{program}'", self.annotate("-i", "two_loops", status=1))
        self.assertIn("no sample of the CPU is in the instructions of a function 'nobody'", self.annotate("-i", "nobody", status=1))

    def test_without_a_source_lines_have_numbers(self):
        script = self.path("gone.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import time\ndef busy():\n    end = time.process_time() + 0.8\n    while time.process_time() < end:\n        sum(range(2000))\nbusy()\n")
        self.profile("/usr/bin/python3", script)
        self.report = os.path.join(self.folder, "report.tacho")
        rows = json.loads(self.annotate("-f", "json", "busy"))
        self.assertLessEqual({row["Line"] for row in rows}, {3, 4, 5})
        self.assertIn("        sum(range(2000))", self.annotate("busy"))
        os.remove(script)
        self.assertIn("Cannot find the source: use --source FOLDER to say where it is.", self.annotate("busy"))

    def test_a_report_without_samples(self):
        self.profile(lib.program("contended"), options=["-s", "none", "--python-sampling=false"])
        self.report = os.path.join(self.folder, "report.tacho")
        self.assertIn("the report has no samples", self.annotate("crunch", status=1))
        self.assertIn("takes a FUNCTION and a FILE", subprocess.run([lib.TACHO, "annotate", "x"], stderr=subprocess.PIPE, text=True, check=False).stderr)


if __name__ == "__main__":
    lib.main()
