"""GPU metrics of a capture equal what a scripted NVML answered, at the times at which it did; whatever becomes of tacho-gpu, the program and its
report are whole. On the stand-ins of CUDA and NVML."""
import json
import math
import os
import re
import shutil
import stat
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib

HELPER = os.path.join(os.environ["HELPERS"], "tacho-gpu")
UUIDS = ["a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", "b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf"]  # of CUDA's GPUs: see fake/driver.c
VALUES = """SELECT m.timestamp, m.value, m.exact, m.typeId & 255 AS gpu FROM GPU_METRICS m JOIN TARGET_INFO_GPU_METRICS t USING (typeId, metricId)
            WHERE metricName = ? ORDER BY m.timestamp"""
POWERS = [350000, 351500, 352250, 360000, 365000, 370000]


def script(*more, count=1, buses=("41", "42"), powers=POWERS, without=()):
    lines = [f"DeviceGetCount_v2 - {count}", "DeviceGetName - NVIDIA_H200", "DeviceGetCudaComputeCapability - 9:0",
             "DeviceGetMemoryInfo - 150000000000:500000000:1000000000", "DeviceGetTotalEnergyConsumption - 1000000 1030000 1065000 1105000 1150000",
             "DeviceGetTemperature[0] - 40 41 45", "DeviceGetClockInfo[1] - 1980 1500", "DeviceGetClockInfo[2] - 2619",
             "DeviceGetCurrentClocksEventReasons - 0 4 4 64 2", "DeviceGetUtilizationRates - 97:33"]
    for i in range(count):
        lines += [f"DeviceGetUUID {i} GPU-{UUIDS[['41', '42'].index(buses[i])]}", f"DeviceGetPciInfo_v3 {i} 00000000:{buses[i]}:00.0"]
    lines += ["DeviceGetPowerUsage 0 " + " ".join(map(str, powers)), "DeviceGetPowerUsage 1 75250"]
    return "\n".join([line for line in lines if line.split("[")[0].split()[0] not in without] + list(more)) + "\n"


class Metrics(fakelib.Case):
    samples = False

    def capture(self, *arguments, text=None, options=(), variables=None, count=4, how=(), **more):
        """The report of a program that runs until NVML was asked for power so many times."""
        with open(self.path("script"), "w") as file:
            file.write(text or script())
        self.log = self.path("log")
        open(self.log, "w").close()
        own = {"TACHO_NVML": os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), "FAKE_NVML": self.path("script"), "FAKE_NVML_LOG": self.log,
               "TACHO_GPU_HELPER": HELPER}
        return self.cuda("cuda_metrics", self.log, count, *how, options=options, variables=dict(own, **(variables or {})), **more)

    def asked(self, call="DeviceGetPowerUsage", device=0):
        """When NVML was asked."""
        with open(self.log) as file:
            return [int(line.split()[2]) for line in file if line.startswith(f"{call} {device} ")]

    def sampling(self, report):
        rows = report.rows("SELECT * FROM TACHO_GPU_SAMPLING")
        columns = [name for _, name, *_ in report.rows("PRAGMA table_info(TACHO_GPU_SAMPLING)")]
        return [dict(zip(columns, row)) for row in rows]

    def helper(self, text):
        path = self.path("helper")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)
        return path

    def test_values_and_times(self):
        report = self.capture(count=5)
        rows, convert, asked = report.rows(VALUES, "Power [W]"), fakelib.monotonic(report), self.asked()
        self.assertGreaterEqual(len(rows), 4)
        for i, (timestamp, value, exact, gpu) in enumerate(rows):
            watts = POWERS[min(i, len(POWERS) - 1)] / 1000
            self.assertEqual((exact, gpu), (watts, 0))
            self.assertLessEqual(abs(value - watts), 0.5)
            self.assertLessEqual(timestamp, convert(asked[i]) + 1000)
            if i > 0:
                self.assertGreaterEqual(timestamp, convert(asked[i - 1]) - 1000, "taken before the reading before it")
        self.assertEqual([row[2] for row in report.rows(VALUES, "SM Clock [Hz]")][:3], [1.98e9, 1.5e9, 1.5e9])
        self.assertEqual([row[2] for row in report.rows(VALUES, "Memory Used [bytes]")][:2], [1e9, 1e9])
        self.assertEqual([row[2] for row in report.rows(VALUES, "Throttled by Power [%]")][:4], [0, 100, 100, 0])
        self.assertEqual([row[2] for row in report.rows(VALUES, "Throttled by Temperature [%]")][:4], [0, 0, 0, 100])
        self.assertEqual([row[2] for row in report.rows(VALUES, "Throttled [%]")][:4], [0, 100, 100, 100])
        energy = report.rows(VALUES, "Power from Energy [W]")
        self.assertEqual(len(energy), len(rows) - 1, "a rate needs two samples")
        for (before, *_), (after, _, watts, _), joules in zip(rows, energy, (30, 35, 40, 45)):
            self.assertEqual(watts, joules * 1e9 / (after - before))
        told, = self.sampling(report)
        self.assertEqual((told["source"], told["gpuId"], told["nvmlIndex"], told["name"], told["uuid"], told["busLocation"], told["requestedHz"]),
                         ("nvml", 0, 0, "NVIDIA H200", UUIDS[0], "0000:41:00.0", 10))
        self.assertEqual((told["samples"], told["clockState"]), (len(rows), "set" if len(rows) >= 5 else "free"))
        self.assertEqual(report.rows("SELECT DISTINCT typeName, typeId >> 32 FROM TARGET_INFO_GPU_METRICS"), [("NVML", 0x10001)])
        self.assertEqual(report.value("SELECT count(*) FROM GPU_METRICS WHERE typeId NOT IN (SELECT typeId FROM GENERIC_EVENT_TYPES)"), 0)
        self.assertEqual(fakelib.kernels(report), {"first": 1})

    def over_time(self, report, name):
        """A metric's sum over time, and that time. A reading is about the time since the one before it; the first, and one after a pause,
        counts as long as most."""
        rows = report.rows(VALUES, name)
        lengths = [after[0] - before[0] for before, after in zip(rows, rows[1:])]
        usual = statistics.median(lengths)
        lengths = [usual, *(length if length <= 1.5 * usual else usual for length in lengths)]
        return sum(exact * length for (_, _, exact, _), length in zip(rows, lengths)), sum(lengths)

    def test_what_the_user_reads(self):
        report = self.capture(count=5, options=["--stats=false"])
        watts, joules, celsius, share = re.search(r"GPU drew (\d+) W on average, ([\d.]+) J; at most (\d+) °C; clocks throttled ([\d.]+) % of the time",
                                                  self.output.stderr).groups()
        used, length = self.over_time(report, "Power from Energy [W]")
        self.assertAlmostEqual(float(watts), used / length, delta=1)
        self.assertAlmostEqual(float(joules), used / 1e9, delta=0.01 * float(joules) + 0.1)
        self.assertEqual(int(celsius), 45)
        throttled, length = self.over_time(report, "Throttled [%]")
        self.assertAlmostEqual(float(share), throttled / length, delta=1)
        shown = subprocess.run([lib.TACHO, "info", report.path], capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"(?m)^nvml +GPU 0 \(NVIDIA H200, 0 in nvidia-smi\): \d+ samples at [\d.]+ Hz \(10 requested\), \d+ lost; clocks")

    def doctor(self, *lines, count=1, **variables):
        """Its checks by name; each source is tried on the stand-ins."""
        with open(self.path("script"), "w") as file:
            file.write(script(*lines, count=count))
        environment = dict(os.environ, TACHO_NVML=os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), FAKE_NVML=self.path("script"),
                           TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"), LD_LIBRARY_PATH=os.path.join(fakelib.FAKE, "lib"))
        done = subprocess.run([lib.TACHO, "doctor", "-f", "json"], capture_output=True, text=True, env=dict(environment, **variables), check=True)
        return {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    def expect(self, check, verdict, *parts):
        self.assertEqual(check["verdict"], verdict, check)
        for part in parts:
            self.assertIn(part, check["why"] + " | " + " | ".join(check.get("allow", [])))

    def test_doctor(self):
        found = self.doctor("GpmQueryDeviceSupport 0 1", "GpmMetricsGet[2] 0 50")
        self.expect(found["NVML"], "works", "1 of 1 GPU (NVIDIA H200): power")
        self.expect(found["GPM"], "works", "1 of 1 GPU")
        self.expect(found["GPU counters"], "works", "1 of 1 GPU", "--gpu-metrics-devices")
        self.assertIn("counters of kernels", found["GPU kernels"]["why"])
        found = self.doctor("GpmQueryDeviceSupport 1 1", "GpmMetricsGet[2] 1 50", count=2)
        self.expect(found["NVML"], "works", "2 of 2 GPUs")
        self.expect(found["GPM"], "partly", "1 of 2 GPUs", "GPU 0 (NVIDIA H200) has no GPM")
        found = self.doctor("GpmQueryDeviceSupport 0 1", "GpmMetricsGet[2] 0 !4")
        self.expect(found["GPM"], "note", "GPM of GPU 0 cannot be read: no permission. NVML is recorded without it.")
        found = self.doctor(TACHO_NVML="/nowhere/libnvidia-ml.so.1")
        for name in ("NVML", "GPM", "GPU counters", "GPU kernels"):
            self.assertIn("Cannot load NVML", found[name]["why"])
        self.expect(found["NVML"], "fails", "must include utility")

    def test_doctor_tells_why_counters_are_refused(self):
        gpm = ("GpmQueryDeviceSupport 0 1", "GpmMetricsGet[2] 0 50")
        ways = ("NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN", "as root")
        for variables, lines, parts in (
                ({"FAKE_SAMPLING": "refuse=35"}, gpm, ("GPU 0: the driver keeps counters", "RmProfilingAdminOnly: 1", *ways, "GPM and NVML are recorded instead")),
                ({"FAKE_SAMPLING": "refuse=35"}, (), ("NVML is recorded instead",)),
                ({"FAKE_SAMPLING": "refuse=7"}, gpm, ("GPU 0: another profiler uses its counters", "dcgmi profile --pause")),
                ({"FAKE_SAMPLING": "refuse=26"}, gpm, ("another profiler uses its counters",)),
                ({"FAKE_SAMPLING": "refuse=40"}, gpm, ("GPU 0 is virtual (vGPU)", "enable_profiling=1")),
                ({"FAKE_SAMPLING": "refuse=41"}, gpm, ("GPU 0 runs in confidential mode",)),
                ({"FAKE_SAMPLING": "refuse=9"}, gpm, ("GPU 0 cannot be sampled (cuptiPmSamplingEnable): The GPU reported a fault",)),
                ({"FAKE_CHIP": "GV100"}, gpm, ("GPU 0 (GV100) has no counters over time: they need Turing or later",)),
                ({"TACHO_CUPTI": fakelib.cupti("12.4")}, gpm, ("Counters need CUPTI 12.6 or later", "pip install -U")),
                ({"TACHO_CUPTI": "/nowhere/libcupti.so.13"}, gpm, ("TACHO_CUPTI names /nowhere/libcupti.so.13", "unset TACHO_CUPTI"))):
            with self.subTest(**variables):
                found = self.doctor(*lines, **variables)
                self.expect(found["GPU counters"], "fails", *parts)
                self.expect(found["NVML"], "works")
        for support, parts in (("vgpu=2", ("GPU 0 is virtual",)), ("confidential=1", ("confidential mode",)), ("architecture=1", ("older than Volta",)),
                               ("wsl=1", ("WSL",)), ("cmp=1", ("mining card",))):
            with self.subTest(support=support):
                found = self.doctor(FAKE_SUPPORT=support)
                self.expect(found["GPU kernels"], "fails", *parts)
                self.expect(found["GPU counters"], "works")

    def test_doctor_names_who_holds_the_counters(self):
        """A process that has the library of all profilers in its memory: ours, for its file has the name, unless another is found first."""
        library = self.path("libnvperf_target.so")
        shutil.copyfile(fakelib.cupti("13.0"), library)
        holder = subprocess.Popen([sys.executable, "-c", "import mmap, sys\nfile = open(sys.argv[1], 'rb')\n"
                                   "held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\nprint('ready', flush=True)\nsys.stdin.read()", library],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            holder.stdout.readline()
            self.assertRegex(self.doctor(FAKE_SAMPLING="refuse=7")["GPU counters"]["why"], r"its counters, probably \S+ \(process \d+\)\. End it")
        finally:
            holder.communicate()

    def test_doctor_survives_its_helper(self):
        found = self.doctor(TACHO_GPU_HELPER=self.helper("#!/bin/sh\nkill -SEGV $$\n"))
        self.expect(found["NVML"], "fails", "tacho-gpu was ended by signal 11")
        found = self.doctor(TACHO_GPU_HELPER="/nowhere/tacho-gpu")
        self.expect(found["GPU counters"], "fails", "cannot run /nowhere/tacho-gpu")

    def test_another_order_in_cuda(self):
        """NVML numbers by the bus; CUDA shows both GPUs the other way round."""
        report = self.capture(text=script(count=2, buses=("42", "41")), settings={"devices": 2})
        buses = dict(report.rows("SELECT id, busLocation FROM TARGET_INFO_GPU"))
        self.assertEqual(buses, {0: "0000:41:00.0", 1: "0000:42:00.0"})
        found = {(gpu, exact > 100) for _, _, exact, gpu in report.rows(VALUES, "Power [W]")}
        self.assertEqual(found, {(1, True), (0, False)}, "GPU 0 of NVML, with 350 W, is CUDA's GPU 1")
        self.assertEqual({row["gpuId"]: row["nvmlIndex"] for row in self.sampling(report)}, {0: 1, 1: 0})

    def test_only_visible_gpus_unless_all_are_asked_for(self):
        two = script(count=2)
        report = self.capture(text=two)
        self.assertEqual({gpu for *_, gpu in report.rows(VALUES, "Power [W]")}, {0})
        report = self.capture(text=two, options=["--gpu-metrics-devices=all", "--gpu-metrics-source=gpm"])
        self.assertEqual({gpu for *_, gpu in report.rows(VALUES, "Power [W]")}, {0, 1})
        self.assertEqual(dict(report.rows("SELECT id, name FROM TARGET_INFO_GPU"))[1], "NVIDIA H200")
        facts = "SELECT name, uuid, busLocation, pwGpuId FROM TARGET_INFO_GPU WHERE id = ?"
        self.assertEqual(report.rows(facts, 1), [("NVIDIA H200", UUIDS[1], "0000:42:00.0", 1)], "spelled as CUDA's")
        self.assertIn("has no GPM", self.output.stderr)
        report = self.capture(text=two, options=["--gpu-metrics-device=1", "--gpu-metrics-source=nvml"], count=0)
        self.assertEqual(self.asked(), [])
        report = self.capture(text=two, options=["--gpu-metrics-devices=none"], count=0)
        self.assertFalse(report.has("TACHO_GPU_SAMPLING"))

    def test_values_that_are_refused_before_the_program_starts(self):
        with open(self.path("script"), "w") as file:
            file.write(script(count=2))
        environment = dict(os.environ, TACHO_NVML=os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), FAKE_NVML=self.path("script"), TACHO_GPU_HELPER=HELPER)
        for option, sentence in (("--gpu-metrics-devices=0,5", "there is no GPU '5' here, only 0 to 1; --gpu-metrics-devices=help lists them"),
                                 ("--gpu-metrics-devices=9", "there is no GPU '9' here, only 0 to 1; --gpu-metrics-devices=help lists them"),
                                 ("--gpu-metrics-frequency=5", "counters are sampled at least 10 times a second, not 5; --gpu-metrics-source=gpm or nvml takes 1 to 100")):
            done = subprocess.run([lib.TACHO, "profile", "-o", self.path("none.tacho"), option, "touch", self.path("ran")], env=environment, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (2, f"tacho profile: {sentence}\n"))
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertFalse(os.path.exists(self.path("none.tacho")))

    def test_a_program_without_gpu_work_is_not_blamed(self):
        """The link seems to be full all the time, by another program."""
        text = script("DeviceGetPcieThroughput[0] - 50000000", "DeviceGetPcieThroughput[1] - 50000000", "DeviceGetCurrPcieLinkGeneration - 5", "DeviceGetCurrPcieLinkWidth - 16")
        with open(self.path("script"), "w") as file:
            file.write(text)
        own = {"TACHO_NVML": os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), "FAKE_NVML": self.path("script"), "TACHO_GPU_HELPER": HELPER}
        self.profile("--gpu-metrics-devices=all", "--gpu-metrics-source=nvml", "--gpu-metrics-set=full", "sleep", "0.5", env=dict(os.environ, **own), output="sleep.tacho")
        self.assertNotIn("PCIe", self.output.stderr)

    def test_gpm(self):
        report = self.capture(text=script("GpmQueryDeviceSupport 0 1", "GpmMetricsGet[2] 0 87.5 12.25 " + " ".join(map(str, range(20, 90))), "GpmMetricsGet[20] 0 3"),
                              options=["--gpu-metrics-devices=all", "--gpu-metrics-set=gpm-sm,gpm-pcie-tx,power"])
        active, power = report.rows(VALUES, "SMs Active [Throughput %]"), report.rows(VALUES, "Power [W]")
        answers, means = [87.5, 12.25, *range(20, 90)], [exact for _, _, exact, _ in active]
        first = answers.index(means[0])  # GPUs may be read before recording begins
        self.assertGreaterEqual(len(means), 2)
        self.assertEqual(means, answers[first:first + len(means)])
        self.assertEqual([row[0] for row in active], [row[0] for row in power][1:], "the first sample has no mean")
        self.assertEqual({exact for _, _, exact, _ in report.rows(VALUES, "PCIe TX [bytes/s]")}, {3 * 1048576.0})
        self.assertEqual({row["source"]: row["samples"] for row in self.sampling(report)}, {"nvml": len(power), "gpm": len(active)})
        self.assertEqual(dict(report.rows("SELECT DISTINCT metricName, typeName FROM TARGET_INFO_GPU_METRICS")),
                         {"Power [W]": "NVML", "SMs Active [Throughput %]": "GPM", "PCIe TX [bytes/s]": "GPM"})

    def test_capture_ranges(self):
        """Samples, and the intervals of rates, lie inside of the range."""
        report = self.capture(options=["--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--gpu-metrics-devices=all",
                                       "--gpu-metrics-source=nvml"], how=["ranges"], count=3)
        convert, (span,) = fakelib.monotonic(report), self.truth("range")
        times = [row[0] for row in report.rows(VALUES, "Power [W]")]
        count = lambda first, last: sum(span[first] <= ns <= span[last] for ns in self.asked())
        self.assertGreaterEqual(len(times), count("from", "to") - 1)
        self.assertLessEqual(len(times), count("before", "after") + 1)
        self.assertGreaterEqual(min(times), convert(span["before"]) - 1000)
        ranges = report.rows("SELECT start, end FROM TACHO_RANGE")
        self.assertTrue(all(any(start <= at <= end for start, end in ranges) for at in times), (times, ranges))
        self.assertEqual(len(report.rows(VALUES, "Power from Energy [W]")), len(times) - 1)

    def test_one_helper_for_a_tree(self):
        report = self.capture(how=["child"], options=["--trace-fork-before-exec=true"])
        self.assertEqual(len(self.sampling(report)), 1)
        self.assertEqual(len(self.asked("DeviceGetCount_v2", -1)), 1)

    def test_they_are_read_of_programs_with_cuda_alone(self):
        """Without options, tacho-gpu is started once CUDA shows a GPU: a program without CUDA pays nothing."""
        marker = self.path("started")
        helper = self.helper(f"#!/bin/sh\necho \"$1\" >>{marker}\nexec {HELPER} \"$@\"\n")
        own = {"TACHO_NVML": os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), "TACHO_GPU_HELPER": helper, "FAKE_NVML": self.path("script")}
        report = self.profile("/bin/true", env=dict(os.environ, **own), output="true.tacho")
        self.assertFalse(os.path.exists(marker), "a program without CUDA")
        self.assertFalse(report.has("TACHO_GPU_SAMPLING"))
        report = self.capture(variables={"TACHO_GPU_HELPER": helper}, options=["--gpu-metrics-devices=none"], count=0)
        self.assertFalse(os.path.exists(marker), "none")
        report = self.capture(variables={"TACHO_GPU_HELPER": helper})
        with open(marker) as file:
            self.assertEqual(file.read(), "monitor\n", "once, and no counters")
        self.assertEqual([row["source"] for row in self.sampling(report)], ["nvml"])
        self.assertGreater(len(report.rows(VALUES, "Power [W]")), 0)

    def test_readings_that_fail(self):
        report = self.capture(text=script("DeviceGetTemperature[0] 0 !999", without=["DeviceGetTemperature"]))
        self.assertFalse(report.rows(VALUES, "Temperature [C]"))
        told, = self.sampling(report)
        self.assertIn("Not available (NVML error 999): temperature.", told["refusal"])
        self.assertIn("Not available (not supported by this GPU): temperature-memory", told["refusal"])
        self.assertNotIn("GPU metrics", self.output.stderr.split("events:")[0])

    def test_a_gpu_that_is_lost(self):
        lost = "DeviceGetPowerUsage 0 350000 351000 !15"
        report = self.capture(text=script(lost, without=["DeviceGetPowerUsage"]), count=6)
        self.assertEqual([exact for _, _, exact, _ in report.rows(VALUES, "Power [W]")], [350, 351])
        self.assertIn("GPU 0 (NVIDIA H200) cannot be read any more: the GPU has fallen off the bus.", self.output.stderr)

    def test_a_helper_that_is_killed(self):
        """After three readings; then the log says what lets the program end."""
        log = self.path("log")
        helper = self.helper(f"""#!/bin/sh
exec 3<&0
{HELPER} "$@" <&3 &
until [ "$(grep -c DeviceGetPowerUsage {log})" -ge 3 ]; do sleep 0.01; done
kill -9 $!
for i in $(seq 100); do echo "DeviceGetPowerUsage 0 0" >> {log}; done
kill -9 $$
""")
        report = self.capture(variables={"TACHO_GPU_HELPER": helper}, count=100)
        found = [exact for _, _, exact, _ in report.rows(VALUES, "Power [W]")]
        self.assertGreaterEqual(len(found), 2)
        self.assertEqual(found, [POWERS[min(i, len(POWERS) - 1)] / 1000 for i in range(len(found))], "those before, and no others")
        self.assertEqual(self.output.stderr.count("GPU metrics are incomplete."), 1)
        self.assertEqual(fakelib.kernels(report), {"first": 1})

    def test_helpers_that_send_nothing_of_use(self):
        later = f"(sleep 1; echo 'DeviceGetPowerUsage 0 0' >>{self.path('log')}) </dev/null >/dev/null 2>&1 &"  # lets the program end
        for text, why in (("exec sleep 1000", None), (f"{later} printf 'nonsense nonsense nonsense'", "tacho-gpu sent a damaged frame"),
                          (f"{later} exit 0", "tacho-gpu ended with status 0"), (None, "cannot run")):
            with self.subTest(helper=text):
                helper = self.helper(f"#!/bin/sh\n{text}\n") if text else "/nowhere/tacho-gpu"
                report = self.capture(variables={"TACHO_GPU_HELPER": helper}, count=1 if text and later in text else 0)
                self.assertEqual(fakelib.kernels(report), {"first": 1})
                self.assertFalse(report.has("GPU_METRICS"))
                if why:
                    self.assertIn(why, self.output.stderr.lower())
                    self.assertIn(why, "".join(row["refusal"] for row in self.sampling(report)).lower())
        self.assertFalse([pid for pid in lib.children(os.getpid()) if lib.state(pid) != "Z"], "left behind")

    def test_nvml_that_hangs(self):
        """The report is ready without it, and no process stays behind."""
        report = self.capture(text=script("DeviceGetFanSpeed - hang", "Init_v2 - hang"), count=0)
        self.assertEqual(fakelib.kernels(report), {"first": 1})
        left = subprocess.run(["pgrep", "-f", self.path("script")], capture_output=True, text=True).stdout
        self.assertEqual(left, "")

    def test_a_helper_that_hangs_at_the_end(self):
        """It is not waited for; its samples are there, and the report says that some may be missing."""
        helper = self.helper(f"#!/bin/sh\n{HELPER} \"$@\" | cat\nexec sleep 1000\n")  # which never hangs up
        report, _ = self.counters(more_variables={"TACHO_GPU_HELPER": helper})
        self.assertGreater(len(report.rows(VALUES, "SYS Clock Frequency [MHz]")), 0)
        why = "tacho-gpu did not answer at the end and was killed"
        self.assertIn(why, self.output.stderr.lower())
        self.assertIn(why, "".join(row["refusal"] or "" for row in self.sampling(report)).lower())

    def test_a_program_that_ends_before_the_first_reading(self):
        """By default that is not worth a word; who asked for readings is told."""
        helper = {"TACHO_GPU_HELPER": self.helper("#!/bin/sh\nexec sleep 1000\n")}
        report = self.capture(variables=helper, count=0)
        self.assertFalse(report.has("TACHO_GPU_SAMPLING"))
        self.assertNotIn("GPU metrics are incomplete", self.output.stderr)
        report = self.capture(variables=helper, count=0, options=["--gpu-metrics-set=basic"])
        self.assertIn("had read no GPU when the program ended", self.output.stderr)

    def test_no_driver(self):
        if os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"):
            self.skipTest("there is a driver")
        environment = {"TACHO_GPU_HELPER": HELPER}
        report = self.cuda("cuda_work", "kernels", variables=environment)
        self.assertFalse(report.has("TACHO_GPU_SAMPLING"))
        self.assertNotIn("GPU metrics", self.output.stderr)
        report = self.cuda("cuda_work", "kernels", variables=environment, options=["--gpu-metrics-devices=all"])
        self.assertIn("There is no NVIDIA driver on this machine", self.output.stderr)
        self.assertEqual([row["samples"] for row in self.sampling(report)], [0])

    def counters(self, *options, sampling="", more_variables=(), how=("counters",), **more):
        """A capture with counters. The program waits until they are sampled, unless that never begins."""
        variables = {"TACHO_CUPTI": os.path.join(fakelib.FAKE, "lib", "libcupti.so.13"), "LD_LIBRARY_PATH": os.path.join(fakelib.FAKE, "lib"),
                     "FAKE_SAMPLING": sampling, **dict(more_variables)}
        report = self.capture(options=["--gpu-metrics-devices=all", "--gpu-metrics-frequency=500", *options], variables=variables, how=how, **more)
        return report, {row["source"]: row for row in self.sampling(report)}

    def test_counters(self):
        """Every counter of the stand-in is the number of its sample, one each 2 ms."""
        report, told = self.counters(count=6)
        rows = report.rows(VALUES, "SYS Clock Frequency [MHz]")
        numbers = [exact for _, _, exact, _ in rows]
        self.assertGreater(len(rows), 20)
        self.assertEqual(numbers, [numbers[0] + i for i in range(len(numbers))], "each sample once, none left out")
        self.assertEqual({after[0] - before[0] for before, after in zip(rows, rows[1:])}, {2_000_000})
        self.assertEqual((told["counters"]["requestedHz"], told["counters"]["samples"], told["counters"]["lost"], told["counters"]["refusal"]), (500, len(rows), 0, None))
        self.assertAlmostEqual(told["counters"]["reachedHz"], 500)
        self.assertGreater(told["nvml"]["samples"], 0, "readings are taken beside them")
        self.assertEqual(report.rows("SELECT DISTINCT typeName, typeId & 65535 FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE 'SYS%'"), [("", 0)])

    def test_the_program_waits_for_counters(self):
        """However long CUPTI takes to begin, the first sample is earlier than the first call of CUDA. A GPU that refuses holds nobody up."""
        report, told = self.counters(sampling="late=400", count=6)
        first = min(timestamp for timestamp, *_ in report.rows(VALUES, "SYS Clock Frequency [MHz]"))
        self.assertLess(first, report.value("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME"))
        report, told = self.counters(sampling="refuse=7", how=())
        self.assertIn("another profiler", told["counters"]["refusal"])

    def test_rows_are_as_in_nsys(self):
        """Names, their order, types, ids and rounding, against an export of nsys on an H200 without NVLink."""
        with open(os.path.join(lib.SOURCE, "tests", "golden", "nsys", "gpu_metrics.json")) as file:
            nsys = json.load(file)
        report, _ = self.counters(sampling="scale=0.3,wrap=20,absent=NVL", count=6)
        counters = "typeId & 65535 = 0"
        for table, columns in (("TARGET_INFO_GPU_METRICS", "typeId, sourceId, typeName, metricId, metricName"),
                               ("GENERIC_EVENT_SOURCES", "sourceId, (SELECT value FROM StringIds WHERE id = nameId), timeSourceId, sourceGroupId"),
                               ("GENERIC_EVENT_TYPE_FIELDS", "typeId, fieldIdx, (SELECT value FROM StringIds WHERE id = fieldNameId), type")):
            where = f"WHERE {counters}" if "typeId" in columns else ""
            self.assertEqual([list(row) for row in report.rows(f"SELECT {columns} FROM {table} {where}")], nsys[table], table)
        self.assertEqual(report.value("SELECT count(*) FROM GPU_METRICS WHERE rawTimestamp != timestamp"), 0)

        def rounded(value):
            return max(1, math.floor(value + 0.5)) if value > 0 else 0
        checked = 0
        for sample in nsys["samples"]:  # nsys's own, where the exact value follows from others of the sample: warps, and 128 of them at most
            metrics = sample[1:]
            for total, share, rate in ((13, 12, 14), (16, 15, 17)):
                warps = metrics[total] / (metrics[0] * 100e-6)
                for exact, value in ((warps, metrics[rate] & 255), (warps / 1.28, metrics[share])):  # its rates have 8 bits, 128 becomes -128
                    if abs(exact % 1 - 0.5) > 0.01:
                        self.assertEqual(rounded(exact), value)
                        checked += 1
        self.assertGreater(checked, 200)
        ours = report.rows(f"SELECT exact, value FROM GPU_METRICS WHERE {counters}")
        self.assertTrue({1, 2, 3} <= {round(exact / 0.3) for exact, _ in ours}, "values below 1 are there, too")
        self.assertEqual([value for _, value in ours], [rounded(exact) for exact, _ in ours])

    def test_own_counters(self):
        report, told = self.counters("--gpu-metrics-set=sm__cycles_active.avg,power")
        self.assertGreater(len(report.rows(VALUES, "sm__cycles_active.avg")), 10)
        self.assertEqual({name for name, in report.rows("SELECT DISTINCT metricName FROM TARGET_INFO_GPU_METRICS")}, {"sm__cycles_active.avg", "Power [W]"})
        self.assertEqual(set(told), {"nvml", "counters"})

    def names(self, report, source):
        return {name for name, in report.rows("SELECT DISTINCT metricName FROM TARGET_INFO_GPU_METRICS WHERE typeName = ?", source)}

    def test_sets_of_nsys(self):
        """The stand-in is a GH100."""
        report, told = self.counters("--gpu-metrics-set=gh100")
        self.assertIn("Compute Warps in Flight [Avg]", self.names(report, ""))
        self.assertIn("Power [W]", self.names(report, "NVML"))
        self.assertGreater(told["counters"]["samples"], 10)
        report, told = self.counters("--gpu-metrics-set=ga100", how=())
        self.assertFalse(self.names(report, ""))
        self.assertIn("has none of these metrics", told["counters"]["refusal"])

    def test_a_set_in_a_file(self):
        with open(self.path("set"), "w") as file:
            file.write("# my set\nsm__cycles_active.avg  # of a TPC\n\ngpc__cycles_elapsed.avg.per_second\npower\n")
        report, _ = self.counters(f"--gpu-metrics-set=file:{self.path('set')}")
        self.assertEqual(self.names(report, ""), {"sm__cycles_active.avg", "gpc__cycles_elapsed.avg.per_second"})
        self.assertEqual(self.names(report, "NVML"), {"Power [W]"})

    def test_counters_that_are_refused(self):
        for sampling, why in (("refuse=35", "NVreg_RestrictProfilingToAdminUsers=0"), ("refuse=7", "dcgmi profile --pause"), ("die", "tacho-gpu ended with status 9")):
            with self.subTest(sampling=sampling):
                report, told = self.counters(sampling=sampling, count=8, how=["counters"] if sampling == "die" else [])
                self.assertIn(why.lower(), self.output.stderr.lower())
                self.assertGreater(told["nvml"]["samples"], 0)
                self.assertEqual("NVML is recorded instead." in self.output.stderr, "refuse" in sampling)
                self.assertIn(why.lower(), "".join(row["refusal"] or "" for row in self.sampling(report)).lower())
                self.assertEqual(fakelib.kernels(report), {"first": 1})

    def test_counters_in_a_capture_range(self):
        """A sample lies in the range as a whole, or is left out."""
        report, told = self.counters("--capture-range=cudaProfilerApi", "--capture-range-end=stop", how=["counters", "ranges"], count=3)
        times = [row[0] for row in report.rows(VALUES, "SYS Clock Frequency [MHz]")]
        (start, end), = report.rows("SELECT start, end FROM TACHO_RANGE")
        self.assertGreater(len(times), 10)
        self.assertTrue(start <= min(times) and max(times) + 2_000_000 <= end, (start, end, min(times), max(times)))
        self.assertEqual(max(times) - min(times), 2_000_000 * (len(times) - 1), "none is left out between them")
        self.assertEqual(told["counters"]["samples"], len(times))

    def test_help(self):
        with open(self.path("script"), "w") as file:
            file.write(script(count=2))
        environment = dict(os.environ, TACHO_NVML=os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), FAKE_NVML=self.path("script"),
                           TACHO_GPU_HELPER=HELPER)
        done = subprocess.run([lib.TACHO, "profile", "--gpu-metrics-devices=help"], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^  1 +NVIDIA H200, 00000000:42:00.0, GPU-" + UUIDS[1])
        done = subprocess.run([lib.TACHO, "profile", "--gpu-metrics-set=help"], capture_output=True, text=True, env=environment)
        self.assertRegex(done.stdout, r"(?m)^  1  general ")
        self.assertRegex(done.stdout, r"(?m)^     gh100-ct ")
        self.assertRegex(done.stdout, r"(?m)^     gpm-tensor +Tensor Active \[Throughput %\]")
        done = subprocess.run([lib.TACHO, "profile", "--gpu-metrics-set=clock-sn", "true"], capture_output=True, text=True, env=environment)
        self.assertIn("did you mean 'clock-sm'?", done.stderr)
        self.assertNotEqual(done.returncode, 0)
        done = subprocess.run([lib.TACHO, "profile", "--gpu-metrics-set=file:/nowhere/set", "true"], capture_output=True, text=True, env=environment)
        self.assertIn("cannot read the metrics in '/nowhere/set': No such file", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    lib.main()
