"""OS calls: programs that call every hooked function print the same with and without the agent, and each call is
in the report with its result, errno and nesting level."""
import errno
import os
import re
import subprocess

import lib

DEFINITION = os.path.join(lib.SOURCE, "src/wire/libc_calls.def")
ROW = re.compile(r"OS(?:_OWN)?\((?:[^,]+), (\w+), (\w+),")

# Functions whose calls here never block or never return, hence make no rows: counted as untimed, or told in other records.
WITHOUT_ROWS = {
    "pthread_mutex_trylock", "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", "pthread_spin_lock", "pthread_spin_trylock",
    "sem_trywait", "mtx_trylock", "ftrylockfile", "_exit", "_Exit", "quick_exit", "fgetc", "putc", "putchar",
    "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock", "sigpending", "pthread_key_create", "tss_create", "sigaltstack", "longjmp", "siglongjmp", "sigaction", "signal", "sigset", "sigignore",
    "syscall", "getppid",
}
# Younger than glibc 2.28: the programs leave out what is not there.
YOUNG = {"close_range", "epoll_pwait2", "execveat", "tgkill", "sem_clockwait", "pthread_clockjoin_np", "pthread_cond_clockwait",
         "pthread_mutex_clocklock"}


def rows_of_definition():
    with open(DEFINITION) as file:
        return [match.groups() for match in map(ROW.match, file) if match]


class Calls(lib.Case):
    def run_bare(self, *arguments, **environment):
        folder = self.path("bare" + str(len(os.listdir(self.folder))))
        os.mkdir(folder)
        return subprocess.run(arguments, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=lib.PATIENCE,
                              env={**os.environ, **environment})

    def profile_calls(self, name):
        """The program prints the same in all three ways; its report with every call in it."""
        bare = self.run_bare(lib.program(name))
        self.assertEqual(bare.returncode, 0, bare.stderr)
        preloaded = self.run_bare(lib.program(name), LD_PRELOAD=lib.AGENT)
        self.assertEqual(preloaded.stdout, bare.stdout)
        self.assertEqual(preloaded.returncode, 0, preloaded.stderr)
        os.mkdir(self.path("traced"))
        report = self.profile(lib.program(name), options=["--osrt-threshold=0"], stdin=subprocess.DEVNULL, cwd=self.path("traced"))
        self.assertEqual(self.output.stdout, bare.stdout)
        return report

    def test_every_function_behaves_as_without_and_is_recorded(self):
        names = {shown for _, shown in rows_of_definition()}
        self.assertGreaterEqual(len(names), 200)
        found = set()
        for name in ("os_calls", "os_threads"):
            with self.subTest(program=name):
                found |= set(self.profile_calls(name).calls())
                subprocess.run(["rm", "-rf", self.path("traced")], check=True)
        self.assertEqual(names - found - WITHOUT_ROWS - YOUNG, set(), "these have no rows in the reports")
        self.assertEqual(found - names, set(), "these rows name functions that are not hooked")

    def test_results_and_errors(self):
        report = self.profile_calls("os_calls")
        rows = report.rows("""SELECT value, returnValue, errnoValue FROM OSRT_API JOIN StringIds ON id = nameId
                              WHERE nestingLevel = 0 ORDER BY start""")
        for row in [("read", 5, None), ("read", 0, None), ("read", -1, 9), ("write", 12, None), ("open", -1, 2), ("close", -1, 9),
                    ("posix_fallocate64", 9, 9), ("clock_nanosleep", 22, 22), ("mmap", -1, 22), ("sched_yield", 0, None),
                    ("epoll_ctl", -1, 17), ("getaddrinfo", -2, None), ("sleep", 0, None), ("pause", -1, 4)]:
            self.assertIn(row, rows)
        self.assertEqual(report.value("SELECT count(*) FROM OSRT_API WHERE end < start OR eventClass != 27 OR (callchainId != 0) != (end - start >= 80000)"), 0)

    def test_end_of_a_stream_is_no_error(self):
        rows = self.profile_calls("os_threads").rows("""SELECT value, returnValue, errnoValue FROM OSRT_API JOIN StringIds ON id = nameId""")
        for row in [("fgets", 0, None), ("fgets", 0, errno.EIO), ("fread", 0, errno.EIO), ("getc", -1, None), ("getc", -1, errno.EIO),
                    ("getchar", -1, None), ("fputc", -1, errno.EBADF), ("fseek", -1, errno.EINVAL)]:
            self.assertIn(row, rows)

    def test_nesting_and_jumps(self):
        report = self.profile_calls("os_threads")
        nested = report.rows("""SELECT value, nestingLevel, returnValue FROM OSRT_API JOIN StringIds ON id = nameId
                                WHERE nestingLevel > 0""")
        self.assertEqual(nested, [("write", 1, 1)], "only the handler's write is nested, although jumps left calls open")
        self.assertEqual(report.count("osrt", "lost", "in-signal"), 20, "reads that were left by a jump")
        cancelled = report.rows("""SELECT value, returnValue FROM OSRT_API JOIN StringIds ON id = nameId
                                   WHERE errnoValue = ? ORDER BY start""", errno.ECANCELED)
        self.assertEqual(cancelled, [("read", -1), ("sem_wait", -1)])
        self.assertEqual(report.count("osrt", "recorded"), report.value("SELECT count(*) FROM OSRT_API"))

    def test_locks_that_were_waited_for(self):
        calls = self.profile_calls("os_threads").calls()
        for name in ("pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "mtx_lock", "flockfile", "sem_wait"):
            self.assertGreaterEqual(calls.get(name, 0), 1, name)

    def test_cleared_environments_are_followed(self):
        report = self.profile_calls("os_threads")
        shells = report.value("""SELECT count(DISTINCT globalPid) FROM TACHO_PROCESS WHERE origin = 'exec' AND command LIKE '%GREETING%'""")
        self.assertEqual(shells, 9 * 2 + 4, "each way of exec after fork and after vfork, and each posix_spawn")
        failed = report.rows("""SELECT value, errnoValue FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE '%exec%'""")
        self.assertIn(("execve", 2), failed)
        self.assertIn(("execv", 13), failed)
        self.assertIn(("fexecve", 22), failed)


class Environment(lib.Case):
    def environment_of_child(self, *command):
        report = self.profile(*command)
        del report
        return dict(line.split("=", 1) for line in self.output.stdout.splitlines() if "=" in line)

    def test_env_i(self):
        variables = self.environment_of_child("env", "-i", "OWN=1", "env")
        self.assertEqual(variables["OWN"], "1")
        self.assertEqual(variables["LD_PRELOAD"], lib.AGENT)
        self.assertEqual(variables["NVTX_INJECTION64_PATH"], lib.AGENT)
        self.assertIn("TACHO_SESSION", variables)

    def test_own_preload_is_kept(self):
        other = "libSegFault-that-does-not-exist.so"
        variables = self.environment_of_child("env", "-i", f"LD_PRELOAD={other}", "NVTX_INJECTION64_PATH=/mine", "env")
        self.assertEqual(variables["LD_PRELOAD"], f"{lib.AGENT}:{other}")
        self.assertEqual(variables["NVTX_INJECTION64_PATH"], "/mine")

    def test_preload_does_not_grow(self):
        variables = self.environment_of_child("sh", "-c", "sh -c 'sh -c env'")
        self.assertEqual(variables["LD_PRELOAD"].count(lib.AGENT), 1)


class Loading(lib.Case):
    """dlopen searches along the paths of the object that calls it, also through the hook."""

    def build(self, *arguments):
        done = subprocess.run([os.environ["CC"], *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def test_search_paths_of_the_caller(self):
        for folder in ("by_program", "by_library"):
            os.mkdir(self.path(folder))
        self.write("one.c", "int one(void) { return 1; }\n")
        self.write("middle.c", """#include <dlfcn.h>
            int middle(void) { return dlopen("libinner.so", RTLD_NOW) != 0; }\n""")
        self.write("main.c", """#include <dlfcn.h>
            #include <stdio.h>
            extern int middle(void);
            int main(void) {
                printf("%d", dlopen("libouter.so", RTLD_NOW) != 0);
                printf("%d", middle());
                printf("%d", dlopen("$ORIGIN/by_program/libouter.so", RTLD_NOW) != 0);
                printf("%d\\n", dlopen("libinner-nowhere.so", RTLD_NOW) != 0);
                return 0;
            }\n""")
        for tags in ("--enable-new-dtags", "--disable-new-dtags"):  # RUNPATH, RPATH
            with self.subTest(tags=tags):
                self.build("-shared", "-fPIC", "-o", "by_program/libouter.so", "one.c")
                self.build("-shared", "-fPIC", "-o", "by_library/libinner.so", "one.c")
                self.build("-shared", "-fPIC", "-o", "libmiddle.so", "middle.c", f"-Wl,{tags},-rpath,$ORIGIN/by_library")
                self.build("-o", "main", "main.c", "-L.", "-lmiddle", "-ldl", f"-Wl,{tags},-rpath,$ORIGIN:$ORIGIN/by_program")
                bare = subprocess.run([self.path("main")], capture_output=True, text=True)
                self.assertEqual(bare.stdout, "1110\n")
                report = self.profile(self.path("main"), options=["--osrt-threshold=0"])
                self.assertEqual(self.output.stdout, bare.stdout)
                self.assertEqual(report.count("osrt", "untimed") + report.calls().get("dlopen", 0), 4)

    def test_conditions(self):
        """A signal is timed if a thread waits for it, else counted. The thread holds the mutex until it waits."""
        self.write("main.c", """#include <pthread.h>
            static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
            static pthread_cond_t plain = PTHREAD_COND_INITIALIZER, by_monotonic;
            static int begun, over;
            static void *wait_for(void *condition) {
                pthread_mutex_lock(&mutex);
                begun = 1;
                while (!over) pthread_cond_wait(condition, &mutex);
                pthread_mutex_unlock(&mutex);
                return 0;
            }
            int main(void) {
                pthread_condattr_t attributes;
                pthread_condattr_init(&attributes);
                pthread_condattr_setclock(&attributes, 1);
                pthread_cond_init(&by_monotonic, &attributes);
                for (int i = 0; i < 4; i++) {
                    pthread_cond_t *condition = i % 2 ? &plain : &by_monotonic;
                    pthread_t thread;
                    for (int j = 0; j < 1000; j++) pthread_cond_signal(condition), pthread_cond_broadcast(condition);
                    begun = over = 0;
                    pthread_create(&thread, 0, wait_for, condition);
                    for (int seen = 0; !seen;) {
                        pthread_mutex_lock(&mutex);
                        seen = over = begun;
                        if (seen) (i < 2 ? pthread_cond_signal : pthread_cond_broadcast)(condition);
                        pthread_mutex_unlock(&mutex);
                    }
                    pthread_join(thread, 0);
                }
                return 0;
            }\n""")
        self.build("-o", "main", "main.c", "-lpthread")
        report = self.profile(self.path("main"), options=["--osrt-threshold=0"])
        calls = report.calls()
        self.assertEqual((calls["pthread_cond_signal"], calls["pthread_cond_broadcast"]), (2, 2))
        self.assertGreaterEqual(report.count("osrt", "untimed"), 8000)


if __name__ == "__main__":
    lib.main()
