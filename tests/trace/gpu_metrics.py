"""GPU metrics of a capture equal what a scripted NVML answered, at the times at which it did; whatever becomes of tacho-gpu, the program and its
report are whole. On the stand-ins of CUDA and NVML."""
import json
import os
import re
import stat
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
        """The report of a program that runs until NVML was asked for power so many times; of visible GPUs and NVML alone if there are no options."""
        if not any(option.startswith("--gpu-metrics") for option in options):
            options = ["--gpu-metrics-set=basic", *options]
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
            self.assertGreaterEqual(timestamp, convert(asked[i]) - 100_000_000, "taken long before NVML was asked")
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

    def test_what_the_user_reads(self):
        report = self.capture(count=5, options=["--stats=false"])
        watts, joules, celsius, share = re.search(r"GPU drew (\d+) W on average, ([\d.]+) J; at most (\d+) °C; clocks throttled ([\d.]+) % of the time",
                                                  self.output.stderr).groups()
        used = [exact for _, _, exact, _ in report.rows(VALUES, "Power from Energy [W]")]
        self.assertAlmostEqual(float(watts), sum(used) / len(used), delta=0.1 * float(watts), msg="samples of equal length, nearly")
        self.assertAlmostEqual(float(joules), sum((30, 35, 40, 45, 0, 0)[:len(used)]), delta=0.25 * float(joules))
        self.assertEqual(int(celsius), 45)
        throttled = [exact for _, _, exact, _ in report.rows(VALUES, "Throttled [%]")]
        self.assertAlmostEqual(float(share), sum(throttled) / len(throttled), delta=15)
        shown = subprocess.run([lib.TACHO, "info", report.path], capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"(?m)^nvml +GPU 0 \(NVIDIA H200, 0 in nvidia-smi\): \d+ samples at [\d.]+ Hz \(10 requested\), 0 lost; clocks")

    def test_doctor(self):
        with open(self.path("script"), "w") as file:
            file.write(script("GpmQueryDeviceSupport 1 1", "GpmMetricsGet[2] 1 50", count=2))
        environment = dict(os.environ, TACHO_NVML=os.path.join(fakelib.FAKE, "lib", "libnvidia-ml.so.1"), FAKE_NVML=self.path("script"),
                           TACHO_GPU_HELPER=HELPER)

        def checks():
            done = subprocess.run([lib.TACHO, "doctor", "-f", "json"], capture_output=True, text=True, env=environment, check=True)
            return {check["name"]: (check["verdict"], check["why"]) for check in json.loads(done.stdout)["checks"]}
        found = checks()
        self.assertEqual(found["NVML"][0], "works")
        self.assertIn("2 GPUs (NVIDIA H200", found["NVML"][1])
        self.assertEqual(found["GPM"][0], "partly")
        self.assertIn("1 of 2 GPUs", found["GPM"][1])
        environment["TACHO_NVML"] = "/nowhere/libnvidia-ml.so.1"
        found = checks()
        self.assertEqual(found["NVML"][0], "fails")
        self.assertIn("Cannot load NVML", found["NVML"][1])

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
        self.assertIn("has no GPM", self.output.stderr)
        report = self.capture(text=two, options=["--gpu-metrics-device=1", "--gpu-metrics-source=nvml"], count=0)
        self.assertEqual(self.asked(), [])
        report = self.capture(text=two, options=["--gpu-metrics-devices=7", "--gpu-metrics-source=nvml"], count=0)
        self.assertIn("There is no GPU '7' here", self.output.stderr)
        report = self.capture(text=two, options=["--gpu-metrics-devices=none"], count=0)
        self.assertFalse(report.has("TACHO_GPU_SAMPLING"))

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
        inside = [ns for ns in self.asked() if span["from"] <= ns <= span["to"]]
        self.assertGreaterEqual(len(times), len(inside) - 1)
        self.assertLessEqual(len(times), len(inside) + 1)
        self.assertGreaterEqual(min(times), convert(span["from"]) - 100_000_000)
        ranges = report.rows("SELECT start, end FROM TACHO_RANGE")
        self.assertTrue(all(any(start <= at <= end for start, end in ranges) for at in times), (times, ranges))
        self.assertEqual(len(report.rows(VALUES, "Power from Energy [W]")), len(times) - 1)

    def test_one_helper_for_a_tree(self):
        report = self.capture(how=["child"], options=["--trace-fork-before-exec=true"])
        self.assertEqual(len(self.sampling(report)), 1)
        self.assertEqual(len(self.asked("DeviceGetCount_v2", -1)), 1)

    def test_readings_that_fail(self):
        report = self.capture(text=script("DeviceGetTemperature[0] 0 !999", without=["DeviceGetTemperature"]))
        self.assertFalse(report.rows(VALUES, "Temperature [C]"))
        told, = self.sampling(report)
        self.assertIn("temperature (NVML error 999)", told["refusal"])
        self.assertIn("temperature-memory (not supported by this GPU)", told["refusal"])
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
        self.assertIn([exact for _, _, exact, _ in report.rows(VALUES, "Power [W]")], ([350, 351.5], [350, 351.5, 352.25]))
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

    def test_no_driver(self):
        if os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"):
            self.skipTest("there is a driver")
        environment = {"TACHO_GPU_HELPER": HELPER}
        report = self.cuda("cuda_work", "kernels", variables=environment)
        self.assertFalse(report.has("TACHO_GPU_SAMPLING"))
        report = self.cuda("cuda_work", "kernels", variables=environment, options=["--gpu-metrics-devices=all"])
        self.assertIn("There is no NVIDIA driver on this machine", self.output.stderr)
        self.assertEqual([row["samples"] for row in self.sampling(report)], [0])

    def counters(self, *options, sampling="", **more):
        variables = {"TACHO_CUPTI": os.path.join(fakelib.FAKE, "lib", "libcupti.so.13"), "LD_LIBRARY_PATH": os.path.join(fakelib.FAKE, "lib"),
                     "FAKE_SAMPLING": sampling}
        report = self.capture(options=["--gpu-metrics-devices=all", "--gpu-metrics-frequency=500", *options], variables=variables, **more)
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
        self.assertEqual(report.rows("SELECT DISTINCT typeName, typeId & 65535 FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE 'SYS%'"), [("Counters", 0)])

    def test_own_counters(self):
        report, told = self.counters("--gpu-metrics-set=sm__cycles_active.avg,power")
        self.assertGreater(len(report.rows(VALUES, "sm__cycles_active.avg")), 10)
        self.assertEqual({name for name, in report.rows("SELECT DISTINCT metricName FROM TARGET_INFO_GPU_METRICS")}, {"sm__cycles_active.avg", "Power [W]"})
        self.assertEqual(set(told), {"nvml", "counters"})

    def test_counters_that_are_refused(self):
        for sampling, why in (("refuse=35", "NVreg_RestrictProfilingToAdminUsers=0"), ("refuse=7", "dcgmi profile --pause"), ("die", "tacho-gpu ended with status 9")):
            with self.subTest(sampling=sampling):
                report, told = self.counters(sampling=sampling, count=8)
                self.assertIn(why.lower(), self.output.stderr.lower())
                self.assertGreater(told["nvml"]["samples"], 0)
                self.assertIn(why.lower(), "".join(row["refusal"] or "" for row in self.sampling(report)).lower())
                self.assertEqual(fakelib.kernels(report), {"first": 1})

    def test_counters_in_a_capture_range(self):
        """A sample lies in the range as a whole, or is left out."""
        report, told = self.counters("--capture-range=cudaProfilerApi", "--capture-range-end=stop", how=["ranges"], count=3)
        times = [row[0] for row in report.rows(VALUES, "SYS Clock Frequency [MHz]")]
        (start, end), = report.rows("SELECT start, end FROM TACHO_RANGE")
        self.assertGreater(len(times), 10)
        self.assertTrue(start + 2_000_000 <= min(times) and max(times) <= end, (start, end, min(times), max(times)))
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
        self.assertRegex(done.stdout, r"(?m)^     gpm-tensor +Tensor Active \[Throughput %\]")
        done = subprocess.run([lib.TACHO, "profile", "--gpu-metrics-set=clock-sn", "true"], capture_output=True, text=True, env=environment)
        self.assertIn("did you mean 'clock-sm'?", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    lib.main()
