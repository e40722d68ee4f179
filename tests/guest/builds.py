"""Programs as other compilers, options and C libraries make them, and in surroundings that few have: bare and profiled they do the same."""
import os
import shutil
import subprocess
import sys

import guestlib

# A thread, a child, a file and the heap: what hooks see of most programs.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *add(void *number) { pthread_mutex_lock(&lock); sum += *(int *)number; pthread_mutex_unlock(&lock); return NULL; }
int main(void)
{
    pthread_t threads[3];
    int numbers[] = { 1, 20, 300 }, status = 0;
    char *text = malloc(100), *line = NULL;
    size_t room = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, add, &numbers[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    snprintf(text, 100, "sum %d, terminals %d %d\n", sum, isatty(0), isatty(1));
    FILE *file = fopen("file", "w+");
    fputs(text, file);
    rewind(file);
    getline(&line, &room, file);
    printf("%s", line);
    fclose(file);
    fflush(stdout);
    free(text);
    free(line);
    if (fork() == 0)
        _exit(3);
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    return 5;
}
"""
# Thrown where libc has called back, and caught behind it; and where a thread ends.
EXCEPTIONS = r"""
#include <cstdio>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
int main()
{
    std::once_flag once;
    for (int i = 0; i < 2; i++)
        try { std::call_once(once, [i] { if (i == 0) throw std::runtime_error("once"); std::puts("called"); }); }
        catch (const std::exception &error) { std::puts(error.what()); }
    try { std::async(std::launch::async, [] { throw std::runtime_error("thread"); }).get(); }
    catch (const std::exception &error) { std::puts(error.what()); }
    std::terminate();
}
"""
OWN_MALLOC = r"""
#include <stddef.h>
#include <string.h>
static char heap[1 << 22] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t bytes)
{
    size_t at = __atomic_fetch_add(&used, (bytes + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (at + bytes + 32 > sizeof heap)
        return NULL;
    *(size_t *)(heap + at) = bytes;
    return heap + at + 16;
}
void free(void *memory) { (void)memory; }
void *calloc(size_t count, size_t bytes) { void *memory = malloc(count * bytes); return memory ? memset(memory, 0, count * bytes) : NULL; }
void *realloc(void *old, size_t bytes)
{
    void *memory = malloc(bytes);
    size_t before = old ? ((size_t *)old)[-2] : 0;
    return memory && old ? memcpy(memory, old, before < bytes ? before : bytes) : memory;
}
""" + PROGRAM
# Another library that stands before a function which the agent hooks too.
OTHER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int fclose(FILE *file)
{
    int (*next)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
    write(2, "closed\n", 7);
    return next(file);
}
"""

# name: compiler, options, ending and text of the source.
BUILDS = {
    "gcc": ("gcc", [], "c", PROGRAM),
    "clang": ("clang", [], "c", PROGRAM),
    "asan": ("gcc", ["-fsanitize=address"], "c", PROGRAM),
    "ubsan": ("gcc", ["-fsanitize=undefined"], "c", PROGRAM),
    "tsan": ("gcc", ["-fsanitize=thread"], "c", PROGRAM),
    "static": ("gcc", ["-static"], "c", PROGRAM),
    "musl": ("musl-gcc", [], "c", PROGRAM),
    "exceptions": ("g++", [], "cc", EXCEPTIONS),
    "own-malloc": ("gcc", ["-fno-builtin"], "c", OWN_MALLOC),
    "other.so": ("gcc", ["-shared", "-fPIC"], "c", OTHER),
}
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.argv[1]])))"
LARGE = "import os, sys; os.execve(sys.argv[1], sys.argv[1:2], dict(os.environ, **{f'LARGE{i}': 'x' * 120000 for i in range(16)}))"


class Builds(guestlib.Case):
    def build(self, name):
        compiler, options, ending, text = BUILDS[name]
        source, path = self.path(f"{name}-source.{ending}"), self.path(name)
        with open(source, "w") as file:
            file.write(text)
        done = subprocess.run([compiler, *options, source, "-o", path, "-pthread"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def programs(self):
        paths = {name: self.build(name) for name in BUILDS}
        usual, other = paths["gcc"], paths["other.so"]
        found = [guestlib.Program(name, [path]) for name, path in paths.items() if path != other]
        found += [guestlib.Program("terminal", [sys.executable, "-c", TERMINAL, usual]),
                  guestlib.Program("large-environment", [sys.executable, "-c", LARGE, usual]),
                  guestlib.Program("other-first", ["sh", "-c", f'LD_PRELOAD="{other}${{LD_PRELOAD:+:$LD_PRELOAD}}" exec {usual}']),
                  guestlib.Program("other-last", ["sh", "-c", f'LD_PRELOAD="${{LD_PRELOAD:+$LD_PRELOAD:}}{other}" exec {usual}'])]
        if os.geteuid() == 0:
            privileged = self.path("setuid")
            shutil.copy(usual, privileged)
            os.chmod(privileged, 0o4755)
            found.append(guestlib.Program("setuid", [*guestlib.lib.AS_NOBODY, privileged]))
        return found

    def test_as_children(self):
        every = [name for name in guestlib.EACH if "standin" not in name]
        self.compare(self.programs(), self.as_children, gate=["osrt+nvtx+perf", "osrt+cuda+libraries+python+timers"], every=every)

    def test_with_cuda(self):
        """ASan refuses the library that uses CUDA for the program. setpriv has threads then, and libc ends it: only one of them keeps its rights."""
        programs = [program for program in self.programs() if program.name not in ("asan", "setuid")]
        self.compare(programs, self.as_children, gate=["cuda+nvtx+standin"], every=[name for name in guestlib.EACH if "standin" in name])


if __name__ == "__main__":
    guestlib.lib.main()
