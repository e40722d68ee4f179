"""Programs that are started by profiled programs and take no agent, or not as others do: 32-bit ones, those linked with a
sanitizer's runtime, those that may not read the agent. They run as without tacho, and what the loader says is not heard."""
import os
import shutil
import subprocess

import lib

EXEC = lib.program("exec")
WAYS = ("execve", "execvp", "execl", "execveat", "fexecve", "posix_spawn", "posix_spawnp", "vfork", "system")

# Prints whether its own children would get the runtime too, and has one, which must not have it: a shell leaks.
SANITIZED = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    const char *preload = getenv("LD_PRELOAD");
    printf("asan in LD_PRELOAD: %d\\n", preload && strstr(preload, "libasan"));
    fflush(stdout);
    usleep(10);
    return system("case $LD_PRELOAD in *libasan*) exit 9;; esac; x=$(echo 1); exit 4") >> 8;
}
"""
# Needs no headers and no start files of a 32-bit C library, but its loader.
FOREIGN = """
static int call(int number, int a, const void *b, int c)
{
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}
void _start(void)
{
    call(4, 1, "32-bit\\n", 7);
    call(1, 4, 0, 0);
}
"""


class Exec(lib.Case):
    def compile(self, name, source, *flags):
        with open(self.path(name + ".c"), "w") as file:
            file.write(source)
        done = subprocess.run(["gcc", *flags, "-o", self.path(name), self.path(name + ".c")], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("cannot build: " + done.stderr.strip().splitlines()[-1])

    def script(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)

    def same(self, *command, status=4):
        """The same output with and without tacho, which adds nothing on stderr before its own lines."""
        bare = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)
        self.assertEqual((bare.returncode, bare.stderr), (status, ""), bare)
        report = self.profile(*command, status=status, options=["--osrt-threshold=0"])
        self.assertEqual(self.output.stdout, bare.stdout)
        self.assertRegex(self.output.stderr, r"^tacho: ")
        return report

    def ways(self, program, check):
        self.script("script", f"#!{program}\n")
        self.script("by-shell", f"exec {program}\n")
        for how in WAYS:
            with self.subTest(how=how):
                check(self.same(EXEC, how, program))
        for how, command in (("execve", self.path("script")), ("posix_spawn", self.path("script")), ("execvp", self.path("by-shell")),
                             ("system", self.path("script")), ("execvp", "env")):
            with self.subTest(how=how, command=command):
                check(self.same(EXEC, how, command, *([program] if command == "env" else [])))

    def test_program_with_the_runtime_of_asan(self):
        self.compile("sanitized", SANITIZED, "-fsanitize=address")
        recorded = lambda report: self.assertEqual(report.calls().get("usleep"), 1)
        recorded(self.same(self.path("sanitized")))
        self.ways(self.path("sanitized"), recorded)

    def test_folder_of_that_name_in_the_path(self):
        """…is passed over, as execvp() does."""
        self.compile("sanitized", SANITIZED, "-fsanitize=address")
        os.makedirs(self.path("first/sanitized"))
        path = f"{self.path('first')}:{self.folder}:{os.environ['PATH']}"
        for how in ("execvp", "posix_spawnp"):
            with self.subTest(how=how):
                self.same("env", "PATH=" + path, EXEC, how, "sanitized")

    def test_programs_that_cannot_be_read_or_run_in_the_path(self):
        """One that can be run and not read is what execvp() finds, one that can be read and not run is not."""
        program, = self.open_to_all_users(EXEC)
        for folder, mode in (("text", 0o644), ("program", 0o711), ("foreign", 0o755)):
            os.mkdir(self.path(folder), 0o755)
            if folder == "program":
                shutil.copy(EXEC, self.path("program/tool"))
            else:
                with open(self.path(folder + "/tool"), "wb") as file:
                    file.write(b"\x7fELF\x01" + bytes(100))  # 32-bit: it would get no agent
            os.chmod(self.path(folder + "/tool"), mode)
        path = ":".join([self.path("text"), self.path("program"), self.path("foreign"), os.environ["PATH"]])
        tool = [*lib.AS_NOBODY, program, "execvp", "tool", "system", "exit 4"]
        self.assertEqual(self.same("env", "PATH=" + path, *tool).calls().get("system"), 1)

    def test_program_of_32_bits(self):
        if not os.path.exists("/lib/ld-linux.so.2"):
            self.skipTest("there is no loader for 32-bit programs (package libc6-i386)")
        self.compile("foreign", FOREIGN, "-m32", "-O", "-fno-pic", "-no-pie", "-nostdlib", "-ffreestanding", "-fno-stack-protector",
                     "-Wl,--dynamic-linker=/lib/ld-linux.so.2,--no-as-needed", "/lib32/libc.so.6")
        self.ways(self.path("foreign"), lambda report: None)
        self.assertIn("32-bit", self.output.stderr)

    def make_root(self):
        """A root folder with libc, tacho and a program, and no /proc."""
        self.need_root()
        if lib.SANITIZE:
            self.skipTest("a sanitized tacho needs more libraries than libc")
        needed = subprocess.run(["ldd", EXEC], capture_output=True, text=True).stdout
        files = [word for word in needed.split() if word.startswith("/")]
        self.assertFalse([file for file in files if not any(name in file for name in ("libc.so.6", "/ld-"))], files)
        for file in files:
            os.makedirs(self.path("root") + os.path.dirname(file), exist_ok=True)
            shutil.copy(file, self.path("root") + file)
        for file, place in ((lib.TACHO, "bin/tacho"), (lib.AGENT, "lib/tacho/libtacho-agent.so"), (EXEC, "bin/exec"),
                            (os.path.dirname(lib.AGENT) + "/libtacho-libraries.so", "lib/tacho/libtacho-libraries.so")):
            os.makedirs(os.path.dirname(self.path("root/" + place)), exist_ok=True)
            shutil.copy(file, self.path("root/" + place))

    def test_root_with_libc_alone(self):
        """Neither the agent nor its stubs need libdl, libpthread or librt to be there."""
        self.make_root()
        program = ["/bin/exec", "posix_spawn", "/bin/exec", "system"]  # which asks whether there is a shell
        for options in ([], ["-t", "osrt,cublas"]):
            done = subprocess.run(["chroot", self.path("root"), "/bin/tacho", "profile", "-s", "none", "--osrt-threshold=0", "-o", "/report.tacho",
                                   "-f", "true", *options, *program], capture_output=True, text=True, timeout=lib.PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.assertEqual(self.report("root/report.tacho").calls().get("posix_spawn"), 1)

    def test_root_without_the_agent(self):
        """Programs in another root are counted with the cause, and so are those that they start."""
        self.make_root()
        shutil.rmtree(self.path("root/lib/tacho"))
        done = self.run_tacho("chroot", self.path("root"), "/bin/exec", "posix_spawn", "/bin/exec", "posix_spawn", "/bin/exec", "system")
        self.assertEqual(done.returncode, 0, done.stderr)
        causes = self.report().causes("processes")
        self.assertEqual(set(causes), {"unreadable"})
        self.assertIn("from this root directory", done.stderr)
        done = subprocess.run(["chroot", self.path("root"), "/bin/tacho", "profile", "/bin/exec"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/proc is not mounted", done.stderr)

    def test_user_who_may_not_read_the_agent(self):
        self.need_root()
        for folder in ("bin", "lib"):
            shutil.copytree(os.path.join(os.path.dirname(lib.TACHO), "..", folder), self.path("tacho/" + folder), symlinks=True)
        self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o700)
        command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c", "echo here; exit 4"]
        for more in ([], ["--no-new-privs"]):
            program = command[:1] + more + command[1:]
            done = subprocess.run([self.path("tacho/bin/tacho"), "profile", "-s", "none", "-o", self.path("report.tacho"), "-f", "true", *program],
                                  cwd="/", capture_output=True, text=True, timeout=lib.PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (4, "here\n"), done.stderr)
            self.assertRegex(done.stderr, r"^tacho: ")
            if not more:
                self.assertIn("the agent's file cannot be read", done.stderr)


if __name__ == "__main__":
    lib.main()
