"""process_sum on a tree as make has it, of programs that print what they used; and programs that are called by another name than their file."""
import json
import os
import subprocess

import lib

# Two compilers at once, then a linker. The shell stays until the end.
BUILD = "./compile 200 3000 & ./compile 30 2000 & wait; ./link 100 7000; :"
WRITTEN = {"compile": 5000, "link": 7000}


class ProcessTree(lib.Case):
    def setUp(self):
        super().setUp()
        for name in ("compile", "link"):
            os.symlink(lib.program("process_tree"), self.path(name))

    def table(self, name):
        done = subprocess.run([lib.TACHO, "stats", "-q", "-f", "json", "-r", name, self.path("report.tacho")], check=True, stdout=subprocess.PIPE,
                              text=True)
        return json.loads(done.stdout)

    def test_a_build(self):
        self.profile("/bin/sh", "-c", f"cd {self.folder}; {BUILD}")
        lines = [line.split() for line in self.output.stdout.splitlines()]
        used = {int(pid): (name, int(cpu_ns)) for name, pid, cpu_ns in lines}
        printed = {name: sum(len(" ".join(line)) + 1 for line in lines if line[0] == name) for name in WRITTEN}
        self.assertEqual(sorted(name for name, _ in used.values()), ["compile", "compile", "link"])
        commands = {row["Command"]: row for row in self.table("process_sum")}
        self.assertEqual({name: row["Processes"] for name, row in commands.items()}, {"sh": 1, "compile": 2, "link": 1})
        for name, row in commands.items():
            if name in WRITTEN:
                self.assertEqual((row["Written (B)"], row["Read (B)"]), (WRITTEN[name] + printed[name], WRITTEN[name]), name)
                self.assertGreaterEqual(row["CPU Time (ns)"], sum(cpu_ns for other, cpu_ns in used.values() if other == name), name)
        # One of the compilers and the linker set the time, however busy the machine is.
        self.assertGreaterEqual(commands["compile"]["Path Time (ns)"], 190e6)
        self.assertGreaterEqual(commands["link"]["Path Time (ns)"], 90e6)
        self.assertAlmostEqual(sum(row["Critical Path (%)"] for row in commands.values()), 100, delta=0.5)
        processes = {row["PID"]: row for row in self.table("process_sum:processes")}
        self.assertEqual(len(processes), 4)
        shell = next(pid for pid in processes if pid not in used)
        for pid, (name, cpu_ns) in used.items():
            self.assertEqual(processes[pid]["Parent PID"], shell)
            self.assertTrue(processes[pid]["Command"].startswith(f"./{name} "), processes[pid])
            self.assertGreaterEqual(processes[pid]["CPU Time (ns)"], cpu_ns)
            self.assertGreaterEqual(processes[pid]["Wall Time (ns)"], cpu_ns)

    def test_the_name_of_a_program_is_the_one_that_started_it(self):
        """The kernel knows process_tree only. The frames of the call that sleeps are in the program of the user's name."""
        report = self.profile(self.path("link"), "sleep", options=["-s", "none", "-t", "osrt"])
        self.assertEqual(report.value("SELECT exe FROM TACHO_PROCESS"), self.path("link"))
        modules = {os.path.basename(row[0]) for row in report.rows("SELECT value FROM OSRT_CALLCHAINS JOIN StringIds s ON s.id = module")}
        self.assertIn("link", modules)
        self.assertNotIn("process_tree", modules)
        self.assertEqual([row["Command"] for row in self.table("process_sum")], ["link"])

    def test_a_file_with_two_names_keeps_its_own(self):
        report = self.profile("/bin/sh", "-c", f"cd {self.folder}; ./link sleep; ./compile sleep; :", options=["-s", "none", "-t", "osrt"])
        programs = {os.path.basename(row[0]) for row in report.rows("SELECT DISTINCT exe FROM TACHO_PROCESS")}
        self.assertLessEqual({"link", "compile"}, programs)
        self.assertNotIn("process_tree", programs)


if __name__ == "__main__":
    lib.main()
