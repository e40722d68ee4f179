"""Counters of the kernel, against what it tells the program itself; and what is refused, with the reason."""
import json
import os
import subprocess
import sys

import lib

PROGRAM = """
import json, mmap, os, resource, time
for i in range(20):
    memory = mmap.mmap(-1, 4096 * 250)
    for page in range(250):
        memory[4096 * page] = 1
    time.sleep(0.002)
if os.fork() == 0:
    for page in range(250):
        memory[4096 * page] = 2
    os._exit(0)
os.wait()
own, child = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"page-faults": own.ru_minflt + own.ru_majflt + child.ru_minflt + child.ru_majflt,
                  "context-switches": own.ru_nvcsw + own.ru_nivcsw + child.ru_nvcsw + child.ru_nivcsw,
                  "task-clock": 1e9 * (own.ru_utime + own.ru_stime + child.ru_utime + child.ru_stime)}))
"""
SUMS = """SELECT event_name, sum(value), count(DISTINCT start) FROM PMU_EVENT_COUNTERS v JOIN PMU_EVENT_REQUESTS r ON r.id = v.idx
          JOIN PMU_EVENTS e ON e.counter_id = v.id GROUP BY event_name"""


class Counters(lib.Case):
    samples = False

    def count(self, *options, **more):
        return self.profile(os.path.realpath(sys.executable), "-c", PROGRAM, options=["-t", "none", "-s", "none", *options], **more)

    def test_sums(self):
        """What was counted is what getrusage() says, children included, and a little more that comes after it."""
        report = self.count("--os-events=page-faults,3,task-clock", "--event-sampling-interval=5")
        counted = {name: (value, times) for name, value, times in report.rows(SUMS)}
        if "context-switches" not in counted:
            self.skipTest("the kernel's part is not counted here: " + self.output.stderr)
        truth = json.loads(self.output.stdout)
        for name, value in truth.items():
            self.assertGreaterEqual(counted[name][0], 0.95 * value - 20, name)
            self.assertLessEqual(counted[name][0], 1.2 * value + 300 + 2e7 * (name == "task-clock"), name)
        self.assertGreater(counted["page-faults"][1], 5, "readings with page faults in them")
        self.assertEqual(report.value("SELECT count(*) FROM PMU_EVENTS WHERE end <= start"), 0)
        shown = subprocess.run([lib.TACHO, "stats", "-q", "-r", "cpu_event_sum", "--format", "csv", report.path], capture_output=True, text=True, check=True)
        self.assertIn(f"{counted['page-faults'][0]},", shown.stdout)

    def test_several_cpus(self):
        """A program that is on two CPUs at once is not counted twice."""
        cpus = sorted(os.sched_getaffinity(0))[:2]
        if len(cpus) < 2:
            self.skipTest("one CPU")
        program = f"""
import mmap, os, resource
for cpu in {cpus}:
    if os.fork() == 0:
        os.sched_setaffinity(0, [cpu])
        for i in range(40):
            memory = mmap.mmap(-1, 4096 * 250)
            for page in range(250):
                memory[4096 * page] = 1
        os._exit(0)
for cpu in {cpus}:
    os.wait()
print(sum(resource.getrusage(who).ru_minflt for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""
        report = self.profile(os.path.realpath(sys.executable), "-c", program, options=["-t", "none", "-s", "none", "--os-events=page-faults"])
        counted, truth = {name: value for name, value, _ in report.rows(SUMS)}["page-faults"], int(self.output.stdout)
        self.assertGreaterEqual(counted, truth - 500)
        self.assertLessEqual(counted, 1.2 * truth)  # what comes after the last line counts too

    def test_what_is_not_asked_for(self):
        report = self.count()
        self.assertFalse(report.has("PMU_EVENTS"))
        report = self.count("--os-events=none")
        self.assertFalse(report.has("PMU_EVENTS"))

    def test_refused(self):
        """Where there are no perf events the program runs on, and the reason is told."""
        report = self.count("--os-events=page-faults", preexec_fn=lib.refuse_perf_events)
        self.assertFalse(report.has("PMU_EVENTS"))
        self.assertIn("page-faults is not counted: the kernel denies perf_event_open", self.output.stderr)

    def test_help(self):
        done = subprocess.run([lib.TACHO, "profile", "--os-events=help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ +2  page-faults ")
        self.assertNotIn("cycles", done.stdout)
        done = subprocess.run([lib.TACHO, "profile", "--cpu-core-events=help", "--cpu-core-metrics=help"], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"(?m)^ +1  instructions ")
        self.assertRegex(done.stdout, r"(?m)^ +0  ipc +instructions / cycles")


if __name__ == "__main__":
    lib.main()
