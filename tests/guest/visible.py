"""What a program can notice of being profiled, and what it notices today though it should not.

A row of VISIBLE is a difference that cannot be hidden, with the reason; docs/guest.md has the same list, and a test compares both. A row of
EXPECTED_DIFFERENCES is a fault that is known; the test fails when it is gone, so that the row goes too."""
import collections
import re

Visible = collections.namedtuple("Visible", "what difference where why program", defaults=[".*"])
Expected = collections.namedtuple("Expected", "program where difference why")

# what and why: as in docs/guest.md. difference: all of a line; where: all of a combination's name and way ("nvtx+osrt as_first"); both regular
# expressions, as is the program's name where only one can see it.
VISIBLE = [
    Visible("`LD_PRELOAD`, `NVTX_INJECTION64_PATH`, `CUDA_INJECTION64_PATH`, `TACHO_SESSION` in the environment",
            r"[-+] stdout: environment (LD_PRELOAD|NVTX_INJECTION64_PATH|CUDA_INJECTION64_PATH|TACHO_SESSION)=.*", ".*",
            "The loader, NVTX and CUDA find the agent by them, and the agent the collector: programs that are started inherit them."),
    Visible("more libraries in `LD_PRELOAD`, in programs that use MPI or OpenMP, and with `-t mpi`, `openmp`, `ucx`, `oshmem`, `heap` or the name of a library",
            r"[-+] stdout: environment LD_PRELOAD=.*", ".*(mpi|openmp|ucx|oshmem|heap|libraries).*",
            "They interpose the functions of these."),
    Visible("`ACC_PROFLIB` in the environment, with `-t openacc`",
            r"[-+] stdout: environment ACC_PROFLIB=.*", ".*openacc.*",
            "OpenACC runtimes find the agent by it."),
    Visible("`NCCL_PROFILER_PLUGIN` in the environment, with `--nccl-plugin`",
            r"[-+] stdout: environment NCCL_PROFILER_PLUGIN=.*", ".*nccl.*",
            "NCCL finds Tacho's plugin by it."),
    Visible("`PYTHONPATH` and `TACHO_PYTHON` in the environment, with the options that change Python programs",
            r"[-+] stdout: environment (PYTHONPATH|TACHO_PYTHON)=.*", ".*pytorch.*",
            "Python finds the module that traces functions by them."),
    Visible("the agent and its memory among the mappings of `/proc/self/maps`",
            r"\+ stdout: mapped (.*/libtacho-(agent|heap|libraries|mpi|openacc|openmp|oshmem|ucx)\.so|/memfd:tacho \(deleted\)|.*/libcupti\.so\.[0-9]+)", ".*",
            "The agent is a library of the process, and its buffer is shared with the collector. It loads CUPTI into programs that use CUDA."),
    Visible("threads of Tacho and of CUPTI in a program that uses CUDA",
            r"threads \+2", ".*cuda.*standin.*",
            "CUPTI hands records over only when it is asked, which takes a thread; CUPTI has one of its own."),
    Visible("what a debugger says about these threads",
            r"[-+] stdout: (\[New Thread .*|\[Thread .* exited\]|\[New process N\]|(Thread N .* hit )?Breakpoint 1, .*)", ".*cuda.*standin.*",
            "A debugger names every thread.", program="gdb"),
    Visible("the end of a program that uses CUDA before `main()` and refuses to run with more than one thread, as Chromium's zygote does",
            r"[-+] (status (0|-6)|stdout: <html>.*)", ".*cuda.*standin.*",
            "It counts its threads, and those above are among them.", program="chromium"),
    Visible("of these threads only CUPTI's, once the program has installed a seccomp filter or set `no_new_privs`",
            r"threads \+1", ".*cuda.*standin.*", "Recording stops, and with it the thread of Tacho. CUPTI's cannot be stopped.",
            program="seccomp/.*|identity/controls|stacks/handlers_of_a_program_that_gives_up_privileges"),
    Visible("more memory that `mlockall()` locks, in a program that uses CUDA; it fails where `RLIMIT_MEMLOCK` has no room for that",
            r"[-+] stdout: (mlockall: .*|locked .*)", ".*cuda.*standin.*",
            "CUPTI and the stacks of the threads above count as the program's. The agent's buffers are not locked.",
            program="memory/lock_as_user_with_8_mb"),
    Visible("with `--preload=no`: `tacho` as the parent of orphans, one key of `pthread_key_create()` less, and CUPTI's thread, for which libc waits when all others have called `pthread_exit()`",
            r"[-+] (stdout: .*|status (0|hung))", "no-preload.*",
            "Nothing is hooked then, and hooks are what hides these.",
            program="ends/ends_with_the_(first|last)_thread|processes/daemon_by_two_forks|threads/all_keys"),
    Visible("libc's own signal handler for `setuid()`, as `SigCgt` of `/proc/self/status` shows it",
            r"[-+] stdout: status SigCgt:\t0000000[01]00000000", ".*cuda.*standin.*",
            "libc installs it with the first thread, and the program's first thread may be one of those above."),
    Visible("a handler of SIGURG, as `SigCgt` shows it, where samples come by timers",
            r"[-+] stdout: status SigCgt:\t0000000[01][08]0[04]0[0-9a-f]{4}", ".*timers.*",
            "Each sample is a signal to the thread. `sigaction()` shows the program's own handler."),
    Visible("a SIGURG that another process sends, where samples come by timers: it ends `nanosleep()`, `poll()` and their like with EINTR",
            r"[-+] stdout: nanosleep: (0|errno 4)", ".*timers.*",
            "The kernel does not restart these calls after a handler, and the agent's is one. Without Tacho the signal does nothing.",
            program="signals/urgent_data_that_nobody_waits_for"),
    Visible("a gap in the keys of `pthread_key_create()`: 31 is taken",
            r"[-+] stdout: key (31|4[0-9])", ".*",
            "The agent learns by it that a thread ends. The values of later keys make libc allocate memory.",
            program="threads/keys_of_threads"),
    Visible("`tacho` as the parent of the first process, and as leader of the process group or session that was to be the program's",
            r"[-+] stdout: leads its group [01], its session [01]", ".* as_first",
            "`tacho` starts the program, waits for it and passes its status on, as `time` and `strace` do."),
]

EXPECTED_DIFFERENCES = []


MOST_LINES = 16  # of a program, in what a failure says


def is_visible(program, where, difference):
    return any(re.fullmatch(row.difference, difference) and re.fullmatch(row.where, where) and re.fullmatch(row.program, program) for row in VISIBLE)


def judge(program, where, differences):
    """Sentences on the differences that no row has, and on rows that no difference has."""
    hidden = [line for line in differences if not is_visible(program, where, line)]
    rows = [row for row in EXPECTED_DIFFERENCES if re.fullmatch(row.program, program) and re.fullmatch(row.where, where)]
    unknown = [line for line in hidden if not any(re.fullmatch(row.difference, line) for row in rows)]
    failures = ["\n    ".join([f"{program} differs under {where}:", *unknown[:MOST_LINES], *["…"] * (len(unknown) > MOST_LINES)])] if unknown else []
    return failures + [f"{program} no longer differs under {where} ({row.why}): remove the row of EXPECTED_DIFFERENCES"
                       for row in rows if not any(re.fullmatch(row.difference, line) for line in hidden)]
