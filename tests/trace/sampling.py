"""CPU samples and scheduling of a program that knows itself what it did: by perf events, and by timers where a seccomp filter refuses
them, as containers do."""
import csv
import io
import math
import os
import resource
import subprocess

import lib

SAMPLING = lib.program("sampling")
PARTS = {"burn_sixty": 0.6, "burn_thirty": 0.3, "burn_ten": 0.1}
SECONDS = 0.6
MILLISECOND = 1000000
WITHOUT_RIGHTS = [*lib.AS_NOBODY, "--bounding-set", "-all", "--inh-caps", "-all"]
TICK = 1000 * MILLISECOND // os.sysconf("SC_CLK_TCK")


BURN_AND_EXEC = r"""
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static long long now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
__attribute__((noinline)) void BURN(long long ns)
{
    volatile unsigned long sum = 0;
    for (long long end = now(CLOCK_PROCESS_CPUTIME_ID) + ns; now(CLOCK_PROCESS_CPUTIME_ID) < end;)
        for (int i = 0; i < 10000; i++)
            sum += i;
}
int main(int argc, char **argv)
{
    BURN(150000000);
    if (argc == 1)
        return 0;
    printf("%lld\n", now(CLOCK_MONOTONIC));
    fflush(stdout);
    execv(argv[1], argv + 1);
}
"""


def perf_is_allowed():
    """As the report says, not as we would guess."""
    done = subprocess.run([lib.TACHO, "doctor"], capture_output=True, text=True)
    return "perf events work" in " ".join(done.stdout.split())


def taken_by_host():
    """Time that a hypervisor gave to others so far, ns, as far as it says; a thread that had a CPU then was running and did not run."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) * TICK


class Sampled(lib.Case):
    samples = True

    def sample(self, *arguments, options=(), **more):
        # Samples are what is looked at, and a stack is known by its functions.
        before = taken_by_host()
        report = self.profile(SAMPLING, *(arguments or (str(SECONDS),)), options=["-t", "none", *options], **more)
        self.not_ours = taken_by_host() - before + os.cpu_count() * TICK if before else 0
        self.threads = {}
        for line in self.output.stdout.splitlines():
            name, tid, cpu, waited = line.split()
            self.threads[name] = (int(tid), int(cpu), int(waited))
        self.assertEqual(sorted(self.threads), ["burner", "holder", "sleeper", "waiter"])
        return report

    def how(self, report):
        return dict(zip(("method", "switches", "kernel"), report.rows("SELECT method, switches, kernelMode FROM TACHO_SAMPLING")[0]))

    def stacks(self, report):
        """tid, weight and the functions of each sample, innermost first."""
        samples = {id: (tid, weight, []) for id, tid, weight in
                   report.rows("SELECT id, globalTid & 0xffffff, cpuCycles FROM COMPOSITE_EVENTS")}
        for id, name in report.rows("SELECT c.id, value FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol ORDER BY c.id, stackDepth"):
            samples[id][2].append(name)
        return list(samples.values())

    def check_shares(self, report):
        """Each function has its share, within four standard deviations of so many samples."""
        tid = self.threads["burner"][0]
        stacks = [(weight, names) for thread, weight, names in self.stacks(report) if thread == tid]
        total = sum(weight for weight, _ in stacks)
        self.assertGreater(len(stacks), 50)
        for function, share in PARTS.items():
            seen = sum(weight for weight, names in stacks if function in names) / total
            self.assertAlmostEqual(seen, share, delta=4 * math.sqrt(share * (1 - share) / len(stacks)) + 0.01, msg=f"{function} of {len(stacks)}")
        whole = sum(1 for _, names in stacks if "burner" in names)
        self.assertGreaterEqual(whole, 0.98 * len(stacks), "stacks that reach the thread's function")

    def check_total(self, report):
        """All samples of a thread together stand for the time that it ran, but for what came after its last one: on a busy machine a
        thread that shares its CPU meets a tick of the clock seldom, and time that a hypervisor takes away counts for one clock and not for
        the other."""
        for name in ("burner", "holder"):
            tid, cpu, _ = self.threads[name]
            weights = [weight for thread, weight, _ in self.stacks(report) if thread == tid]
            self.assertAlmostEqual(sum(weights), cpu, delta=0.2 * cpu + 10 * MILLISECOND + 2 * max(weights) + self.not_ours, msg=name)

    def sched_sum(self):
        done = subprocess.run([lib.TACHO, "stats", "-q", "-r", "sched_sum", "--format", "csv", self.path("report.tacho")],
                              capture_output=True, text=True, check=True)
        return {int(row["Tid"]): row for row in csv.DictReader(io.StringIO(done.stdout))}

    def check_sums(self):
        """Running, runnable and blocked are wall time; running is what the thread itself says."""
        table = self.sched_sum()
        for name, (tid, cpu, waited) in self.threads.items():
            row = table[tid]
            running, runnable, blocked = (int(row[column]) for column in ("Running (ns)", "Runnable (ns)", "Blocked (ns)"))
            wall = int(row["Wall Time (ns)"])
            self.assertAlmostEqual(running + runnable + blocked, wall, delta=wall / 100, msg=name)
            self.assertAlmostEqual(running, cpu, delta=cpu / 100 + 3 * MILLISECOND + self.not_ours, msg=name)
            self.assertGreaterEqual(runnable + blocked, 0.99 * waited - MILLISECOND - self.not_ours, name)
        return table


class ByPerf(Sampled):
    def setUp(self):
        super().setUp()
        if not perf_is_allowed():
            self.skipTest("perf events are refused here")

    def test_shares_and_totals(self):
        report = self.sample()
        self.assertEqual(self.how(report)["method"], "perf")
        self.check_shares(report)
        if report.value("SELECT event FROM TACHO_SAMPLING") == "cpu-clock":
            self.check_total(report)
        self.assertEqual(report.count("samples", "recorded"), report.value("SELECT count(*) FROM COMPOSITE_EVENTS"))
        self.assertEqual(report.count("samples", "lost"), 0)

    def test_scheduling(self):
        report = self.sample()
        self.assertEqual(self.how(report)["switches"], "perf")
        self.check_sums()
        tid = self.threads["sleeper"][0]
        ins, outs = (report.value("SELECT count(*) FROM SCHED_EVENTS WHERE isSchedIn = ? AND globalTid & 0xffffff = ?", is_in, tid) for is_in in (1, 0))
        self.assertEqual(ins, outs)
        self.assertEqual(report.value("SELECT threadState FROM SCHED_EVENTS WHERE globalTid & 0xffffff = ? ORDER BY start DESC LIMIT 1", tid), 5)

    def test_frame_pointers_and_addresses(self):
        report = self.sample(options=["-b", "fp", "--sampling-frequency=500", "--samples-per-backtrace=2"])
        self.assertEqual(report.rows("SELECT backtrace, frequency FROM TACHO_SAMPLING"), [("fp", 500)])
        self.check_total(report)
        # Half of them have an address alone; its function is known all the same.
        inner = [names[0] for tid, _, names in self.stacks(report) if tid == self.threads["burner"][0]]
        burning = sum(1 for name in inner if name in PARTS)
        self.assertGreater(burning, 0.8 * len(inner))

    def test_a_program_too_short_for_samples(self):
        """The last lines say how few there are."""
        self.profile("true", options=["-t", "none"])
        self.assertRegex(self.output.stderr, r"events: (.*; )?samples \d+.*; none lost")
        self.assertRegex(self.output.stderr, r"too few samples \(\d+\)|samples 0")
        self.profile("true", options=["-t", "none", "-s", "none", "--python-sampling=true"])
        self.assertIn("events: none\n", self.output.stderr)

    def test_none(self):
        report = self.sample(options=["-s", "none"])
        self.assertFalse(report.has("COMPOSITE_EVENTS"))
        self.assertFalse(report.has("SCHED_EVENTS"))
        report = self.sample(options=["-s", "none", "--cpuctxsw=process-tree"])
        self.assertFalse(report.has("COMPOSITE_EVENTS"))
        self.check_sums()

    def test_how_much_of_a_stack_is_copied(self):
        """As much as a ring has room for 32 times: less where less memory may be locked; what was asked for in any case."""
        program, = self.open_to_all_users(SAMPLING)
        few = [*WITHOUT_RIGHTS, "sh", "-c", 'ulimit -l 0; exec "$@"', "sh"]
        for before, options, least, most in (([], [], 65528, 65528), ([], ["--backtrace-stack-size=8192"], 8192, 8192), (few, [], 2048, 32768)):
            command = [*before, *self.command(program, "0.1", options=["-t", "none", *options])]
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = self.report()
            if self.how(report)["method"] == "perf":
                copied = report.value("SELECT stackBytes FROM TACHO_SAMPLING")
                self.assertTrue(least <= copied <= most, (copied, command))

    def test_a_program_that_becomes_another(self):
        """Both lie at the same addresses. Samples of the first are still in the ring when the second begins, and keep their names."""
        source, first, second = self.path("burn.c"), self.path("first"), self.path("second")
        with open(source, "w") as file:
            file.write(BURN_AND_EXEC)
        for name, path in (("burn_first", first), ("burn_second", second)):
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-no-pie", f"-DBURN={name}", "-o", path, source], check=True)
        report = self.profile(first, second, options=["-t", "none"])
        began = int(self.output.stdout) + report.value("SELECT timestamp - monotonicNs FROM TACHO_CLOCK")
        samples = report.rows("""SELECT value, start >= ? FROM COMPOSITE_EVENTS e JOIN SAMPLING_CALLCHAINS c ON c.id = e.id
                                 JOIN StringIds s ON s.id = symbol WHERE value LIKE 'burn_%'""", began)
        for name, is_second in (("burn_first", 0), ("burn_second", 1)):
            self.assertGreater(samples.count((name, is_second)), 5)  # 150 on a CPU that is not shared
            self.assertEqual(samples.count((name, 1 - is_second)), 0, name)

    def test_processes_without_an_agent(self):
        """The kernel follows what no library is loaded into."""
        report = self.profile("sh", "-c", f"env -u LD_PRELOAD {SAMPLING} 0.2 >{self.path('out')}; exec {SAMPLING} 0.1", options=["-t", "none"])
        with open(self.path("out")) as file:
            tids = {int(line.split()[1]) for line in file}
        names = {names[0] for tid, _, names in self.stacks(report) if tid in tids}
        self.assertIn("burn_sixty", names)

    def test_a_capture_that_outlives_its_program(self):
        """Events whose tasks have all ended are ready for ever: who listened on would use up a CPU, of which there are three seconds here."""
        self.profile("true", options=["-t", "none", "--resolve-symbols=false", "-x", "false", "-d", "6"],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (3, 3)))

    def test_few_descriptors(self):
        """What is left goes to the capture, not to perf events."""
        report = self.sample("0.2", options=["-s", "process-tree"], timeout=lib.PATIENCE,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)))
        self.assertEqual(self.how(report)["method"], "timer")
        self.assertIn("ulimit -n", self.output.stderr)

    def test_no_descriptors(self):
        """Not even one to look at the program with: its end is noticed all the same, or it is not started."""
        for limit in range(13, 18):
            done = self.run_tacho("sh", "-c", "ulimit -n", timeout=lib.PATIENCE,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            self.assertIn((done.returncode, done.stdout), [(0, f"{limit}\n"), (1, "")], done.stderr)

    def test_full_rings(self):
        """While the collector stands still the kernel has no room: it counts records, of which some are no samples."""
        report = self.profile("sh", "-c", f"kill -STOP $PPID; {SAMPLING} 0.6 >&2; kill -CONT $PPID; exec {SAMPLING} 0.2",
                              options=["-t", "none"], preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        self.assertGreater(report.count("perf records", "lost"), 0)
        self.assertEqual(report.count("samples", "lost"), 0)
        lost, samples, switches = report.count("perf records", "lost"), report.count("samples", "recorded"), report.count("switches", "recorded")
        bounds = ", ".join(f"{kind} counts up to {-(-1000 * lost // (lost + count)) / 10:.1f} % low"  # rounded up, as if all were of this kind
                           for kind, count in (("sample", samples), ("switch", switches)) if count)
        self.assertIn(f"INCOMPLETE: {lost:,} of {lost + samples + switches:,} perf records lost (ring full): {bounds}".lower(), self.output.stderr.lower())
        tids = {int(line.split()[1]) for line in self.output.stdout.splitlines()}
        self.assertIn("burn_sixty", {names[0] for tid, _, names in self.stacks(report) if tid in tids})

    def test_a_user_without_rights(self):
        program, = self.open_to_all_users(SAMPLING)
        command = [*WITHOUT_RIGHTS, *self.command(program, "0.3", options=["-t", "none"])]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            level = int(file.read())
        self.assertEqual(self.how(report)["method"], "perf" if level <= 2 else "timer")
        if level == 2:
            self.assertEqual(self.how(report)["kernel"], 0)
            self.assertEqual(report.value("SELECT count(*) FROM SAMPLING_CALLCHAINS WHERE kernelMode = 1")
                             if "kernelMode" in [row[1] for row in report.rows("PRAGMA table_info(SAMPLING_CALLCHAINS)")] else 0, 0)


class ByTimer(Sampled):
    def sample(self, *arguments, **more):
        return super().sample(*arguments, preexec_fn=lib.refuse_perf_events, **more)

    def test_shares_and_totals(self):
        report = self.sample("1.2")
        self.assertEqual(self.how(report), {"method": "timer", "switches": "schedstat", "kernel": 0})
        self.assertIn("perf events", report.value("SELECT refusal FROM TACHO_SAMPLING"))
        self.assertNotIn("note:", self.output.stderr, "a default that cannot be had is no warning")
        self.check_shares(report)
        self.check_total(report)
        self.assertEqual(report.count("samples", "recorded"), report.value("SELECT count(*) FROM COMPOSITE_EVENTS"))

    def test_scheduling(self):
        self.assertFalse(self.sample().has("SCHED_EVENTS"))
        self.check_sums()

    def test_who_asks_is_told(self):
        self.sample(options=["-s", "process-tree"])
        self.assertIn("the kernel denies perf events", self.output.stderr)

    def test_a_program_that_uses_the_signal(self):
        report = self.sample("0.2", "signal")
        text = "".join(text for text, in report.rows("SELECT text FROM DIAGNOSTIC_EVENT"))
        taken = report.value("SELECT count(*) FROM COMPOSITE_EVENTS") if report.has("COMPOSITE_EVENTS") else 0
        self.assertIn("SIGURG", text)
        self.assertLess(taken, 10)

    def test_a_program_that_blocks_the_signal(self):
        report = self.sample("0.4", "block")
        recorded = report.value("SELECT coalesce(sum(cpuCycles), 0) FROM COMPOSITE_EVENTS") if report.has("COMPOSITE_EVENTS") else 0
        self.assertLess(recorded, 0.2e9)  # of 0.5 s; the rest is never delivered, or counted as lost

    def test_children_and_programs(self):
        report = self.profile("sh", "-c", f"{SAMPLING} 0.3; exec {SAMPLING} 0.3", options=["-t", "none"], preexec_fn=lib.refuse_perf_events)
        by_process = {}
        for tid, weight, names in self.stacks(report):
            by_process.setdefault("burn_sixty" in names, []).append(weight)
        self.assertGreater(len(by_process.get(True, [])), 20)


if __name__ == "__main__":
    lib.main()
