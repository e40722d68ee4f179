"""Kills at random moments: the program, the collector, or both at once, with and without a full buffer, in captures that a range has begun.
Every report opens. Where the collector lives, what the program made is what the report counts: recorded, or lost and why.

scripts/soak runs this with more kills; TACHO_SOAK_KILLS and TACHO_SOAK_SEED say how many, and which moments."""
import collections
import concurrent.futures
import os
import random
import signal
import subprocess
import time

import kill
import lib

KILLS = int(os.environ.get("TACHO_SOAK_KILLS", 6 if lib.SANITIZE else 21))
SEED = int(os.environ.get("TACHO_SOAK_SEED", "20261115"))
VICTIMS = ("program", "collector", "both")
FILLS = 300_000  # steps: twice what the small buffer holds
FATES = ("recorded", "below-threshold", "untimed", "lost")


class Moment:
    """One kill. What was chosen for it depends on the seed and its number alone."""

    def __init__(self, number):
        chance = random.Random(f"{SEED}/{number}")
        self.number = number
        self.victim = VICTIMS[number % 3]
        self.crowded = number // 3 % 2 == 1  # nobody empties a small buffer
        self.ranged = number // 6 % 2 == 1   # the capture begins with the range "main"
        self.spin = 0 if self.crowded else chance.choice((0, 1000, 10000))
        self.delay = chance.uniform(0, 0.05 if self.victim == "program" else chance.choice((0.05, 1.2)))

    def __str__(self):
        return f"kill {self.number} of {SEED}: {vars(self)}"

    def options(self):
        return ["-t", "nvtx,osrt", "-s", "none", "--osrt-threshold", "0", *(["--buffer-limit", "4M"] if self.crowded else []),
                *(["-c", "nvtx", "-p", "main", "--capture-range-end", "stop"] if self.ranged else [])]


class Soak(lib.Case):
    def run_and_kill(self, moment, truth, name):
        command = self.command(lib.program("kill"), self.path(f"truth{moment.number}"), str(kill.WORKERS), str(moment.spin),
                               options=moment.options(), output=name)
        tacho = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            lib.until(lambda: truth.running == kill.WORKERS and truth.waiter and kill.waits(truth.pid, truth.waiter), f"all threads ran; {moment}")
            if moment.crowded:
                os.kill(tacho.pid, signal.SIGSTOP)
                before = truth.total()
                lib.until(lambda: truth.total() > before + FILLS, f"the buffer was full; {moment}")
            time.sleep(moment.delay)  # the random moment
            if moment.victim == "both":
                os.killpg(tacho.pid, signal.SIGKILL)
            else:
                os.kill(truth.pid if moment.victim == "program" else tacho.pid, signal.SIGKILL)
            if moment.victim == "collector":
                before = truth.steps(0)
                lib.until(lambda: truth.steps(0) > before + kill.STEPS, f"the program went on; {moment}")
            if moment.victim == "program":
                os.kill(tacho.pid, signal.SIGCONT)
            else:
                lib.end_group(tacho)
            tacho.wait(timeout=lib.PATIENCE)
        finally:
            lib.end_group(tacho)

    def check_counts(self, moment, truth, report):
        """Each worker may have been between the end of a step and its count."""
        made = 1  # the range of main
        for worker in range(kill.WORKERS):
            done = kill.expected(truth.steps(worker))
            made += done["outer"] + done["outer open"] + done["inner"] + done["inner open"] + done["marks"]
        self.assertIn(report.produced("nvtx") - made, range(kill.WORKERS + 1), moment)
        self.assertEqual(report.produced("nvtx"), sum(report.count("nvtx", fate) for fate in FATES), moment)
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 59)"), report.count("nvtx", "recorded"), moment)
        self.assertEqual(report.value("SELECT count(*) FROM OSRT_API"), report.count("osrt", "recorded"), moment)
        self.assertEqual(report.produced("notes"), 0, moment)
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_RANGE"), 1, moment)
        threads = {tid for tid, in report.rows("SELECT DISTINCT globalTid & 0xFFFFFF FROM TACHO_THREAD")}
        self.assertLessEqual({truth.pid, truth.waiter, *map(truth.tid, range(kill.WORKERS))}, threads, moment)

    def check_part(self, moment, truth, report):
        """The collector died: what it had written is there, and no more than there was."""
        found = kill.recorded(report) if report.has("NVTX_EVENTS") and report.has("OSRT_API") else collections.defaultdict(collections.Counter)
        for worker in range(kill.WORKERS):
            most = kill.expected(truth.steps(worker) + 1)
            for what in ("outer", "inner", "reads", "marks"):
                self.assertLessEqual(found[truth.tid(worker)][what], most[what], moment)

    def check(self, number):
        moment, name = Moment(number), f"report{number}.tacho"
        truth = kill.Truth(self.path(f"truth{number}"))
        self.run_and_kill(moment, truth, name)
        opened = subprocess.run([lib.TACHO, "info", self.path(name)], capture_output=True, text=True)
        self.assertEqual(opened.returncode, 0, f"{moment}\n{opened.stderr}")
        report = lib.Report(self.path(name))
        try:
            (self.check_counts if moment.victim == "program" else self.check_part)(moment, truth, report)
            return moment.victim, collections.Counter({fate: report.count("nvtx", fate) + report.count("osrt", fate) for fate in FATES})
        finally:
            report.database.close()
            for path in (name, name + ".sqlite", f"truth{number}"):
                os.unlink(self.path(path))

    def test_kills(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(self.check, range(KILLS)))
        for victim in VICTIMS:
            sums = sum((counts for one, counts in outcomes if one == victim), collections.Counter())
            print(f"{victim:10}{sum(one == victim for one, _ in outcomes):5} kills, all reports open; events:",
                  ", ".join(f"{sums[fate]} {fate}" for fate in FATES))
        self.assertGreater(sum(counts["lost"] for victim, counts in outcomes if victim == "program"), 0, "no buffer was full")


if __name__ == "__main__":
    lib.main()
