"""Many processes, threads and generations: every one is in the report, and every event is recorded or counted as lost."""
import resource

import lib

SHARE = 1 if lib.ALL and not lib.SANITIZE else 10  # sanitizers make the collector many times slower


class Scale(lib.Case):
    def check(self, shape, count, **more):
        report = self.profile(lib.program("scale"), shape, str(count), options=["-t", "osrt", "--osrt-threshold=0"], **more)
        programs, threads, reads = map(int, self.output.stdout.split())
        self.assertEqual(report.value("SELECT count(*) FROM (SELECT DISTINCT globalPid, image FROM TACHO_PROCESS)"), programs)
        self.assertEqual(report.value("SELECT count(*) FROM (SELECT DISTINCT globalPid, image FROM TACHO_PROCESS WHERE end IS NOT NULL)"),
                         programs, "every end is seen")
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE ending = 'exit' AND exitStatus != 0"), 0)
        recorded, lost = report.calls().get("pread", 0), report.count("osrt", "lost")
        # On a busy machine the collector may not answer a process in time. The report says how many, and no other is missing.
        silent = report.count("processes", "lost", "no-answer")
        missed = silent * -(-reads // programs)
        self.assertEqual(report.count("processes", "lost"), silent)
        self.assertLess(silent, programs)
        self.assertLessEqual(recorded, reads)
        self.assertGreaterEqual(recorded + lost + missed, reads, f"recorded {recorded}, lost {lost}, of {silent} processes nothing")
        if lost + silent == 0:
            self.assertEqual(recorded, reads)
        self.assertEqual(report.count("osrt", "recorded"), report.value("SELECT count(*) FROM OSRT_API"))
        # Thread numbers come back in a long run, so threads are counted by their ends.
        ended = report.value("SELECT count(*) FROM TACHO_THREAD WHERE end IS NOT NULL")
        images = programs - report.value("SELECT count(DISTINCT globalPid) FROM TACHO_PROCESS")
        if silent == 0:
            self.assertIn(ended, (threads, threads + images), "an exec may end its process's thread")
        else:
            self.assertGreaterEqual(ended, threads - silent)
        return report

    def test_processes_alive_at_the_same_time(self):
        self.check("together", 1000 // SHARE)

    def test_more_processes_than_descriptors(self):
        self.check("together", 300 // SHARE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))

    def test_processes_in_turn(self):
        self.check("in-turn", 1000 // SHARE)

    def test_generations_of_fork_and_exec(self):
        self.check("generations", 200 // SHARE)

    def test_threads_alive_at_the_same_time(self):
        self.check("threads", 2000 // SHARE)

    def test_short_threads(self):
        self.check("short-threads", 100000 // SHARE)


if __name__ == "__main__":
    lib.main()
