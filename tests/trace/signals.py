"""A program under tacho meets the world as it would alone: streams, terminals, exit status, signals; and Ctrl-C ends a
capture in good order."""
import os
import pty
import signal
import subprocess
import termios

import lib

SIGNALS = lib.program("signals")


class Started(lib.Case):
    def start(self, *arguments, options=(), **more):
        more.setdefault("stdin", subprocess.PIPE)
        tacho = subprocess.Popen(self.command(*arguments, options=["-t", "nvtx,osrt", *options]), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, start_new_session=True, **more)
        self.addCleanup(lib.end_group, tacho)
        return tacho

    def ready(self, tacho):
        self.assertEqual(tacho.stdout.readline(), "ready\n")

    def finish(self, tacho):
        self.stdout, self.stderr = tacho.communicate(timeout=lib.PATIENCE)
        return tacho.returncode

    def marks(self):
        return [text for text, in self.report().rows("SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) "
                                                     "FROM NVTX_EVENTS WHERE eventType = 34")]


class Ends(Started):
    def test_exit_status(self):
        for status in (0, 1, 42, 126, 127, 130, 255):
            report = self.profile("sh", "-c", f"exit {status}", status=status)
            self.assertEqual(report.rows("SELECT ending, exitStatus FROM TACHO_PROCESS WHERE end IS NOT NULL"), [("exit", status)])

    def test_death_by_signal(self):
        for name in ("KILL", "TERM", "INT", "SEGV", "ABRT", "USR1", "PIPE"):
            number = getattr(signal, "SIG" + name)
            bare = subprocess.run(["sh", "-c", f"ulimit -c 0; kill -{name} $$"]).returncode
            report = self.profile("sh", "-c", f"ulimit -c 0; kill -{name} $$", status=bare)
            self.assertEqual(report.rows("SELECT ending, signal FROM TACHO_PROCESS WHERE end IS NOT NULL"), [("signal", number)])

    def test_signal_dispositions_are_inherited(self):
        """What tacho was started with, the program starts with."""
        show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        for setup in ("", "trap '' INT QUIT HUP PIPE USR1; ", "trap '' CHLD; "):
            bare = subprocess.run(["sh", "-c", setup + 'exec "$@"', "sh", *show], capture_output=True, text=True).stdout
            done = subprocess.run(["sh", "-c", setup + 'exec "$@"', "sh", *self.command(*show)], capture_output=True, text=True)
            self.assertEqual(done.stdout, bare)


class Interrupts(Started):
    def test_interrupt_of_the_group(self):
        """Ctrl-C: both get it. The program ends as it likes, the report is complete."""
        tacho = self.start(SIGNALS, "wait")
        self.ready(tacho)
        os.killpg(tacho.pid, signal.SIGINT)
        self.assertEqual(self.finish(tacho), 5)
        self.assertEqual(self.marks(), ["interrupted"])
        self.assertEqual(self.report().ranges(), {"waiting": 1})

    def test_interrupt_of_a_program_without_a_handler(self):
        tacho = self.start("sh", "-c", "echo ready; exec sleep 1000")
        self.ready(tacho)
        os.killpg(tacho.pid, signal.SIGINT)
        self.assertEqual(self.finish(tacho), -signal.SIGINT)
        self.assertEqual(self.report().value("SELECT count(*) FROM TACHO_PROCESS WHERE ending = 'signal' AND signal = 2"), 1)

    def test_interrupt_of_tacho_alone(self):
        tacho = self.start(SIGNALS, "wait")
        self.ready(tacho)
        os.kill(tacho.pid, signal.SIGINT)
        self.assertEqual(self.finish(tacho), 5)
        self.assertEqual(self.marks(), ["interrupted"])

    def test_terminate_is_passed_on(self):
        tacho = self.start(SIGNALS, "wait")
        self.ready(tacho)
        os.kill(tacho.pid, signal.SIGTERM)
        self.assertEqual(self.finish(tacho), 6)
        self.assertEqual(self.marks(), ["terminated"])

    def test_program_that_ignores_signals(self):
        """It goes on, and the capture with it; a second Ctrl-C ends the capture, the program still lives."""
        tacho = self.start(SIGNALS, "ignore")
        self.ready(tacho)
        program = lib.program_of(tacho.pid)
        os.kill(tacho.pid, signal.SIGTERM)
        os.killpg(tacho.pid, signal.SIGINT)
        os.killpg(tacho.pid, signal.SIGINT)
        os.killpg(tacho.pid, signal.SIGINT)
        lib.until(lambda: tacho.poll() is not None, "tacho ended")
        os.kill(program, 0)  # is there
        self.assertEqual(self.report().open_ranges(), ["ignoring"])
        tacho.stdin.close()
        tacho.stdin = None
        self.finish(tacho)

    def test_nobody_runs_on_who_is_gone(self):
        """The program ignores Ctrl-C; the second one has tacho end it, and its end is what is told."""
        tacho = self.start("sh", "-c", "trap '' INT; echo ready; while :; do sleep 0.1; done")
        self.ready(tacho)
        os.killpg(tacho.pid, signal.SIGINT)
        self.assertIn("Ctrl-C to stop at once", tacho.stderr.readline())
        os.killpg(tacho.pid, signal.SIGINT)
        self.finish(tacho)
        self.assertNotRegex(self.stderr, r"still runs?: .*\bsh \(pid")  # its last sleep may
        self.assertRegex(self.stderr, r"sh was ended by tacho with SIGTERM \(--kill\)")

    def test_program_that_ignores_terminate_and_ends_by_itself(self):
        tacho = self.start(SIGNALS, "ignore")
        self.ready(tacho)
        os.kill(tacho.pid, signal.SIGTERM)
        tacho.stdin.close()
        tacho.stdin = None
        self.assertEqual(self.finish(tacho), 7)
        self.assertEqual(self.report().ranges(), {"ignoring": 1})

    def test_stop_and_continue(self):
        """Ctrl-Z and fg, as a shell does it: the group stops, the group goes on."""
        tacho = self.start(SIGNALS, "wait")
        self.ready(tacho)
        program = lib.program_of(tacho.pid)
        os.killpg(tacho.pid, signal.SIGSTOP)
        lib.until(lambda: lib.state(program) == "T", "the program stopped")
        os.killpg(tacho.pid, signal.SIGCONT)
        lib.until(lambda: lib.state(program) == "S", "the program went on")
        os.kill(tacho.pid, signal.SIGTERM)
        self.assertEqual(self.finish(tacho), 6)
        self.assertEqual(self.report().ranges(), {"waiting": 1})


class Left(Started):
    """Processes that outlive their parents."""

    def left(self, mode):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        tacho = self.start(SIGNALS, mode, fifo, options=["--wait=all"], stdin=subprocess.DEVNULL)
        with open(fifo, "w") as file:  # opens once the process left behind does
            file.write("x")
        self.assertEqual(self.finish(tacho), 0)
        report = self.report()
        self.assertEqual(report.ranges(), {"parent": 1, "late work": 1})
        self.assertEqual(report.open_ranges(), [])
        return report

    def test_daemon(self):
        report = self.left("daemon")
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE exitStatus = 9 AND end IS NOT NULL"), 1)

    def test_orphan(self):
        report = self.left("orphan")
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE exitStatus = 9 AND end IS NOT NULL"), 1)


class Streams(Started):
    def test_stdin_passes_through(self):
        data = os.urandom(300_000)
        done = subprocess.run(self.command("cat"), input=data, capture_output=True)
        self.assertEqual(done.stdout, data)

    def test_streams_are_the_programs_own(self):
        """stdout is the program's alone; on stderr our words come after its."""
        script = "printf 'out\\0put'; printf 'err\\377or' >&2; cat /dev/null"
        done = subprocess.run(self.command("sh", "-c", script), capture_output=True)
        self.assertEqual(done.stdout, b"out\0put")
        self.assertTrue(done.stderr.startswith(b"err\xffor"), done.stderr)

    def test_streams_are_the_same_files(self):
        """Not pipes of ours: what the program sees at 0, 1 and 2 is what tacho was given."""
        with open(self.path("out"), "w") as out:
            subprocess.run(self.command("sh", "-c", "readlink /proc/self/fd/1"), stdout=out, stderr=subprocess.DEVNULL)
        with open(self.path("out")) as out:
            self.assertEqual(out.readline().strip(), self.path("out"))

    def in_terminal(self, *command):
        """Runs it as the foreground of a terminal of its own; (status, everything that it wrote)."""
        child, terminal = pty.fork()
        if child == 0:
            os.execv(command[0], command)
        return child, terminal

    def read_all(self, child, terminal, until=None):
        text = b""
        while until is None or until not in text:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        return text

    def end(self, child, terminal):
        text = self.read_all(child, terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
        return status, text

    def test_terminal_is_a_terminal(self):
        child, terminal = self.in_terminal(*self.command("sh", "-c", "for i in 0 1 2; do test -t $i && echo terminal $i; done; tty; ps -o pgid= -o tpgid= -p $$ 2>/dev/null"))
        status, text = self.end(child, terminal)
        self.assertEqual(status, 0, text)
        for stream in range(3):
            self.assertIn(b"terminal %d\r\n" % stream, text)
        self.assertIn(b"/dev/pts/", text)

    def test_control_c_in_a_terminal(self):
        child, terminal = self.in_terminal(*self.command(SIGNALS, "wait"))
        self.read_all(child, terminal, b"ready\r\n")
        os.write(terminal, termios.tcgetattr(terminal)[6][termios.VINTR])
        status, text = self.end(child, terminal)
        self.assertEqual(status, 5, text)
        self.assertEqual(self.marks(), ["interrupted"])

    def test_interactive_shell_has_its_terminal(self):
        child, terminal = self.in_terminal(*self.command("sh", "-i"))
        os.write(terminal, b"echo sum $((20 + 3))\nexit 9\n")
        status, text = self.end(child, terminal)
        self.assertEqual(status, 9, text)
        self.assertIn(b"sum 23", text)
        self.assertNotIn(b"can't access tty", text)


if __name__ == "__main__":
    lib.main()
