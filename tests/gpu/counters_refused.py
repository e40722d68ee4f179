"""Counters where they cannot be had: without the right to read them, with another profiler at the same GPU, after SIGKILL in the midst of a replay, and
kernels of NCCL. The program does the same as without Tacho, the report opens and says why, and the next run counts."""
import os
import shutil
import signal
import tempfile
import time

import gpulib
import tools

LIMIT_SECONDS = 200
ALONE = True
ROUNDS = 3
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")


def only_for_admins():
    """What the driver says: whether counters need privileges."""
    try:
        with open("/proc/driver/nvidia/params") as file:
            return "RmProfilingAdminOnly: 1" in file.read()
    except OSError:
        return None


class Refused(gpulib.Case):
    def setUp(self):
        super().setUp()
        self.program = tools.compiled("counted")
        self.bare = tools.run([self.program, str(ROUNDS)], 60).stdout

    def counted(self, counters, name="report.tacho"):
        done = tools.run([gpulib.TACHO, "profile", *gpulib.CUDA, "--gpu-counters=" + counters, "-f", "true", "-o", self.path(name), self.program, str(ROUNDS)], 60)
        self.assertEqual((done.status, self.bare in done.stdout), (0, True), str(done))
        return done, self.report(name)

    def rows(self, report):
        return report.number("TACHO_KERNEL_COUNTERS")

    def works(self):
        for counters in ("light", "basic"):
            _, report = self.counted(counters)
            self.assertEqual(4 * ROUNDS, self.rows(report), report.messages())

    def test_without_privileges(self):
        if not shutil.which("setpriv") or os.getuid() != 0:
            self.skipTest("needs setpriv and root")
        admin = only_for_admins()
        self.figure("RmProfilingAdminOnly", admin)
        with tempfile.TemporaryDirectory(prefix="tacho-nobody-") as folder:
            os.chmod(folder, 0o777)
            prefix = os.path.dirname(os.path.dirname(gpulib.TACHO))
            shutil.copytree(prefix, folder + "/tacho", symlinks=True)
            program = shutil.copy(self.program, folder)
            tacho = folder + "/tacho/bin/" + os.path.basename(gpulib.TACHO)
            env = {"HOME": folder, "TMPDIR": folder}
            for number, options in enumerate((["--gpu-counters=light"], ["--gpu-counters=basic"], ["--gpu-metrics-devices=all"], ["--pc-sampling=continuous"])):
                with self.subTest(options=options):
                    path = f"{folder}/report{number}.tacho"
                    done = tools.run([*NOBODY, tacho, "profile", *gpulib.CUDA, *options, "-o", path, program, str(ROUNDS)], 60, env, folder)
                    self.assertEqual((done.status, self.bare in done.stdout), (0, True), str(done))
                    report = gpulib.Report(path)
                    self.addCleanup(report.database.close)
                    self.figure(f"{options[0]} without privileges", (done.stderr.strip().splitlines(), report.messages()))
                    if admin:
                        self.assertIn("RmProfilingAdminOnly", done.stderr + report.messages())
            done = tools.run([*NOBODY, tacho, "doctor"], 60, env, folder)
            self.figure("doctor", [line for line in done.stdout.splitlines() if "GPU" in line or "ounter" in line])

    def test_beside_another_profiler(self):
        sampler = tools.start([gpulib.TACHO, "profile", "-t", "cuda", "-s", "none", "--gpu-metrics-devices=all", "-f", "true", "-o", self.path("first.tacho"),
                               tools.compiled("train"), "25"])
        try:
            time.sleep(4)
            for counters in ("light", "basic"):
                done, report = self.counted(counters, counters + ".tacho")
                self.figure(f"{counters} beside a sampler: counted, said", (self.rows(report), [line for line in done.stderr.splitlines() if "ounter" in line]))
            done = tools.run([gpulib.TACHO, "profile", *gpulib.CUDA, "--gpu-metrics-devices=all", "-f", "true", "-o", self.path("second.tacho"), self.program, str(ROUNDS)], 60)
            self.assertEqual((done.status, self.bare in done.stdout), (0, True), str(done))
            self.figure("a second sampler", [row for row in self.report("second.tacho").rows("SELECT source, samples, refusal FROM TACHO_GPU_SAMPLING")])
        finally:
            first = tools.finish(sampler, time.monotonic(), 40)
        self.assertEqual(first.status, 0, str(first))
        self.works()

    def test_killed_while_replaying(self):
        process = tools.start([gpulib.TACHO, "profile", *gpulib.CUDA, "--gpu-counters=basic", "-f", "true", "-o", self.path("killed.tacho"), self.program, "500"])
        time.sleep(8)
        for child in gpulib.lib.children(process.pid):
            if os.readlink(f"/proc/{child}/exe") == os.path.realpath(self.program):
                os.kill(child, signal.SIGKILL)
        done = tools.finish(process, time.monotonic(), 30)
        self.assertEqual(done.status, -signal.SIGKILL, str(done))
        report = self.report("killed.tacho")
        self.figure("kernels with counters of the one that was killed", self.rows(report))
        self.figure("what its report says", report.messages())
        self.works()

    def test_kernels_that_wait_for_others(self):
        self.need_torch()
        program = [tools.PYTHON, tools.source("nccl_two_ranks.py"), "5"]
        bare = tools.run(program, 60)
        for counters in ("light", "basic"):
            done = tools.run([gpulib.TACHO, "profile", "-q", *gpulib.CUDA, "--gpu-counters=" + counters, "-f", "true", "-o", self.path("nccl.tacho"), *program], 90)
            self.assertEqual((done.status, done.stdout), (0, bare.stdout), str(done))
            report = self.report("nccl.tacho")
            names = [name for name, in report.rows("SELECT DISTINCT s.value FROM TACHO_KERNEL_COUNTERS k JOIN StringIds s ON s.id = k.shortName")]
            self.figure(f"{counters}: counted kernels, what the report says", (names, report.messages()))
            self.assertFalse([name for name in names if "nccl" in name.lower()])


if __name__ == "__main__":
    gpulib.main()
