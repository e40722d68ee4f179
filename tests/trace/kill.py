"""A program killed with SIGKILL at random moments, 200 with TACHO_TEST_ALL: its report opens, holds every step that was finished, and names
what was open. The program counts its steps in a file that outlives it."""
import collections
import concurrent.futures
import mmap
import os
import random
import signal
import struct
import subprocess
import time

import lib

MOMENTS = 10 if lib.SANITIZE else 200 if lib.ALL else 50
FULL_MOMENTS = 2 if lib.SANITIZE else 20 if lib.ALL else 5
WORKERS = 3
WORKERS_MAX = 8
STEPS = 6  # push outer, push inner, read, mark, pop, pop
STEPS_THAT_FILL = 200_000  # of each worker: more than a buffer of 1 MB holds
SEED = 20261115


class Truth:
    """The file that the program counts in."""

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(4096))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 4096)

    def word(self, index):
        return struct.unpack_from("=Q", self.map, index * 8)[0]

    pid = property(lambda self: self.word(0))
    running = property(lambda self: self.word(1))
    waiter = property(lambda self: self.word(2))

    def tid(self, worker):
        return self.word(3 + worker)

    def steps(self, worker):
        return self.word(3 + WORKERS_MAX + worker)

    def total(self):
        return sum(map(self.steps, range(WORKERS)))


def waits(pid, tid):
    """Is the thread asleep inside its system call?"""
    try:
        with open(f"/proc/{pid}/task/{tid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return False


def expected(total):
    """What a worker that finished so many steps has recorded."""
    rounds, at = divmod(total, STEPS)
    return {"outer": rounds, "outer open": int(at in (1, 2, 3, 4, 5)),
            "inner": rounds + (at >= 5), "inner open": int(at in (2, 3, 4)),
            "reads": rounds + (at >= 3), "marks": rounds + (at >= 4)}


def recorded(report):
    """{thread: what is recorded of it}"""
    found = collections.defaultdict(collections.Counter)
    for tid, text, ended, count in report.rows("""SELECT globalTid & 0xFFFFFF, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS name,
                                                  end IS NOT NULL AS ended, count(*) FROM NVTX_EVENTS WHERE eventType = 59 GROUP BY 1, 2, 3"""):
        found[tid][text if ended else f"{text} open"] += count
    for tid, count in report.rows("SELECT globalTid & 0xFFFFFF, count(*) FROM NVTX_EVENTS WHERE eventType = 34 GROUP BY 1"):
        found[tid]["marks"] += count
    for tid, count in report.rows(f"""SELECT globalTid & 0xFFFFFF, count(*) FROM OSRT_API JOIN StringIds ON id = nameId
                                      WHERE value = 'read' AND {report.returned()} GROUP BY 1"""):
        found[tid]["reads"] += count
    return found


class Kill(lib.Case):
    def until(self, condition, tacho, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertIsNone(tacho.poll(), f"ended before {what}")
            self.assertLess(time.monotonic(), deadline, f"never {what}")
            time.sleep(0.0005)

    def kill_once(self, moment, spin, delay, early, options=(), asleep=False):
        name = f"report{moment}.tacho"
        truth = Truth(self.path(f"truth{moment}"))
        command = self.command(lib.program("kill"), self.path(f"truth{moment}"), str(WORKERS), str(spin),
                               options=["-t", "nvtx,osrt", "--osrt-threshold", "0", *options], output=name)
        tacho = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            if early:
                self.until(lambda: lib.program_of(tacho.pid), tacho, "the program was started")
                victim = lib.program_of(tacho.pid)
            else:
                self.until(lambda: truth.running == WORKERS and truth.waiter and waits(truth.pid, truth.waiter), tacho, "all threads ran")
                self.until(lambda: all(truth.steps(worker) > 100 for worker in range(WORKERS)), tacho, "all threads made steps")
                victim = truth.pid
            if asleep:
                os.kill(tacho.pid, signal.SIGSTOP)
                self.until(lambda: all(truth.steps(worker) > STEPS_THAT_FILL for worker in range(WORKERS)), tacho, "the buffer was full")
            time.sleep(delay)  # the random moment
            os.kill(victim, signal.SIGKILL)
            os.kill(tacho.pid, signal.SIGCONT)
            output, _ = tacho.communicate(timeout=lib.PATIENCE)
        finally:
            lib.end_group(tacho)  # the program too: without a signal it runs for ever
        return name, truth, tacho.returncode, output

    def check(self, moment, spin, delay, early):
        name, truth, status, output = self.kill_once(moment, spin, delay, early)
        about = f"moment {moment}: spin {spin}, delay {delay:.6f}, early {early}\n{output}"
        self.assertEqual(status, -signal.SIGKILL, about)
        report = lib.Report(self.path(name))
        try:
            if truth.running < WORKERS:
                return 0
            self.assertIn("main", report.open_ranges(), about)
            found = recorded(report)
            for worker in range(WORKERS):
                steps, thread = truth.steps(worker), found[truth.tid(worker)]
                self.assertIn({what: thread[what] for what in expected(0)}, (expected(steps), expected(steps + 1)), f"worker {worker} after {steps} steps; {about}")
            if not early:
                waiting = report.rows("""SELECT value FROM OSRT_API JOIN StringIds ON id = nameId
                                         WHERE incomplete = 1 AND globalTid & 0xFFFFFF = ?""", truth.waiter)
                self.assertEqual(waiting, [("read",)], about)
            self.assertEqual(report.count("nvtx", "lost"), 0, about)
            return sum(truth.steps(worker) for worker in range(WORKERS))
        finally:
            report.database.close()
            for path in (name, name + ".sqlite", f"truth{moment}"):
                os.unlink(self.path(path))

    def check_counts(self, moment, delay):
        """With a buffer that is too small and nobody who empties it: each event made was recorded or counted as lost."""
        name, truth, status, output = self.kill_once(moment, 0, delay, False, ["--buffer-limit", "4M"], asleep=True)
        self.assertEqual(status, -signal.SIGKILL, output)
        report = lib.Report(self.path(name))
        try:
            made = 1  # the range of main
            for worker in range(WORKERS):
                done = expected(truth.steps(worker))
                made += done["outer"] + done["outer open"] + done["inner"] + done["inner open"] + done["marks"]
            self.assertGreaterEqual(report.produced("nvtx"), made, f"moment {moment}, delay {delay:.6f}\n{output}")
            self.assertLessEqual(report.produced("nvtx"), made + WORKERS, f"moment {moment}, delay {delay:.6f}\n{output}")
            return report.count("nvtx", "lost", "buffer-full")
        finally:
            report.database.close()

    def test_counts_survive_too(self):
        chance = random.Random(SEED + 1)
        lost = sum(self.check_counts(moment, chance.uniform(0.01, 0.05)) for moment in range(FULL_MOMENTS))
        self.assertGreater(lost, 0)

    def test_sigkill_at_random_moments(self):
        chance = random.Random(SEED)
        moments = []
        for moment in range(MOMENTS):
            early = moment % 10 == 0
            spin = 0 if moment % 2 else chance.choice((1000, 10000))
            delay = chance.uniform(0, 0.004 if early or not spin else 0.08)
            moments.append((moment, spin, delay, early))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            total = sum(pool.map(lambda one: self.check(*one), moments))
        self.assertGreater(total, 100 * WORKERS * MOMENTS * 8 // 10, "the programs hardly ran")


if __name__ == "__main__":
    lib.main()
