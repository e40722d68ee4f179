"""The buffers of a process are neither its address space, nor its locked memory, nor in its core dumps, as far as it does not fill them; and
limits that are meant for the program do not stop the collector."""
import errno
import resource
import subprocess
import sys
import unittest

import lib

MEMORY = lib.program("memory")
MEGABYTE = 1 << 20
A_FEW_PAGES_KB = 64  # what the loader has more of, and how mappings lie in pages
GUEST_KB = 8192  # the agent with all that it maps from the start


def limit(what, soft, hard):
    return lambda: resource.setrlimit(what, (soft, hard))


@unittest.skipIf(lib.SANITIZE, "sanitizers take the address space for themselves")
class AddressSpace(lib.Case):
    def both(self, *arguments, options=(), **more):
        """What the program prints bare and profiled."""
        bare = subprocess.run([MEMORY, *arguments], capture_output=True, text=True, check=True, **more)
        done = self.run_tacho(MEMORY, *arguments, options=options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return bare.stdout, done.stdout

    def test_size(self):
        bare, profiled = self.both("size")
        self.assertLess(int(profiled), int(bare) + GUEST_KB)

    def test_memory_that_is_left_of_a_small_address_space(self):
        """The limit is for the program alone: the collector maps all of its buffers."""
        limited = ["sh", "-c", 'ulimit -v 300000; exec "$@"', "sh", MEMORY, "allocate"]
        bare = subprocess.run(limited, capture_output=True, text=True, check=True).stdout
        report = self.profile(*limited)
        self.assertGreater(int(self.output.stdout), int(bare) - 16)
        self.assertEqual(report.count("notes", "lost"), 0)
        self.assertNotIn("was not traced", self.output.stderr)

    def test_many_processes_and_a_small_address_space_for_all(self):
        """The limit is for the collector too, which maps the buffers of all processes that are there at a time."""
        program = """if True:
            import subprocess
            cats = [subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) for _ in range(10)]
            for cat in cats:
                cat.stdin.write(b"x")
                assert cat.stdout.read(1) == b"x"
            for cat in cats:
                cat.stdin.close()
                cat.wait()"""
        report = self.profile(sys.executable, "-c", program, preexec_fn=limit(resource.RLIMIT_AS, 2 << 30, 2 << 30))
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE unrecorded IS NULL AND origin != 'fork'"), 1 + 10)

    def test_locked_memory(self):
        """mlockall() locks the program's memory: not the agent's code, nor its buffers, nor the stack that its signal handler has."""
        for how in ({}, {"options": ["-t", "osrt,cublas", "-s", "none"]}, {"options": ["-s", "process-tree"], "preexec_fn": lib.refuse_perf_events}):
            with self.subTest(**how):
                bare, profiled = self.both("lock", **how)
                self.assertEqual(profiled.split()[0], bare.split()[0])
                self.assertAlmostEqual(int(profiled.split()[1]), int(bare.split()[1]), delta=A_FEW_PAGES_KB)

    def test_locked_memory_does_not_grow_with_what_is_recorded(self):
        """Nobody empties the buffer meanwhile. A thread of the program has a stack of 1 MB."""
        report = self.profile(MEMORY, "lock_first", "300000", options=["-t", "nvtx"], preexec_fn=limit(resource.RLIMIT_STACK, MEGABYTE, resource.RLIM_INFINITY))
        self.assertLess(int(self.output.stdout), 2048 + A_FEW_PAGES_KB)
        self.assertEqual(report.count("nvtx", "recorded"), 300001)

    def test_locked_memory_beside_threads(self):
        """Nor what other threads have of the agent: the stacks of their handlers, and room for names of ranges."""
        for how in ({"options": ["-t", "nvtx,osrt", "-s", "none"]}, {"options": ["-s", "process-tree"], "preexec_fn": lib.refuse_perf_events}):
            with self.subTest(**how):
                bare, profiled = self.both("lock_beside", "16", **how)
                self.assertEqual(profiled.split()[0], bare.split()[0])
                self.assertAlmostEqual(int(profiled.split()[1]), int(bare.split()[1]), delta=A_FEW_PAGES_KB)

    def test_locked_memory_of_a_user(self):
        """The limit decides as it does without the agent, whose mappings the kernel counts: there is room for the program alone, for some
        of the agent's memory too, or for neither."""
        memory, = self.open_to_all_users(MEMORY)
        size = int(subprocess.run([MEMORY, "lock"], capture_output=True, text=True, check=True).stdout.split()[2])
        now, later, on_fault = 1, 2, 4
        for more, flags, error in ((A_FEW_PAGES_KB, now, 0), (A_FEW_PAGES_KB, now | later, 0), (1024, now | later | on_fault, 0), (8192, now | later, 0),
                                   (-A_FEW_PAGES_KB, now | later, errno.ENOMEM), (-A_FEW_PAGES_KB, later, 0), (-size, now, errno.EPERM)):
            with self.subTest(more=more, flags=flags):
                command = ["sh", "-c", f'ulimit -l {size + more}; exec "$@"', "sh", *lib.AS_NOBODY, memory, "lock", str(flags)]
                bare = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                profiled = self.run_tacho(*command).stdout.split()
                self.assertEqual((bare[0], profiled[0]), (str(error), str(error)))
                self.assertAlmostEqual(int(profiled[1]), int(bare[1]), delta=A_FEW_PAGES_KB)

    def test_environments_of_vfork_children(self):
        """The agent adds itself to a copy of each, in memory of the parent's, which the child cannot give back."""
        self.assertEqual(self.both("vforks", "20"), ("0\n", "0\n"))

    def test_core_dumps_and_children(self):
        """dd: not dumped; dc: not inherited."""
        self.profile(MEMORY, "advice")
        lines = self.output.stdout.splitlines()
        self.assertGreater(len(lines), 2)
        for line in lines:
            self.assertLess({"dd", "dc"}, set(line.split()), line)

    def test_grows_with_what_is_recorded(self):
        """40 MB of events and 700 threads at once while nobody empties the buffer: it has room for all of that."""
        report = self.profile(MEMORY, "crowd", "600000", "700", options=["-t", "nvtx"])
        self.assertEqual(report.count("nvtx", "recorded"), 600700)
        self.assertEqual(report.produced("nvtx"), 600700)
        self.assertEqual(report.value("SELECT count(DISTINCT globalTid) FROM NVTX_EVENTS"), 701)
        self.assertEqual(report.count("notes", "lost"), 0)


    def test_no_address_space_for_more_of_the_buffer(self):
        """The events that are lost are counted, and the warning names the limit that is in the way."""
        report = self.profile(MEMORY, "full", "300000", options=["-t", "nvtx"])
        self.assertEqual(report.produced("nvtx"), 300001)
        self.assertLess(report.count("nvtx", "recorded"), 300000)
        self.assertIn("could not map more of its buffer (Cannot allocate memory)", self.output.stderr)
        self.assertIn("raise ulimit -v", self.output.stderr)

    def test_no_address_space_for_any_of_the_buffer(self):
        """There is room for the agent beside the program (1.5 MB), and not for the 2 MB that its buffer begins with: it is said once, with the
        name."""
        size = int(subprocess.run([MEMORY, "size"], capture_output=True, text=True, check=True).stdout)
        done = self.run_tacho("sh", "-c", f'ulimit -v {size + 2304}; exec "$@"', "sh", MEMORY, "limits", options=["-t", "osrt", "-s", "none"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"1 process was not traced: no address space was left for a buffer \(ulimit -v\)\. First: memory \(pid")
        self.assertEqual(done.stderr.count("not traced"), 1)


class FileSize(lib.Case):
    """ulimit -f: memory that is shared is a file to the kernel."""

    def limited(self, soft, hard, *command, **more):
        return self.run_tacho(*command, preexec_fn=limit(resource.RLIMIT_FSIZE, soft, hard), **more)

    def test_the_soft_limit_is_the_programs(self):
        done = self.limited(MEGABYTE, resource.RLIM_INFINITY, "sh", "-c", f"{MEMORY} limits; true", options=["-t", "osrt", "--osrt-threshold", "0"])
        self.assertEqual((done.returncode, done.stdout), (0, f"{MEGABYTE} -1 default\n"), done.stderr)
        self.assertGreater(self.report().produced("osrt"), 0)

    def test_a_hard_limit_makes_the_buffer_smaller(self):
        done = self.limited(200 * MEGABYTE, 200 * MEGABYTE, "sh", "-c", f"{MEMORY} limits; true", options=["-t", "osrt", "--osrt-threshold", "0"])
        self.assertEqual((done.returncode, done.stdout), (0, f"{200 * MEGABYTE} {200 * MEGABYTE} default\n"), done.stderr)
        self.assertGreater(self.report().produced("osrt"), 0)

    def test_a_program_that_cannot_be_recorded_runs_all_the_same(self):
        done = self.limited(16 * MEGABYTE, 16 * MEGABYTE, MEMORY, "limits", options=["-t", "osrt"])
        self.assertEqual((done.returncode, done.stdout), (0, f"{16 * MEGABYTE} {16 * MEGABYTE} default\n"), done.stderr)
        self.assertIn("1 process was not traced: the collector could not create shared memory for a buffer (File too large). First: memory (pid", done.stderr)
        self.assertEqual(done.stderr.count("not traced"), 1, "it is said once")
        self.assertEqual(self.report().count("processes", "lost", "no-shared-memory"), 1)


if __name__ == "__main__":
    lib.main()
