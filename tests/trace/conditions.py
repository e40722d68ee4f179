"""Circumstances that are not as one would wish: each has one clear sentence or no effect, the right exit status, and a
report of all that could be recorded."""
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

import lib

CONDITIONS = lib.program("conditions")
COUNTS = lib.program("counts")


class Conditions(lib.Case):
    def fails(self, done, status, *words):
        """One sentence on stderr that has these words, and no report."""
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("tacho profile: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def recorded(self, report):
        self.assertEqual(report.ranges().get("range"), 1)

    # ---- the program ------------------------------------------------------------------------------------------

    def test_program_not_found(self):
        for name in ("no-such-program", "./no-such-program", "/no/such/program"):
            self.fails(self.run_tacho(name), 127, name)
            self.assertFalse(os.path.exists(self.path("report.tacho")), name)

    def test_not_executable(self):
        with open(self.path("data"), "w") as file:
            file.write("not a program\n")
        self.fails(self.run_tacho("./data"), 126, "./data")
        self.fails(self.run_tacho("/"), 126, "/")
        self.fails(self.run_tacho("./data/more"), 126 if self.shell_status("./data/more") == 126 else 127, "./data/more")
        self.assertFalse(os.path.exists(self.path("report.tacho")))

    def shell_status(self, program):
        return subprocess.run(["sh", "-c", program], cwd=self.folder, capture_output=True).returncode

    def test_not_a_program_although_executable(self):
        with open(self.path("garbage"), "wb") as file:
            file.write(b"\x7fELF and nothing more")
        os.chmod(self.path("garbage"), 0o755)
        self.fails(self.run_tacho("./garbage"), 126, "./garbage")

    def test_script_without_interpreter_line(self):
        """execvp and every shell run it with /bin/sh."""
        with open(self.path("script"), "w") as file:
            file.write(f"{CONDITIONS} range\nexit 8\n")
        os.chmod(self.path("script"), 0o755)
        self.recorded(self.profile("./script", status=8))
        with open(self.path("empty"), "w"):
            os.chmod(self.path("empty"), 0o755)
        self.profile("./empty", status=0)

    def test_script_with_an_interpreter_that_is_missing(self):
        with open(self.path("script"), "w") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(self.path("script"), 0o755)
        self.fails(self.run_tacho("./script"), 127, "./script")

    def test_shell_builtin(self):
        self.fails(self.run_tacho("ulimit", "-a"), 127, "ulimit", "shell")

    def test_relative_entries_in_the_path(self):
        os.mkdir(self.path("bin"))
        shutil.copy(CONDITIONS, self.path("bin/by-relative-path"))
        shutil.copy(CONDITIONS, self.path("in-here"))
        environment = dict(os.environ, PATH="bin::/usr/bin:/bin")
        self.recorded(self.profile("by-relative-path", "range", status=3, env=environment))
        self.recorded(self.profile("in-here", "range", status=3, env=environment))

    def compile(self, name, *flags, source='#include <stdio.h>\nint main(void) { puts("plain"); return 4; }\n'):
        with open(self.path("plain.c"), "w") as file:
            file.write(source)
        done = subprocess.run([os.environ.get("CC", "cc"), *flags, "-o", self.path(name), self.path("plain.c")], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("cannot build: " + done.stderr.strip().splitlines()[-1])

    def test_static_binary(self):
        self.compile("static", "-static")
        self.profile("./static", status=4)
        self.assertEqual(self.output.stdout, "plain\n")
        self.assertEqual(self.output.stderr.count("static program"), 1, "it is said once")
        info = subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True)
        self.assertRegex(info.stdout, r"\./static  \[exit 4, .*, no agent: static\]")

    def test_static_child_is_listed(self):
        """No agent is in it, and posix_spawn leaves no trace of it before its exec: it is found in /proc, if it lives long enough."""
        self.compile("static", "-static", source="#include <unistd.h>\nint main(void) { char c; while (read(0, &c, 1) > 0); return 5; }\n")
        self.compile("spawns", source="""
            #include <spawn.h>
            #include <sys/wait.h>
            extern char **environ;
            int main(void) { char *argv[] = {"./static", 0}; pid_t child; posix_spawn(&child, *argv, 0, 0, argv, environ); waitpid(child, 0, 0); }""")
        tacho = subprocess.Popen(self.command("./spawns"), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder)
        found = lambda: "no agent" in subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True).stdout
        try:
            lib.until(found, "the report names the static child")
        finally:
            tacho.communicate()
        self.assertIn((5,), self.report().rows("SELECT exitStatus FROM TACHO_PROCESS WHERE origin = 'found' AND ending = 'exit'"))

    def test_static_child_gets_the_kill_signal(self):
        """No agent is in it: it is part of the tree all the same. The duration begins with the range, when it runs."""
        self.compile("static", "-static", source='#include <unistd.h>\nint main(void) { for (write(1, "x", 1);;) pause(); }\n')
        stranger = 'sleep 1000 > /dev/null 2>&1 & echo $! > stranger; exec "$@"'
        program = f"./static > started & echo $! > child; until test -s started; do sleep 0.01; done; {lib.program('capture')} range work; sleep 1000"
        options = ["-t", "osrt,nvtx", "-c", "nvtx", "-p", "work", "--capture-range-end=none", "-d", "0.1", "--kill", "sigkill"]
        done = subprocess.run(["sh", "-c", stranger, "sh", *self.command("sh", "-c", program, options=options)],
                              cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)
        with open(self.path("child")) as child, open(self.path("stranger")) as stranger:
            child, stranger = int(child.read()), int(stranger.read())
        self.addCleanup(os.kill, stranger, signal.SIGKILL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ended by tacho with SIGKILL", done.stderr)
        lib.until(lambda: lib.state(child) in ("", "Z"), "the static child was killed")
        self.assertNotIn(lib.state(stranger), ("", "Z"))  # tacho's child too, but not of the program

    def test_children_from_before(self):
        """A shell that becomes tacho leaves its children to it: a capture does not wait for them."""
        stranger = subprocess.run(["sh", "-c", 'sleep 1000 > /dev/null 2>&1 & echo $!; exec "$@"', "sh", *self.command("true", options=["-t", "osrt"])],
                                  cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)
        self.addCleanup(os.kill, int(stranger.stdout.split()[0]), signal.SIGKILL)
        self.assertEqual(stranger.returncode, 0, stranger.stderr)

    def test_setuid_binary(self):
        """The loader ignores preloads there: the program runs as it would, and the user is told."""
        self.open_to_all_users()
        self.compile("setuid")
        os.chmod(self.path("setuid"), 0o4755)
        done = self.run_as_nobody(self.path("setuid"))
        self.assertEqual((done.returncode, done.stdout), (4, "plain\n"), done.stderr)
        self.assertIn("set-user-ID", done.stderr)
        self.assertGreater(self.report().value("SELECT count(*) FROM TACHO_PROCESS"), 0)

    # ---- the user ---------------------------------------------------------------------------------------------

    def run_as_nobody(self, *arguments):
        return subprocess.run([*lib.AS_NOBODY, *self.command(*arguments)], capture_output=True, text=True, cwd="/", timeout=lib.PATIENCE)

    def test_user_who_is_not_root(self):
        program, = self.open_to_all_users(CONDITIONS)
        done = self.run_as_nobody(program, "range")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.recorded(self.report())

    def test_folder_in_the_path_that_may_not_be_entered(self):
        """What a shell cannot see there it has not found: 127, not 126."""
        self.open_to_all_users()
        os.mkdir(self.path("closed"), 0o700)
        done = subprocess.run([*lib.AS_NOBODY, "env", f"PATH={self.path('closed')}:/usr/bin", *self.command("no-such-program")],
                              capture_output=True, text=True, cwd="/", timeout=lib.PATIENCE)
        self.fails(done, 127, "no-such-program")

    # ---- the output -------------------------------------------------------------------------------------------

    def marker(self):
        """A program that leaves a trace, to show that it was not started."""
        return ["touch", self.path("started")]

    def refused(self, done, *words):
        self.fails(done, 1, *words)
        self.assertFalse(os.path.exists(self.path("started")), "the program was started all the same")

    def test_output_exists(self):
        with open(self.path("report.tacho"), "w") as file:
            file.write("precious")
        command = [lib.TACHO, "profile", "-o", self.path("report.tacho"), *self.marker()]
        self.refused(subprocess.run(command, capture_output=True, text=True), self.path("report.tacho"), "exists", "-f")
        with open(self.path("report.tacho")) as file:
            self.assertEqual(file.read(), "precious")

    def test_output_cannot_be_written(self):
        self.refused(self.run_tacho(*self.marker(), output="no/such/folder/report.tacho"), "no/such/folder")
        self.refused(self.run_tacho(*self.marker(), output="/proc/report.tacho"), "/proc/report.tacho")

    def test_output_is_a_folder(self):
        """Then the report goes into it."""
        os.mkdir(self.path("folder"))
        self.run_tacho(CONDITIONS, "range", output="folder")
        self.recorded(self.report("folder/report1.tacho"))

    def test_output_folder_is_not_mine(self):
        self.open_to_all_users()
        os.chmod(self.folder, 0o755)
        self.refused(self.run_as_nobody(*self.marker()), self.folder)

    def test_odd_names_for_the_output(self):
        for name in ("with space.tacho", "100%.tacho", "new\nline.tacho", "\udcff.tacho", "%%p.tacho"):
            given = name.replace("%", "%%") if "%%" not in name else name
            self.run_tacho(CONDITIONS, "range", output=given)
            self.recorded(self.report(name.replace("%%", "%")))

    def small_disk(self, size):
        self.need_root()
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", disk], capture_output=True).returncode != 0:
            self.skipTest("cannot mount a file system")
        self.addCleanup(subprocess.run, ["umount", disk])

    def test_disk_full_from_the_start(self):
        self.small_disk("16k")
        self.refused(self.run_tacho(*self.marker(), output="disk/report.tacho"), "space")

    def test_disk_full(self):
        """The program runs on to its end; what was written before opens, and the loss is counted and told."""
        rounds = 50000 if lib.SANITIZE else 200000
        self.small_disk("1100k")  # far too small also where a busy machine keeps the collector from most of the events
        done = self.run_tacho(COUNTS, "burst", "2", str(rounds), "64", options=["-t", "nvtx"], output="disk/report.tacho")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[0], f"nvtx {8 * rounds}")
        self.assertIn("note: The disk is full: no space is left for " + self.path("disk/report.tacho"), done.stderr)
        shutil.copy(self.path("disk/report.tacho"), self.path("copy.tacho"))
        report = self.report("copy.tacho")
        rows = report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)")
        self.assertGreater(rows, 0)
        self.assertEqual(report.count("nvtx", "recorded"), rows)
        self.assertGreater(report.count("nvtx", "lost", "disk-full"), 0)
        self.assertEqual(report.produced("nvtx"), 8 * rounds)
        info = subprocess.run([lib.TACHO, "info", self.path("copy.tacho")], capture_output=True, text=True)
        self.assertRegex(info.stdout, r"Health +incomplete: .*[0-9,]+ of [0-9,]+ NVTX events lost \(.*disk full.*\): counts up to [0-9.]+ % low")
        recover = subprocess.run([lib.TACHO, "recover", self.path("copy.tacho")], capture_output=True, text=True)
        self.assertRegex(recover.stderr, r"copy.recovered.tacho: [0-9,]+ of [0-9,]+ NVTX events lost \(.*disk full.*\): counts up to [0-9.]+ % low")

    def test_disk_full_whatever_is_recorded(self):
        """Calls and their stacks, context switches, samples, Python's stacks: recorded is what the report has, the rest is lost."""
        self.small_disk("1500k")
        turns = """if True:
            import os, threading
            there, back = os.pipe(), os.pipe()
            def answer():
                while os.read(there[0], 1) != b"0":
                    os.write(back[1], b"1")
            other = threading.Thread(target=answer)
            other.start()
            for turn in range(200000): # so many calls do not fit, however fast the machine is
                os.write(there[1], b"1")
                os.read(back[0], 1)
            os.write(there[1], b"0")
            other.join()"""
        done = self.run_tacho(sys.executable, "-c", turns, output="disk/report.tacho",
                              options=["-t", "osrt", "--osrt-threshold=0", "--cpuctxsw=process-tree", "--python-sampling=true", "--python-sampling-frequency=2000"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("INCOMPLETE", done.stderr)
        shutil.copy(self.path("disk/report.tacho"), self.path("copy.tacho"))
        report = self.report("copy.tacho")
        tables = {"osrt": "OSRT_API", "switches": "SCHED_EVENTS", "samples": "COMPOSITE_EVENTS", "python-sampling": "TACHO_PYTHON_SAMPLE"}
        recorded = {source: report.count(source, "recorded") for source in tables}
        rows = {source: report.value(f"SELECT count(*) FROM {table}") if report.has(table) else 0 for source, table in tables.items()}
        self.assertEqual(recorded, rows)
        sources = ["osrt"] if report.count("switches", "recorded") + report.count("switches", "lost") == 0 else ["osrt", "switches"]
        for source in sources:
            self.assertGreater(report.count(source, "lost", "disk-full"), 0, source)
        info = subprocess.run([lib.TACHO, "info", self.path("copy.tacho")], capture_output=True, text=True)
        self.assertNotIn("CALLCHAINS", info.stdout)
        self.assertNotIn("rows of stack", info.stdout)

    def test_too_few_descriptors(self):
        """The limit is to blame, not the program."""
        done = self.run_tacho(*self.marker(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
        self.refused(done, "ulimit -n is 8")

    def test_read_only_root(self):
        """No folder can be written but the one for the output."""
        self.need_root()
        script = """
            mount --make-rprivate / && mount -t tmpfs none "$0" && mount -t tmpfs -o size=64m none /dev/shm &&
            mount -o remount,bind,ro / || exit 77
            for folder in /tmp /var/tmp /run; do mount --bind "$folder" "$folder" 2>/dev/null && mount -o remount,bind,ro "$folder"; done
            touch /tmp/writable 2>/dev/null && exit 77
            cd "$0" || exit 77
            "$@" ; status=$?
            "$1" export --type sqlite -o "$0/report.sqlite" "$0/report.tacho" >/dev/null || exit 1
            python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59").fetchall())' "$0/report.sqlite"
            exit $status"""
        place = tempfile.mkdtemp(prefix="tacho-place-", dir="/var/lib" if os.path.isdir("/var/lib") else None)
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, place, lib.TACHO, "profile", "-o", place + "/report.tacho", CONDITIONS, "range"],
                              capture_output=True, text=True, timeout=lib.PATIENCE)
        if done.returncode == 77:
            self.skipTest("cannot make the file systems read-only here: " + done.stderr.strip())
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("[(1,)]", done.stdout)

    def test_small_shared_memory(self):
        """More goes through the buffer than /dev/shm could hold."""
        self.need_root()
        script = 'mount --make-rprivate / && mount -t tmpfs -o size=64m none /dev/shm || exit 77; exec "$@"'
        command = self.command(COUNTS, "burst", "2", "20000", "3000", options=["-t", "nvtx"])
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *command], capture_output=True, text=True, timeout=lib.PATIENCE)
        if done.returncode == 77:
            self.skipTest("cannot mount a file system")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.report().produced("nvtx"), 160000)

    def test_another_root(self):
        """Where the agent's file is not to be found, programs run without it, and the loader has nothing to complain of."""
        self.need_root()
        root = self.path("root")
        needed = subprocess.run(["ldd", "/bin/sh", CONDITIONS], capture_output=True, text=True).stdout
        files = {word for word in needed.replace(":", " ").split() if word.startswith("/")} | {"/bin/sh", CONDITIONS}
        for file in files:
            os.makedirs(root + os.path.dirname(file), exist_ok=True)
            shutil.copy(file, root + file)
        for own in ("", "/no/such.so"):
            inside = f'echo "[$LD_PRELOAD][$TACHO_SESSION]"; {CONDITIONS} range; exit 4'
            environment = dict(os.environ, LD_PRELOAD=own)
            done = self.run_tacho("chroot", root, "/bin/sh", "-c", inside, env=environment)
            self.assertEqual((done.returncode, done.stdout), (4, f"[{own}][]\ndone\n"), done.stderr)
            self.assertNotRegex(done.stderr, "ld.so: .*libtacho-agent")
        self.report()

    # ---- limits of the process ----------------------------------------------------------------------------------

    def test_little_address_space(self):
        """For the program alone; the agent switches itself off when it does not fit, the program never notices."""
        for megabytes in (24, 64, 300, 2000):
            with self.subTest(megabytes=megabytes):
                limited = ["sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "sh", CONDITIONS, "range"]
                if subprocess.run(limited, capture_output=True).returncode != 3:
                    continue  # too little even without us
                report = self.profile(*limited, status=3)
                self.assertEqual(self.output.stdout, "done\n")
                if not report.ranges():
                    self.assertIn("ulimit -v", self.output.stderr)

    def test_little_address_space_for_both(self):
        if lib.SANITIZE:
            self.skipTest("sanitizers want all of the address space")
        size = 1 << 30
        done = self.run_tacho(CONDITIONS, "range", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, "done\n")
        self.report()

    def test_few_descriptors(self):
        """The collector needs more than the program does: a soft limit is raised for itself, not for the program."""
        limited = ["sh", "-c", "ulimit -n; exec " + CONDITIONS + " range"]
        done = self.run_tacho(*limited, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
        self.assertEqual((done.returncode, done.stdout), (3, "20\ndone\n"), done.stderr)
        self.recorded(self.report())

    def test_program_sees_no_descriptor_of_ours(self):
        subprocess.run([CONDITIONS, "descriptors", self.path("bare")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.profile(CONDITIONS, "descriptors", self.path("profiled"), stdin=subprocess.DEVNULL)
        with open(self.path("bare")) as bare, open(self.path("profiled")) as profiled:
            self.assertEqual(profiled.read(), bare.read())

    def test_closed_standard_streams(self):
        """A closed stream stays closed for the program, and no file of ours takes its number."""
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                for file in ("bare", "profiled"):
                    command = [CONDITIONS, "descriptors", self.path(file)]
                    if file == "profiled":
                        command = self.command(*command)
                    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True, stdin=subprocess.DEVNULL, timeout=lib.PATIENCE)
                    self.assertEqual(done.returncode, 0, done.stderr)
                with open(self.path("bare")) as bare, open(self.path("profiled")) as profiled:
                    self.assertEqual(profiled.read(), bare.read())
                self.recorded(self.report())

    def test_deleted_working_folder(self):
        os.mkdir(self.path("gone"))
        script = f'cd "{self.path("gone")}" && rmdir "{self.path("gone")}" && exec "$@"'
        done = subprocess.run(["sh", "-c", script, "sh", *self.command(CONDITIONS, "range")], capture_output=True, text=True, timeout=lib.PATIENCE)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.recorded(self.report())

    # ---- programs that limit themselves, or leave little room -----------------------------------------------------------

    def limited(self, kind):
        bare = subprocess.run([CONDITIONS, "limits", kind]).returncode
        if bare == 77:
            self.skipTest(f"the kernel refuses: {kind}")
        self.assertEqual(bare, 5)
        report = self.profile(CONDITIONS, "limits", kind, options=["--osrt-threshold=0"], status=5)
        self.recorded(report)
        return report

    def test_system_calls_limited_by_a_filter(self):
        report = self.limited("filter")
        self.assertEqual(report.value("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'Recording of conditions % stopped: %'"), 1)

    def test_system_calls_limited_to_the_strict_four(self):
        self.limited("strict")

    def test_counter_forbidden(self):
        self.limited("clock")

    def test_only_asking_for_filters_limits_nothing(self):
        self.assertGreater(self.limited("question").calls().get("read", 0), 19000)

    def test_large_environment_and_small_stack(self):
        report = self.profile(CONDITIONS, "environment", status=5)
        self.recorded(report)
        self.assertGreater(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE image = 1 AND command IS NOT NULL"), 0, "the shell was not followed")

    def test_all_keys_for_data_of_threads(self):
        """The agent gives up its own when the program has need of it, and still knows when threads return."""
        bare = subprocess.run([CONDITIONS, "keys"], capture_output=True, text=True, check=True).stdout
        report = self.profile(CONDITIONS, "keys")
        self.assertEqual(self.output.stdout, bare)
        self.recorded(report)
        ended, last = report.rows("SELECT max(end), (SELECT max(end) FROM TACHO_THREAD) FROM TACHO_THREAD JOIN StringIds ON id = nameId WHERE value = 'late'")[0]
        self.assertLess(ended, last, "the thread has ended before the program")

    # ---- names ----------------------------------------------------------------------------------------------------

    def test_hostile_names(self):
        report = self.profile(CONDITIONS, "hostile", options=["-t", "nvtx,osrt"])
        report.database.text_factory = bytes  # so that a name that is not UTF-8 fails below, not here
        names = [name for name, in report.rows("""SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId))
                                                         FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start""")]
        self.assertEqual(len(names), 8)
        self.assertGreater(len(names[0]), 16000, "a long name is cut, but not to nothing")
        self.assertEqual(names[0].strip(b"L"), b"")
        self.assertEqual(names[1], b"line\nbreak")
        self.assertEqual(names[4:], [b"", b"'; DROP TABLE NVTX_EVENTS; --", b"%s%n \"quoted\", with\ttab", b"last"])
        self.assertEqual(names[2].decode("utf-8"), "\ufffd\ufffd not UTF-8 \ufffd")
        for command in (["info"], ["stats"], ["stats", "--format", "csv"], ["stats", "-r", "nvtx_pushpop_trace", "--format", "csv"]):
            done = subprocess.run([lib.TACHO, *command, self.path("report.tacho")], capture_output=True, timeout=lib.PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            done.stdout.decode("utf-8")  # what is printed is text
            if "csv" not in command:  # which is for programs
                self.assertNotIn(b"\x1b", done.stdout, f"{command}: an escape sequence reached the terminal")

    def test_hostile_arguments(self):
        report = self.profile("sh", "-c", f'exec {CONDITIONS} range', "\udcff\n\x1b[31m", status=3)
        self.recorded(report)
        info = subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True)
        self.assertEqual(info.returncode, 0)
        info.stdout.decode("utf-8")
        self.assertNotIn(b"\x1b", info.stdout)

    # ---- what is given as a report ------------------------------------------------------------------------------------

    def test_not_a_report(self):
        """Whatever it is, the command ends, with one sentence that a terminal shows as it is."""
        os.mkfifo(self.path("pipe"))
        os.symlink("loop", self.path("loop"))
        for name in ("pipe", "loop", ".", "/dev/zero", "/proc/self/mem", "/proc/self/maps", "no\x1b]0;name\a\n.tacho"):
            for command in (["stats"], ["info"], ["export", "-o", self.path("new.sqlite")], ["recover", "-o", self.path("new.tacho")], ["import"]):
                done = subprocess.run([lib.TACHO, *command, name], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=lib.PATIENCE)
                self.assertEqual(done.returncode, 1, f"{command} {name!r}: {done.stderr}")
                self.assertEqual(done.stdout, b"", f"{command} {name!r}")
                self.assertEqual(len(done.stderr.splitlines()), 1, f"{command} {name!r}: {done.stderr}")
                self.assertNotIn(b"\x1b", done.stderr, f"{command} {name!r}")

    def test_what_is_no_file_is_not_replaced_by_one(self):
        """-f true is for files: a pipe or a device that is given as output stays what it is, and so does the report itself."""
        self.profile(CONDITIONS, "range", status=3)
        os.mkfifo(self.path("pipe"))
        for command, output, status in (("export", "pipe", 2), ("recover", "pipe", 2), ("export", "./report.tacho", 2)):
            done = subprocess.run([lib.TACHO, command, "-f", "true", "-o", output, "report.tacho"], cwd=self.folder, capture_output=True, timeout=lib.PATIENCE)
            self.assertEqual(done.returncode, status, f"{command} to {output}: {done.stderr}")
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.path("pipe")).st_mode))
        self.recorded(self.report())


if __name__ == "__main__":
    lib.main()
