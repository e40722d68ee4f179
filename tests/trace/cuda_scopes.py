"""A capture with a range says the same as that span of a whole capture: one program (cuda_scopes.c), recorded whole and with ranges of three kinds, on the
stand-ins of CUDA. The program takes other time each time, so that times of two runs are not compared, but all other cells of all tables are."""
import csv
import json
import os
import re
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
from fakelib import lib

RANGES = {"api": ["-c", "cudaProfilerApi"], "nvtx": ["-c", "nvtx", "-p", "measured"], "delay": ["-y", "0.1"]}
STREAMS = [(8, 2**32 - 3, 2), (9, 0, 1)]  # that the program made: id, priority, flag (non-blocking 2, blocking 1); 7 is the default stream
STEPS, KERNELS, WORKS = 4, 12, 20
WORK_NS = 10_000  # of each kernel, copy and fill; their clock may be off by 1 ns
DLPROF = ("summary", "detailed", "kernel", "iteration", "tensor_core", "op_type", "group_op", "expert_systems")
# What differs from run to run: times, what follows from them (shares, rates, advice, which steps are usual), the number of the process, and names that are made
# of times. The cells of a whole capture's filter and of a range that have other meanings are none of these.
CHANGES = re.compile(r"\((ns|%|MB/s|GB/s|TFLOP/s)\)|^(PID|Pid|TID|Tid|Start|Finding|Found|From|To|Max|Min|Avg|Med|StdDev|Wall|CorrId|Correlation ID)")
OF_TIMES = {"advice_sum", "rule_sum", "run_sum", "gpu_idle_sum", "cuda_gpu_kern_hist", "cuda_gpu_time_util_map", "nccl_gpu_time_util_map", "step_stats", "step_breakdown",
            "cuda_queue_sum", "cuda_stream_wait", "thread_wait_sum", "cuda_kern_exec_sum", "cuda_gpu_kern_pace"}
REPLAYED = {"advice_sum", "rule_sum"}  # savings take how long a call or a gap usually is from the whole capture, of which a cut has a part


class Scopes(fakelib.Case):
    def file(self, name, *options):
        """The report of one kind of range; "whole": without one."""
        self.cuda("cuda_scopes", source="cuda,nvtx", options=["-s", "none", *options, *(["--capture-range-end=stop"] if "-c" in options else [])], output=f"{name}.tacho")
        return self.path(f"{name}.tacho")

    def tacho(self, *arguments):
        done = subprocess.run([os.environ["TACHO"], *arguments], capture_output=True, text=True, timeout=lib.PATIENCE, env={**os.environ, "COLUMNS": "10000"})
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def reports(self):
        return [line.split(" -- ")[0].split("[")[0] for line in self.tacho("stats", "--help-reports").splitlines() if " -- " in line]

    def tables(self, file, *options):
        """Every table of tacho stats that has rows, by name."""
        return {name: rows for name, rows in json.loads(self.tacho("stats", "-q", "-f", "json", "-r", ",".join(self.reports()), *options, file)).items() if rows}

    @staticmethod
    def unchanging(rows):
        return sorted(json.dumps({name: cell for name, cell in row.items() if not CHANGES.search(name)}) for row in rows)

    def dlprof(self, name):
        folder = self.path(f"dlprof-{name}")
        os.makedirs(folder, exist_ok=True)
        self.tacho("dlprof", f"--nsys_database={self.path(name + '.tacho')}", "--reports=all", "--force=true", "--verbosity=quiet", f"--output_path={folder}")
        reports = {}
        for report in DLPROF:
            with open(os.path.join(folder, f"dlprof_{report}.csv"), newline="") as file:
                reports[report] = list(csv.reader(file))
        return reports

    def page(self, file):
        """What the page asks for its summary: the tables by name, once all parts are read, and the steps."""
        server = subprocess.Popen([os.environ["TACHO"], "view", "--no-browser", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            address = next(line.strip() for line in server.stdout if "?token=" in line)
            base, token = address.split("?token=")

            def ask(request):
                with urllib.request.urlopen(urllib.request.Request(f"{base}api/{request}", headers={"X-Tacho-Token": token}), timeout=lib.PATIENCE) as answer:
                    return json.loads(answer.read())

            answers = iter(lambda: ask("summary"), None)
            summary = next(answer for answer in answers if answer["complete"])
            about = ask("about")
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()
        tables = {table["report"]: [dict(zip((column["name"] for column in table["columns"]), row)) for row in table["rows"]] for table in summary["tables"]}
        return tables, about["steps"]["count"]

    @staticmethod
    def value(summary, name):
        return float(next(row[1] for row in summary if row and row[0] == name))

    def cut(self):
        """The span of the whole capture, as a report of its own."""
        whole = self.file("whole")
        self.tacho("export", "-q", "-t", "tacho", "--filter-nvtx=measured", "-o", self.path("cut.tacho"), whole)
        return whole, self.path("cut.tacho")

    def test_streams_and_contexts_from_before_the_range(self):
        for name, options in (("whole", []), *RANGES.items()):
            with self.subTest(range=name):
                self.file(name, *options)
                report = self.report(f"{name}.tacho")
                self.assertEqual([row for row in report.rows("SELECT streamId, priority, flag FROM TARGET_INFO_CUDA_STREAM ORDER BY 1") if row[0] > 7], STREAMS)
                self.assertEqual(report.rows("SELECT deviceId, contextId, nullStreamId FROM TARGET_INFO_CUDA_CONTEXT_INFO"), [(0, 1, 7)])
                self.assertEqual(report.rows("SELECT streamId, name FROM TARGET_INFO_NVTX_CUDA_STREAM ORDER BY 1"), [(8, "math"), (9, "copies")])
                self.assertEqual(fakelib.findings(report), {})

    def test_cut_equals_filter(self):
        """Every cell: both are of the same run. What comes after the span decides why the GPU was idle at its end, which the cut does not know."""
        whole, cut = self.cut()
        filtered, cut = self.tables(whole, "--filter-nvtx=measured"), self.tables(cut)
        self.assertEqual(filtered.keys(), cut.keys())
        self.assertGreater(len(cut), 20)
        own = {row["Name"]: row for row in cut.pop("run_sum")}
        for row in filtered.pop("run_sum"):
            self.assertEqual(row, own[row["Name"]])
        for breakdown in filtered, cut:
            breakdown["step_breakdown"].pop()
        for name in cut.keys() - REPLAYED:
            self.assertEqual(filtered[name], cut[name], name)
        for name in REPLAYED:
            without_times = [[{title: cell for title, cell in row.items() if not title.endswith("(ns)")} for row in tables[name]] for tables in (filtered, cut)]
            self.assertEqual(*without_times, name)

    def test_range_equals_cut(self):
        """tacho stats, cell by cell."""
        _, cut = self.cut()
        expected = self.tables(cut)
        ranged = self.tables(self.file("nvtx", *RANGES["nvtx"]))
        self.assertEqual(expected.keys() - OF_TIMES, ranged.keys() - OF_TIMES)
        for name in ranged.keys() - OF_TIMES:
            self.assertEqual(self.unchanging(expected[name]), self.unchanging(ranged[name]), name)
        for tables in expected, ranged:
            kernels = {row["Name"]: row for row in tables["cuda_gpu_kern_sum"]}
            self.assertEqual({name: row["Instances"] for name, row in kernels.items()}, {"gemm": STEPS, "add": STEPS, "reduce": STEPS})
            busy = {row["Name"]: row["Time (ns)"] for row in tables["run_sum"]}["GPU busy time"]
            self.assertAlmostEqual(busy, WORKS * WORK_NS, delta=WORKS)

    def test_page(self):
        """The tables of its summary, which are those of tacho stats."""
        _, cut = self.cut()
        expected, steps = self.page(cut)
        ranged, ranged_steps = self.page(self.file("nvtx", *RANGES["nvtx"]))
        self.assertEqual((steps, ranged_steps), (STEPS, STEPS))
        self.assertEqual(expected.keys(), ranged.keys())
        for name in ranged.keys() - OF_TIMES - {"step_sum"}:
            self.assertEqual(self.unchanging_cells(expected[name]), self.unchanging_cells(ranged[name]), name)
        begin, end = self.report("nvtx.tacho").rows("SELECT start, end FROM TACHO_RANGE")[0]
        self.assertEqual({row["Name"]: row["Time"] for row in ranged["run_sum"]}["Recorded time"], end - begin)

    @staticmethod
    def unchanging_cells(rows):
        """The page has no units in the names of columns."""
        return sorted(json.dumps({name: row[name] for name in ("Name", "Instances", "Num Calls", "Count", "GPU", "Operations", "Cause") if name in row}) for row in rows)

    def test_recorded_time(self):
        """What the summary, run_sum and DLProf say of a range is about its time, which the report knows to the ns."""
        for name in "api", "nvtx":
            with self.subTest(range=name):
                file = self.file(name, *RANGES[name])
                begin, end = self.report(f"{name}.tacho").rows("SELECT start, end FROM TACHO_RANGE")[0]
                times = {row["Name"]: row["Time (ns)"] for row in json.loads(self.tacho("stats", "-q", "-f", "json", "-r", "run_sum", file))}
                self.assertEqual(times["Recorded time"], end - begin)
                self.assertGreater(times["Process time"], 200_000_000)  # the waits outside
                self.assertRegex(self.tacho("summary", file), r"ended with status 0 after [\d.]+ m?s; recorded time [\d.]+ [mµ]s;")
                summary = self.dlprof(name)["summary"]
                wall = self.value(summary, "Wall Clock Time (ns)")
                self.assertLessEqual(wall, end - begin + WORK_NS)
                self.assertAlmostEqual(self.value(summary, "GPU Utilization %"), 100 * KERNELS * WORK_NS / wall, delta=0.2)

    def test_dlprof_and_pyprof(self):
        self.cut()
        self.file("nvtx", *RANGES["nvtx"])
        cut, ranged = self.dlprof("cut"), self.dlprof("nvtx")
        for report in DLPROF:
            head = next((row for row in cut[report] if len(row) > 3), [])
            steady = [index for index, name in enumerate(head) if not re.search(r"\(ns\)|Time|%", name)]
            expected, found = (sorted([row[index] for index in steady] for row in cells if head and len(row) == len(head)) for cells in (cut[report], ranged[report]))
            self.assertEqual(expected, found, report)
        for name in "Total Iterations", "Aggregated Iterations", "Start Iteration", "Stop Iteration":
            self.assertEqual(self.value(cut["summary"], name), self.value(ranged["summary"], name))
        columns = "-c", "idx,dir,sub,mod,op,kernel,params,tc,device,stream,grid,block,flops,bytes"
        self.assertEqual(self.tacho("pyprof", *columns, self.path("cut.tacho")), self.tacho("pyprof", *columns, self.path("nvtx.tacho")))


if __name__ == "__main__":
    fakelib.main()
