"""The options of profile that say when, what and how long to record, where the report goes, and what becomes of the program."""
import os
import signal
import socket
import subprocess
import time

import lib

CAPTURE = lib.program("capture")
MARK_TEXT = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"


def marks(report):
    if not report.has("NVTX_EVENTS"):
        return []
    return [text for text, in report.rows(f"SELECT {MARK_TEXT} FROM NVTX_EVENTS WHERE eventType = 34 ORDER BY start")]


class WhenToRecord(lib.Case):
    def ticks(self, *options, seconds="2", **more):
        self.before_ns = time.monotonic_ns()
        report = self.profile(CAPTURE, "ticks", seconds, options=["-t", "nvtx", *options], **more)
        return report, [int(text) for text in marks(report)]

    def test_delay(self):
        """Timers of the kernel may be some milliseconds early; the program can only start later than we look at the clock."""
        report, ticks = self.ticks("-y", "0.5")
        self.assertGreater(len(ticks), 0)
        self.assertGreaterEqual(min(ticks), self.before_ns + 490_000_000)
        self.assertEqual(report.value("SELECT cause FROM TACHO_RANGE"), "delay")

    def test_duration(self):
        report = self.until_recorded(0.5, lambda seconds: self.ticks("-d", str(seconds), seconds="600", status=0)[0], marks)
        start, end = report.rows("SELECT start, end FROM TACHO_RANGE")[0]
        self.assertGreater(end - start, 400_000_000)

    def test_delay_and_duration(self):
        lasts = lambda seconds: self.ticks("--delay=0.3", f"--duration={seconds}", "--kill", "sigkill", seconds="600", status=0)[0]
        ticks = marks(self.until_recorded(0.4, lasts, marks))
        self.assertGreaterEqual(int(ticks[0]), self.before_ns + 290_000_000)

    def test_duration_without_kill_lets_the_program_go_on(self):
        """tacho ends with the capture; the program, which outlives it, still writes its line."""
        lasts = lambda seconds: self.profile("sh", "-c", f"{CAPTURE} ticks {seconds + 2}; touch finished-{seconds}", stdin=subprocess.DEVNULL,
                                             options=["-t", "nvtx", "-d", str(seconds), "--kill", "none"])
        self.until_recorded(0.3, lasts, marks)
        lib.until(lambda: os.path.exists(self.path("finished-0.3")), "the program went on to its end")

    def test_end_of_the_program_does_not_end_the_capture(self):
        before = time.monotonic()
        self.profile("true", options=["-x", "false", "-d", "1"])
        self.assertGreaterEqual(time.monotonic() - before, 1)


class Ranges(lib.Case):
    def phases(self, *options, status=0):
        return marks(self.profile(CAPTURE, "phases", options=["-t", "nvtx", "-c", "nvtx", *options], stdin=subprocess.DEVNULL, status=status))

    def test_which_range(self):
        end = ("--capture-range-end", "repeat")
        self.assertEqual(self.phases("-p", "work@library", *end), ["in library's"])
        self.assertEqual(self.phases("-p", "work", *end), ["in default's", "in start and end"])
        self.assertEqual(self.phases("-p", "work@*", *end), ["in library's", "in default's", "in start and end"])
        self.assertEqual(self.phases("--nvtx-capture=a\\@b", *end), ["in a@b"])
        self.assertEqual(self.phases("-p", "nothing", *end), [])

    def test_end_none_goes_on(self):
        self.assertEqual(self.phases("-p", "a\\@b", "--capture-range-end", "none"), ["in a@b", "after"])

    def test_end_stop(self):
        """The first range alone, and the program goes on to its own end."""
        self.assertEqual(self.phases("-p", "work", "--capture-range-end", "stop"), ["in default's"])
        self.assertIn("done\n", self.output.stdout)

    def test_end_stop_shutdown(self):
        """The default: the program gets the kill signal when its range is over. stdin stays open, so it would wait for ever."""
        for options in ([], ["--capture-range-end", "stop-shutdown"], ["--stop-on-range-end=true"]):
            with self.subTest(options=options):
                read_end, write_end = os.pipe()
                self.addCleanup(os.close, write_end)
                report = self.profile(CAPTURE, "phases", options=["-t", "nvtx", "-c", "nvtx", "-p", "work", *options], stdin=read_end,
                                      status=0)
                os.close(read_end)
                self.assertEqual(marks(report), ["in default's"])

    def repeat(self, times, end, **more):
        return marks(self.profile(CAPTURE, "repeat", str(times), options=["-t", "nvtx", "-c", "nvtx", "-p", "work", "--capture-range-end", end], **more))

    def test_end_repeat(self):
        inside = [f"inside {i}" for i in range(6)]
        self.assertEqual(self.repeat(6, "repeat", stdin=subprocess.DEVNULL), inside)
        self.assertEqual(self.repeat(6, "repeat:4", stdin=subprocess.DEVNULL), inside[:4])
        self.assertEqual(self.report().value("SELECT count(*) FROM TACHO_RANGE"), 4)

    def test_end_repeat_shutdown(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        self.assertEqual(self.repeat(6, "repeat-shutdown:2", stdin=read_end, status=0), ["inside 0", "inside 1"])
        os.close(read_end)

    def test_end_comes_through_a_full_buffer(self):
        """Nobody empties the buffer of 4 MB while the program makes 20 MB of marks: the end of the range ends the capture all the same,
        and what is no event (the name of a thread, its end) has its own room."""
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        report = self.profile(CAPTURE, "crowded", "400000", stdin=read_end, status=0, timeout=lib.PATIENCE,
                              options=["-t", "nvtx", "-c", "nvtx", "-p", "work", "--capture-range-end", "stop-shutdown", "--buffer-limit", "4M"])
        os.close(read_end)
        self.assertGreater(report.count("nvtx", "lost", "buffer-full"), 0)
        self.assertEqual(report.produced("nvtx"), 400000 + 1)
        self.assertEqual(report.produced("notes"), 0, "none was lost")
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_RANGE WHERE cause = 'nvtx'"), 1)
        self.assertEqual(report.value("SELECT count(*) FROM ThreadNames JOIN StringIds ON id = nameId WHERE value = 'crowded'"), 1)

    def test_switches_left_by_a_jump(self):
        """Wherever a signal handler leaves tacho_start() and tacho_stop(), the collector knows of those that follow."""
        if subprocess.run([CAPTURE, "jumps"], timeout=lib.PATIENCE).returncode == 77:
            self.skipTest("ptrace is refused here")
        report = self.profile(CAPTURE, "jumps", options=["-t", "nvtx", "-s", "none", "-c", "api", "--capture-range-end", "repeat"])
        self.assertEqual(marks(report), ["after the jumps"])
        self.assertEqual(report.count("notes", "lost"), 0, "switches that the collector never read")
        ranges = report.value("SELECT count(*) FROM TACHO_RANGE r JOIN NVTX_EVENTS e ON e.eventType = 34 AND e.start BETWEEN r.start AND r.end")
        self.assertEqual(ranges, 1, "the mark lies in a range of the capture")

    def test_range_that_never_comes(self):
        report = self.profile("true", options=["-c", "nvtx", "-p", "nothing"])
        self.assertEqual(report.produced("nvtx") + report.produced("osrt"), 0)
        self.assertIn("nothing", self.output.stderr + self.output.stdout, "the user is told why the report is empty")


    def test_range_in_another_domain(self):
        """The note says where was looked, and what would have found the range."""
        self.assertEqual(self.phases("-p", "work@nowhere"), [])
        self.assertIn("no NVTX range named 'work' started in domain 'nowhere'", self.output.stderr)
        self.profile(CAPTURE, "domains", options=["-c", "nvtx", "-p", "in two"])
        self.assertIn("no NVTX range named 'in two' started in the default domain. A range of that name started in domain 'two': use -p 'in two@two'.", self.output.stderr)


class CudaProfilerApi(lib.Case):
    """With a library in the place of the CUDA runtime."""

    def build(self, name, source, *options):
        with open(self.path(name + ".c"), "w") as file:
            file.write(source)
        subprocess.run([os.environ["CC"], "-o", self.path(name), self.path(name + ".c"), *options], check=True)
        return self.path(name)

    def setUp(self):
        super().setUp()
        self.build("libcudart.so", """
            #include <stdio.h>
            int cudaProfilerStart(void) { puts("real start"); return 7; }
            int cudaProfilerStop(void) { puts("real stop"); return 8; }""", "-shared", "-fPIC")

    def program(self, calls):
        return self.build("program", """
            #include <dlfcn.h>
            #include <stdio.h>
            #include <unistd.h>
            int cudaProfilerStart(void); int cudaProfilerStop(void);
            static void work(const char *path) { FILE *file = fopen(path, "r"); if (file) fclose(file); }
            int main(void) { work("/before"); """ + calls + """ work("/after"); return 0; }""",
            "-L", self.folder, "-Wl,-rpath," + self.folder, "-l:libcudart.so")

    def test_range(self):
        """The calls reach the library, too, and its answers the program."""
        program = self.program('printf("%d\\n", cudaProfilerStart()); work("/inside"); printf("%d\\n", cudaProfilerStop());')
        report = self.profile(program, options=["-c", "cudaProfilerApi", "--capture-range-end=stop", "-t", "osrt", "--osrt-threshold=0"])
        self.assertEqual(self.output.stdout, "real start\n7\nreal stop\n8\n")
        self.assertEqual(report.rows("SELECT cause FROM TACHO_RANGE"), [("cudaProfilerApi",)])
        self.assertEqual(report.calls().get("fopen"), 1)

    def test_calls_mean_nothing_to_a_capture_that_does_not_ask(self):
        program = self.program('cudaProfilerStart(); work("/inside"); cudaProfilerStop();')
        report = self.profile(program, options=["-t", "osrt", "--osrt-threshold=0"])
        self.assertEqual(report.calls().get("fopen"), 3)

    def test_calls_that_cannot_be_seen(self):
        program = self.program('((int (*)(void))dlsym(dlopen("libcudart.so", RTLD_NOW), "cudaProfilerStart"))();')
        self.profile(program, options=["-c", "cudaProfilerApi"])
        self.assertIn("called neither cudaProfilerStart(), cuProfilerStart() nor tacho_start()", self.output.stderr)


class WhatToRecord(lib.Case):
    def ranges(self, *options, program=(CAPTURE, "domains")):
        report = self.profile(*program, options=options)
        return set(report.ranges()) if report.has("NVTX_EVENTS") else set()

    def test_domains(self):
        default, one, two, three = "in default", "in one", "in two", "in three, with a comma"
        self.assertEqual(self.ranges(), {default, one, two, three})
        self.assertEqual(self.ranges("--nvtx-domain-include", "one,two"), {one, two})
        self.assertEqual(self.ranges("--nvtx-domain-include=default"), {default})
        self.assertEqual(self.ranges("--nvtx-domain-include", "three\\, with a comma"), {three})
        self.assertEqual(self.ranges("--nvtx-domain-exclude", "default,one"), {two, three})
        self.assertEqual(self.ranges("--nvtx-domain-exclude=two"), {default, one, three})

    def test_sources(self):
        self.assertEqual(self.ranges("-t", "osrt"), set())
        report = self.profile(CAPTURE, "domains", options=["--trace=nvtx,"])
        self.assertEqual(report.produced("osrt"), 0)
        self.assertEqual(report.produced("nvtx"), 4)
        report = self.profile(CAPTURE, "domains", options=["-t", "none"])
        self.assertEqual(report.produced("osrt") + report.produced("nvtx"), 0)

    def test_threshold(self):
        """Those that are long enough, and no other. The program itself says how long its sleeps took: on a busy machine the short one is long, too."""
        for threshold, asked_for in ((0, 2), (1000, 2), (25_000_000, 1), (100_000_000_000, 0)):
            found = self.profile(CAPTURE, "sleeps", options=["-t", "osrt", "--osrt-threshold", str(threshold)]).calls().get("nanosleep", 0)
            took = [int(ns) for ns in self.output.stdout.split()]
            self.assertIn(found, range(asked_for, sum(ns >= threshold for ns in took) + 1), (threshold, took))

    def test_trace_fork_before_exec(self):
        fork = (CAPTURE, "fork")
        self.assertEqual(self.ranges("--trace-fork-before-exec=true", program=fork), {"forked", "before exec", "executed", "parent"})
        self.assertEqual(self.ranges("--trace-fork-before-exec=false", program=fork), {"executed", "parent"})

    def test_no_preload_leaves_nvtx(self):
        report = self.profile(CAPTURE, "domains", options=["--preload=no"])
        self.assertEqual(len(report.ranges()), 4)
        self.assertEqual(report.produced("osrt"), 0)

    def test_no_preload_shows_in_no_environment(self):
        self.profile("sh", "-c", 'echo "[$LD_PRELOAD]"', options=["--preload=no"], env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
        self.assertEqual(self.output.stdout.splitlines()[0], "[]")


class TheProgram(lib.Case):
    def stdout(self, *arguments, **more):
        self.profile(*arguments, **more)
        return self.output.stdout

    def test_environment(self):
        show = ("sh", "-c", 'echo "$A|$B|$C|$HIDDEN"')
        environment = dict(os.environ, HIDDEN="inherited", A="old")
        self.assertIn("1|two words|x,y|inherited\n", self.stdout(*show, options=["-e", "A=1,B=two words", "--env-var", "C=x\\,y"], env=environment))
        self.assertIn("1|||\n", self.stdout(*show, options=["-n", "false", "-e", "A=1"], env=environment))
        self.assertIn("old|||inherited\n", self.stdout(*show, options=["-n", "true"], env=environment))

    def test_hidden_output_is_stored(self):
        report = self.profile("sh", "-c", "echo to 'std'out; echo to 'std'err >&2; exit 5", options=["-w", "false"], status=5)
        self.assertNotIn("to stdout", self.output.stdout + self.output.stderr)
        self.assertNotIn("to stderr", self.output.stdout + self.output.stderr)
        contents = [content for content, in report.rows("SELECT value FROM ProcessStreams JOIN StringIds ON id = contentId ORDER BY value")]
        self.assertEqual(contents, ["to stderr\n", "to stdout\n"])

    def test_much_hidden_output(self):
        """More than any pipe holds; nobody blocks."""
        self.profile("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x", options=["-w", "false", "-t", "none"])
        report = self.report()
        self.assertGreater(report.value("SELECT sum(length(value)) FROM ProcessStreams JOIN StringIds ON id = contentId"), 0)

    def test_wait_primary_and_all(self):
        """A child that the program leaves behind ends when the test opens its FIFO."""
        for wait in ("primary", "all"):
            with self.subTest(wait=wait):
                fifo = self.path("fifo-" + wait)
                os.mkfifo(fifo)
                tacho = subprocess.Popen(self.command(lib.program("signals"), "orphan", fifo, output=wait + ".tacho",
                                                      options=["-t", "nvtx", "--wait", wait, "--kill", "none"]),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.addCleanup(tacho.kill)
                if wait == "primary":
                    self.assertEqual(tacho.wait(timeout=lib.PATIENCE), 0)
                with open(fifo, "w") as file:
                    file.write("x")
                if wait == "all":
                    self.assertEqual(tacho.wait(timeout=lib.PATIENCE), 0)
                ranges = self.report(wait + ".tacho").ranges()
                self.assertEqual(ranges, {"parent": 1} if wait == "primary" else {"parent": 1, "late work": 1})

    def test_kill_after_the_duration(self):
        """Which signal the program gets when the capture is over before it. The duration begins with the range, when the traps are set.
        That tacho ended the program is said, and is no failure."""
        program = ("sh", "-c", f"trap 'touch got-term; exit 3' TERM; trap 'touch got-usr1; exit 4' USR1; {CAPTURE} range work; while :; do sleep 0.1; done")
        for kill, told, trace in (("sigterm", "SIGTERM", "got-term"), ("SIGUSR1", "SIGUSR1", "got-usr1"), ("10", "SIGUSR1", "got-usr1"), ("sigkill", "SIGKILL", None)):
            with self.subTest(kill=kill):
                self.profile(*program, options=["-c", "nvtx", "-p", "work", "--capture-range-end=none", "-d", "0.1", "--kill", kill])
                self.assertRegex(self.output.stderr, rf"sh was ended by tacho with {told} \(--kill\) after .*\(--duration\)")
                left = [name for name in ("got-term", "got-usr1") if os.path.exists(self.path(name))]
                self.assertEqual(left, [trace] if trace else [])
                for name in left:
                    os.unlink(self.path(name))

    def test_what_runs_on_is_named(self):
        """The capture ends with the duration, the program does not. It waits for its stdin, which we hold. The duration begins with the range."""
        options = ["-c", "nvtx", "-p", "work", "--capture-range-end=none", "-d", "0.1", "--kill", "none"]
        tacho = subprocess.Popen(self.command(CAPTURE, "repeat", "1", options=options), stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        told = ""
        while "next:" not in told:
            told += tacho.stderr.readline()
        tacho.communicate()
        self.assertEqual(tacho.returncode, 0)
        pid = self.report().value("SELECT (globalPid >> 24) & 0xFFFFFF FROM TACHO_PROCESS")
        self.assertIn(f"capture (pid {pid})", told)
        self.assertRegex(told, r"capture still runs; the capture ended after .*\(--duration\)")

    def test_who_is_waited_for_is_named(self):
        """The program leaves a child that waits for us; that is said while it lasts."""
        tacho = subprocess.Popen(self.command("sh", "-c", "exec 3<&0; cat <&3 >/dev/null & exit 0"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertRegex(tacho.stderr.readline(), r"waiting for 1 process: (cat|sh) \(pid \d+\)\. Press Ctrl-C to end the capture")
        tacho.communicate()
        self.assertEqual(tacho.returncode, 0)

    def test_value_of_a_variable_is_not_stored(self):
        report = self.profile("true", options=["-e", "SECRET=x,OTHER=a b"])
        line = report.value("SELECT value FROM META_DATA_CAPTURE WHERE name = 'COMMAND_LINE'")
        self.assertIn("SECRET=***,OTHER=***", line)
        self.assertNotIn("a b", line)

    def test_one_thread_uses_no_more_cpu_time_than_there_is(self):
        """Wall and CPU time of every program are counted from the same moment, through fork and exec."""
        report = self.profile("sh", "-c", "i=0; while [ $i -lt 10 ]; do /bin/true; (exec /bin/true); i=$((i + 1)); done")
        rows = report.rows("SELECT globalPid, image, max(end - start), max(cpuNs) FROM TACHO_PROCESS WHERE end IS NOT NULL GROUP BY globalPid, image")
        self.assertGreaterEqual(len(rows), 21)
        self.assertEqual([row for row in rows if row[3] is not None and row[3] > row[2] + 1_000_000], [])

    def test_cost_of_starting_is_told(self):
        """A shell that starts programs and records next to nothing."""
        self.profile("sh", "-c", "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i + 1)); done", options=["-t", "nvtx"])
        self.assertRegex(self.output.stderr, r"recording took about \d.*, most of it for the start of \d+ processes")

    def test_command_file(self):
        with open(self.path("commands"), "w") as file:
            file.write("-t nvtx\n--nvtx-domain-include=one\n-e \"A=two words\"\n")
        report = self.profile("sh", "-c", f'echo "$A"; exec {CAPTURE} domains', options=["--command-file", self.path("commands")])
        self.assertEqual(set(report.ranges()), {"in one"})
        self.assertIn("two words\n", self.output.stdout)


class WhereTheReportGoes(lib.Case):
    def report_called(self, template, **more):
        done = subprocess.run([lib.TACHO, "profile", "-t", "nvtx", *(["-o", template] if template else []), CAPTURE, "range", "r"],
                              cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        new = [name for name in os.listdir(self.folder) if name not in self.seen]
        self.seen += new
        self.assertEqual(len(new), 1, new)
        return new[0]

    def test_templates(self):
        self.seen = []
        self.assertEqual(self.report_called("plain"), "plain.tacho")
        self.assertEqual(self.report_called("a.tacho"), "a.tacho")
        self.assertEqual(self.report_called("%h"), socket.gethostname() + ".tacho")
        self.assertEqual(self.report_called("q-%q{RANK}", env=dict(os.environ, RANK="7")), "q-7.tacho")
        self.assertEqual(self.report_called("100%%"), "100%.tacho")
        self.assertRegex(self.report_called("pid%p"), r"^pid\d+\.tacho$")
        numbered = [self.report_called("n%n") for _ in range(2)]
        self.assertEqual(numbered, ["n1.tacho", "n2.tacho"])
        self.assertEqual([self.report_called(None) for _ in range(2)], ["report1.tacho", "report2.tacho"])

    def test_quiet_tells_only_a_name_that_the_user_did_not_give(self):
        for options, told in (([], "report1"), ([], "report2"), (["-o", "plain"], None), (["-o", "a.tacho"], None), (["-o", "n%n"], "n1"),
                              (["-o", "./"], "./report3"), (["-o", "b.nsys-rep"], "b")):
            done = subprocess.run([lib.TACHO, "profile", "-q", "-t", "nvtx", *options, "true"], cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", f"tacho: report: {told}.tacho\n" if told else ""), options)

    def test_number_of_the_process_is_the_programs(self):
        self.seen = []
        name = self.report_called("%p")
        report = lib.Report(self.path(name))
        pids = report.rows("SELECT DISTINCT (globalPid >> 24) & 0xFFFFFF FROM TACHO_PROCESS")
        self.assertEqual(pids, [(int(name.removesuffix(".tacho")),)])

    def test_template_with_a_variable_that_is_not_set(self):
        done = subprocess.run([lib.TACHO, "profile", "-o", "x-%q{NO_SUCH_VARIABLE}", "touch", "started"], cwd=self.folder, capture_output=True, text=True)
        self.assertIn("NO_SUCH_VARIABLE", done.stderr)

    def test_export_and_stats_at_the_end(self):
        self.profile(CAPTURE, "range", "some range", options=["-t", "nvtx", "--stats=true", "--export=sqlite"])
        self.assertIn("some range", self.output.stdout + self.output.stderr)
        self.assertTrue(os.path.exists(self.path("report.sqlite")), os.listdir(self.folder))

    def test_two_captures_at_once(self):
        both = []
        for name in ("first", "second"):
            both.append(subprocess.Popen(self.command(CAPTURE, "phases", output=name + ".tacho", options=["-t", "nvtx"]),
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        for tacho in both:
            self.assertEqual(tacho.stdout.readline(), "done\n")  # both are alive now, with their captures on
        for tacho in both:
            tacho.communicate(timeout=lib.PATIENCE)
            self.assertEqual(tacho.returncode, 0)
        for name in ("first", "second"):
            report = self.report(name + ".tacho")
            self.assertEqual(len(marks(report)), 9)
            self.assertEqual(report.value("SELECT count(DISTINCT globalPid) FROM TACHO_PROCESS"), 1)

    def test_capture_within_a_capture(self):
        """The inner program belongs to the inner capture; the outer one sees tacho itself."""
        self.profile(lib.TACHO, "profile", "-t", "nvtx", "-o", self.path("inner.tacho"), CAPTURE, "range", "innermost", options=["-t", "nvtx"])
        self.assertEqual(self.report("inner.tacho").ranges(), {"innermost": 1})


if __name__ == "__main__":
    lib.main()
