"""The command lines of seeds.ini run as they stand, and give the tables that their documents show."""
import configparser
import csv
import os
import shlex
import shutil

import gpulib
import tools

LIMIT_SECONDS = 180
STREAM_WAIT = 2  # ENUM_CUPTI_SYNC_TYPE

seeds = configparser.ConfigParser(interpolation=None)
seeds.read(os.path.join(tools.HERE, "seeds.ini"))


class Seeds(gpulib.Case):
    def setUp(self):
        super().setUp()
        self.need_torch()
        os.mkdir(self.path("bin"))
        os.symlink(gpulib.TACHO, self.path("bin/tacho"))
        with open(self.path("bin/python"), "w") as file:  # not a link: a virtual environment is found beside the real one
            file.write(f'#!/bin/sh\nexec {shlex.quote(tools.PYTHON)} "$@"\n')
        os.chmod(self.path("bin/python"), 0o755)

    def run_seed(self, name):
        """Runs the commands in an empty folder; the report, and what the last command printed."""
        seed = seeds[name]
        shutil.copy(tools.source(seed["program"]), self.path(seed["as"]))
        env = {"PATH": self.path("bin") + ":" + os.environ["PATH"]}
        for command in seed["commands"].strip().splitlines():
            done = tools.run(shlex.split(command), 80, env, self.folder)
            self.assertEqual(done.status, 0, f"{command}: {done}")
            self.assertNotIn("rror:", done.stderr, command)
        for table in seed["tables"].split():
            made = tools.run([gpulib.TACHO, "stats", "-q", "-f", "csv", "-r", table, self.path(seed["report"])], 60).stdout
            rows = list(csv.reader(made.splitlines()))
            self.figure(table, f"{max(len(rows) - 1, 0)} rows")
            self.assertGreater(len(rows), 1, f"{table} has no rows")
        return self.report(seed["report"]), done.stdout

    def test_wait_stream(self):
        report, _ = self.run_seed("wait_stream")
        self.assertEqual(report.ranges().get("run"), 1, "the NVTX range")
        kernels = report.rows(f"SELECT start, end, streamId FROM {gpulib.KERNEL} ORDER BY start")
        self.assertEqual(len(kernels), 3, "two products and an addition")
        edges = report.rows(f"""SELECT e.streamId, w.streamId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION w JOIN CUPTI_ACTIVITY_KIND_CUDA_EVENT e
                                USING (eventId, eventSyncId) WHERE w.syncType = {STREAM_WAIT}""")
        self.assertEqual(edges, [(kernels[0][2], kernels[1][2])], "which stream waited for which")
        self.assertNotEqual(kernels[0][2], kernels[1][2], "the streams of the two products")
        self.assertGreaterEqual(kernels[1][0], kernels[0][1], "the second stream began when the first was done")

    def test_resnet18(self):
        report, _ = self.run_seed("resnet18")
        ranges = report.ranges()
        self.assertEqual([ranges.get(name) for name in ("iteration10", "iteration11", "forward", "backward", "opt.step()")], [1, 1, 2, 2, 2])
        self.assertGreater(report.number(gpulib.KERNEL), 500)

    def test_mnist(self):
        _, printed = self.run_seed("mnist")
        for table in seeds["mnist"]["tables"].split():
            self.assertIn(f"[{table}]", printed)

    def test_options(self):
        report, _ = self.run_seed("options")
        self.assertGreater(report.number(gpulib.KERNEL), 500)


if __name__ == "__main__":
    gpulib.main()
