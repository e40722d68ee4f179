"""tacho.profile without PyTorch: which steps are recorded, alone and under `tacho profile`, and that windows do not see each other."""
import os
import re
import subprocess

import lib
import tacho

SCHEDULED = """
import tacho, sys
seen = []
def ready(prof):
    seen.append(prof.step_num)
    start, end = prof._window.span()
    print(*[row["text"] for row in tacho.load(prof.report()).sql(
        f"SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS text FROM NVTX_EVENTS "
        f"WHERE eventType = 59 AND start >= {start} AND start <= {end} ORDER BY start")])
with tacho.profile(schedule=tacho.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
    for i in range(12):
        with tacho.range(f"work {i}"):
            pass
        prof.step()
print(seen, prof.step_num)
"""
# Steps of two cycles of four, behind the one that is skipped: of each the last two are recorded. record_function() is a range here.
EXPECTED = """ProfilerStep#3 work 3 ProfilerStep#4 work 4
ProfilerStep#7 work 7 ProfilerStep#8 work 8
[5, 9] 12
"""


class Schedules(lib.Case):
    """Against the numbers of torch's documentation and reference."""

    def actions(self, count=12, **schedule):
        action = tacho.schedule(**schedule)
        return "".join("-wrS"[action(step).value] for step in range(count))

    def test_schedules(self):
        self.assertEqual(self.actions(wait=1, warmup=1, active=2, repeat=1), "-wrS--------")
        self.assertEqual(self.actions(wait=1, warmup=1, active=2), "-wrS-wrS-wrS")
        self.assertEqual(self.actions(skip_first=2, wait=0, warmup=0, active=1, repeat=3), "--SSS-------")
        self.assertEqual(self.actions(wait=2, warmup=1, active=1, repeat=2, skip_first_wait=1), "wS--wS------")

    def test_bad(self):
        for bad in ({"wait": -1, "warmup": 0, "active": 1}, {"wait": 0, "warmup": 0, "active": 0}):
            with self.assertRaises(ValueError):
                tacho.schedule(**bad)


class Alone(lib.Case):
    def test_schedule(self):
        self.assertEqual(self.run_text(SCHEDULED), EXPECTED)

    def test_nothing_stays(self):
        """The report goes with the process, the collector too; one that was asked for stays, whole."""
        out = self.run_text("import tacho\nwith tacho.profile() as p: tacho.mark('x')\nprint(p.report())")
        self.assertFalse(os.path.exists(out.strip()))
        self.run_text("import tacho\nwith tacho.profile(output='kept.tacho'): tacho.mark('x')")
        self.assertIn("complete", subprocess.run([lib.TACHO, "info", self.path("kept.tacho")], capture_output=True, text=True).stdout)

    def test_nothing_stays_of_a_killed_one(self):
        """The collector clears up then."""
        os.mkdir(self.path("temporary"))
        self.run_text("import tacho, os\nwith tacho.profile(): tacho.mark('x')\nassert os.listdir('temporary')\nos.kill(os.getpid(), 15)",
                      status=-15, TMPDIR=self.path("temporary"))
        lib.trace.until(lambda: not os.listdir(self.path("temporary")), "the temporary folder is gone")

    def test_killed(self):
        """What was recorded before a SIGKILL is in the report."""
        self.run_text("import tacho, os\np = tacho.profile(output='kept.tacho')\np.start()\ntacho.mark('before')\nos.kill(os.getpid(), 9)", status=-9)
        report = self.path("kept.tacho")
        done = lambda: "complete" in subprocess.run([lib.TACHO, "info", report], capture_output=True, text=True).stdout
        lib.trace.until(done, "the collector has seen the end and closed the report")
        with tacho.load(report) as kept:
            self.assertEqual(list(kept["NVTX_EVENTS"]["text"]), ["before"])

    def test_children(self):
        """A forked child is recorded too, and its end is not the capture's."""
        out = self.run_text("""
import os, tacho
with tacho.profile() as p:
    child = os.fork()
    if child == 0:
        tacho.mark("child")
        raise SystemExit
    os.waitpid(child, 0)
    tacho.mark("parent")
print(sorted(tacho.load(p.report())["NVTX_EVENTS"]["text"]))""")
        self.assertEqual(out, "['child', 'parent']\n")

    def test_lock_that_a_thread_of_the_parent_holds(self):
        """That thread is not in the child, which can begin a window all the same."""
        self.run_text("""
import os, tacho
from tacho import _capture
with _capture._lock:
    child = os.fork()
    if child == 0:
        os._exit(0 if _capture._lock.acquire(blocking=False) else 1)
assert os.waitpid(child, 0)[1] == 0""")

    def test_child_that_stays(self):
        """A forked child that goes on has the pipe to the collector, too, which ends all the same."""
        self.run_text('''
import os, tacho
with tacho.profile() as p: tacho.mark("x")
waiting, go = os.pipe()
if os.fork() == 0:
    os.close(go)
    os.close(1), os.close(2)
    os.read(waiting, 1)
    os._exit(0)
from tacho import _capture
_capture._own.end()
assert _capture._own.collector.poll() == 0, _capture._own.collector.poll()''')

    def test_who_may_read_our_memory(self):
        """The collector, until the capture ends. Not every kernel has Yama, and none tells who may: the calls are looked at."""
        self.run_text('''
import tacho
from tacho import _capture
allowed, let_read = [], _capture._let_read
_capture._let_read = lambda pid: (allowed.append(pid), let_read(pid))
with tacho.profile():
    pass
assert allowed == [_capture._own.collector.pid], allowed
_capture._own.end()
assert allowed[1:] == [0], allowed''')

    def test_windows_that_cross(self):
        """Each has all that lies in it, and the last one to end ends the recording."""
        out = self.run_text('''
import tacho
def marks(p):
    start, end = p._window.span()
    return [row["text"] for row in tacho.load(p.report()).sql(f"SELECT text FROM NVTX_EVENTS WHERE start BETWEEN {start} AND {end} ORDER BY start")]
a, b = tacho.profile(), tacho.profile()
a.start(), tacho.mark("a")
b.start(), tacho.mark("both")
a.stop(), tacho.mark("b"), tacho.mark("b again")
b.stop(), tacho.mark("none")
print(marks(a), marks(b), a._window.agent.recording())''')
        self.assertEqual(out, "['a', 'both'] ['both', 'b', 'b again'] 0\n")

    def test_windows_of_threads(self):
        """However they meet, none leaves the recording on."""
        out = self.run_text('''
import tacho, threading
def work():
    for _ in range(20):
        with tacho.profile(): tacho.mark("x")
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
with tacho.profile() as p: on = p._window.agent.recording()
print(on, p._window.agent.recording())''')
        self.assertEqual(out, "1 0\n")

    def test_output_of_a_later_one(self):
        """The first of a process names the report; another gets a report of its own, of its window alone."""
        self.run_text('''
import tacho
with tacho.profile(output="a.tacho", schedule=tacho.schedule(wait=0, warmup=0, active=1, repeat=2)) as p:
    for i in range(3): tacho.mark(f"a {i}"), p.step()
with tacho.profile(output="b.tacho"): tacho.mark("b")''')
        self.assertEqual(self.complaints, "")
        for name, expected in (("a.tacho", ["a 0", "a 1", "b"]), ("b.tacho", ["b"])):
            with tacho.load(self.path(name)) as report:
                texts = [text for text in report["NVTX_EVENTS"]["text"] if text and not text.startswith("ProfilerStep")]
                self.assertEqual(texts, expected, name)

    def test_output_is_the_report(self):
        """Of a later profile too, with all windows of its schedule; a name without an ending gets one, and % stands for itself."""
        out = self.run_text('''
import os, pathlib, tacho
with tacho.profile(output="100%d.tacho") as first: tacho.mark("first")
with tacho.profile(output=pathlib.Path("later"), schedule=tacho.schedule(wait=1, warmup=0, active=1, repeat=2)) as later:
    for i in range(6): tacho.mark(f"later {i}"), later.step()
for prof in (first, later):
    print(os.path.basename(prof.report()), prof.report() in prof.summary(),
          [text for text in tacho.load(prof.report())["NVTX_EVENTS"]["text"] if not text.startswith("ProfilerStep")])''')
        # The first one is the report of the whole capture, and the later windows are in it.
        self.assertEqual(out, "100%d.tacho True ['first', 'later 1', 'later 3']\nlater.tacho True ['later 1', 'later 3']\n")
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if name.endswith(".tacho")), ["100%d.tacho", "later.tacho"])

    def test_output_in_a_folder(self):
        """The next free name, as with tacho profile -o; nothing that is there is written over."""
        os.mkdir(self.path("kept"))
        self.write("kept/report1.tacho", "something else")
        out = self.run_text('''
import os, tacho
for text in "ab":
    with tacho.profile(output="kept") as prof: tacho.mark(text)
    print(os.path.relpath(prof.report()), list(tacho.load(prof.report())["NVTX_EVENTS"]["text"]))''')
        self.assertEqual(out, "kept/report2.tacho ['a']\nkept/report3.tacho ['b']\n")
        # Ranks of one training start together: each has a name of its own before any of them has written a report.
        out = self.run_text("""
import os
from tacho import _capture
print([os.path.basename(_capture.report_file("kept", take=True)) for _ in range(2)])""")
        self.assertEqual(out, "['report4.tacho', 'report5.tacho']\n")

    def test_output_that_cannot_be(self):
        """It is refused in one sentence, and before anything is recorded."""
        out = self.run_text('''
import tacho
from tacho import _capture
for output in ("", "nowhere/x.tacho", "program.py/x.tacho"):
    try: tacho.profile(output=output)
    except tacho.TachoError as error: print(error)
assert _capture._own is None''')
        self.assertRegex(out, "^output='' names no file: give a name such as 'report1.tacho'\n"
                              "cannot write output='nowhere/x.tacho': .*/nowhere is not a folder that this process may write to\n"
                              "cannot write output='program.py/x.tacho': .*/program.py is not a folder that this process may write to\n$")

    def test_output_that_cannot_be_written_later(self):
        """The exception of the program is not replaced; where there is none, the error is one."""
        out = self.run_text('''
import os, tacho
with tacho.profile(): pass  # the capture has a report of its own
for cause in (KeyError, None):
    os.mkdir("gone")
    try:
        with tacho.profile(output="gone/x.tacho"):
            os.rmdir("gone")
            if cause: raise cause("the program's")
    except (KeyError, tacho.TachoError) as error: print(type(error).__name__)''')
        self.assertEqual(out, "KeyError\nTachoError\n")

    def test_each_counts_its_own(self):
        """The events of a window are not those of the window before, nor of the capture."""
        out = self.run_text('''
import re, tacho
for count in (5, 2):
    with tacho.profile() as prof:
        for i in range(count): tacho.mark(f"mark {i}")
    print(re.search("events:.*", prof.summary())[0])''')
        self.assertEqual(re.findall(r"(?m)^events:.* nvtx (\d+)", out), ["5", "2"], out)
        self.assertNotRegex(out, "cuda 0|pytorch 0", "what the program did not ask for is not told")

    def test_lines_are_of_the_window(self):
        """Also where they are wrapped: nothing of how the program ended, and no command for a report that is gone."""
        out = self.run_text("import tacho\nwith tacho.profile() as prof: tacho.mark('x')\nprint(prof.summary())", COLUMNS="45")
        first, second = out.splitlines()[:2]
        self.assertRegex(first, r"^tacho: [\d.]+ s recorded in process \d+$")
        self.assertRegex(second, r"^  \S")
        self.assertNotRegex(out, r"next:|or stats for|or view for|CPU time \d")

    def test_samples_are_in_the_report(self):
        """Of a short window too, as soon as it has ended: the functions are those that ran in it."""
        out = self.run_text('''
import time, tacho
def busy():
    end = time.thread_time() + 0.05
    while time.thread_time() < end: pass
missing = 0
for i in range(8):
    with tacho.profile() as prof:
        function = {}
        exec(f"def work_{i}(busy): busy()", function)
        function[f"work_{i}"](busy)
    start, end = prof._window.span()
    with tacho.load(prof.report()) as report:
        names = {row["value"] for row in report.sql(f"""SELECT DISTINCT s.value FROM TACHO_PYTHON_SAMPLE p JOIN TACHO_PYTHON_CALLCHAINS c ON c.id = p.callchainId
                 JOIN StringIds s ON s.id = c.symbol WHERE p.start BETWEEN {start} AND {end}""")} if "TACHO_PYTHON_SAMPLE" in report else set()
    missing += f"work_{i}" not in names
print(missing)''')
        self.assertEqual(out, "0\n", "windows without a sample of their own function")

    def test_collector_killed(self):
        """Before anything was written down: an error that says so. Later: a sentence, once, and the program goes on."""
        killed = "_capture._own.collector.kill(), _capture._own.collector.wait()\n"
        out = self.run_text("import tacho\nfrom tacho import _capture\np = tacho.profile()\np.start()\n" + killed + "p.stop()\n"
                            "try: p.events()\nexcept tacho.TachoError as error: print(error)")
        self.assertIn("the capture is empty", out)
        self.run_text("import tacho\nfrom tacho import _capture\nwith tacho.profile(): tacho.mark('x')\n" + killed +
                      "for _ in 'ab':\n    with tacho.profile(): tacho.mark('y')")
        self.assertRegex(self.complaints, r"^tacho: the profiler exited before this program .* later events are not in the report.*\n$")

    def test_no_tacho(self):
        """One sentence, and how to do it."""
        self.run_text("import tacho\nwith tacho.profile(): pass", status=1, TACHO="/bin/false")
        self.assertRegex(self.complaints, r"TachoError: cannot start a capture of this process.*tacho profile python program.py")


class UnderProfile(lib.Case):
    def script(self, text, *options):
        report = self.profile(self.python, self.write("program.py", text), options=["-t", "nvtx", *options], env=lib.environment(lib.PACKAGE))
        return report, self.output.stdout

    def test_schedule_controls_the_capture(self):
        report, out = self.script(SCHEDULED, "-c", "api", "--capture-range-end", "repeat")
        self.assertEqual(out, EXPECTED)
        wanted = [f"{kind}{i}" for kind in ("ProfilerStep#", "work ") for i in (3, 4, 7, 8)]
        self.assertEqual(sorted(report.ranges()), sorted(wanted))

    def test_all_of_it_stays(self):
        """Where everything is recorded, a window takes nothing away, and sees itself alone."""
        report, out = self.script(SCHEDULED)
        self.assertEqual(out, EXPECTED)
        self.assertEqual({name: count for name, count in report.ranges().items() if name.startswith("work")}, {f"work {i}": 1 for i in range(12)})


if __name__ == "__main__":
    lib.main()
