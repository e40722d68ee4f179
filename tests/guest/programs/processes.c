/* Processes: how they are made, who their parents are, what their parents see of them. */
#include "guest.h"

#include <linux/sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

static int exit_seven(void)
{
    return 7;
}

PROGRAM(fork_and_wait)
{
    in_child("child", exit_seven);
    say_result("wait", wait(NULL));
    return 0;
}

static int depth;

static int fork_deeper(void)
{
    if (++depth == 12)
        return 3;
    pid_t child = fork();
    if (child == 0)
        _exit(fork_deeper());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

PROGRAM(deep_forks)
{
    in_child("child", fork_deeper);
    return 0;
}

PROGRAM(fork_by_vfork)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(7);
    say_child("child", child);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(99);
    }
    say_child("sh", child);
    child = vfork();
    if (child == 0) {
        execl("/no/such/program", "program", (char *)NULL);
        _exit(errno);
    }
    say_child("no such program", child);
    return 0;
}

PROGRAM(spawn)
{
    pid_t child = 0;
    char *argv[] = { "sh", "-c", "echo spawned; exit 5", NULL }, *nothing[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, 1, 7);
    posix_spawn_file_actions_addclose(&actions, 0);
    posix_spawnattr_init(&attributes);
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int answer = posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
    say_child("sh", child);
    say("spawn %d", answer);
    answer = posix_spawnp(&child, "sh", NULL, NULL, argv, nothing);
    say_child("sh", child);
    say("spawn in an empty environment %d", answer);
    say("no such program %d", posix_spawn(&child, "/no/such/program", NULL, NULL, argv, environ));
    return 0;
}

PROGRAM(failing_exec)
{
    char *argv[] = { "program", NULL };
    say_result("no such program", execv("/no/such/program", argv));
    say_result("a folder", execv("/", argv));
    say_result("not executable", execv("/etc/passwd", argv));
    say_result("nothing", execvp("", argv));
    say("still here");
    in_child("child", exit_seven);
    return 0;
}

PROGRAM(exec_of_a_bad_address)
{
    char *argv[] = { "program", NULL };
    say_result("exec", execve(nowhere, argv, environ));
    say_result("exec", execve("/no/such/program", nowhere, environ));
    say_result("exec", execve("/bin/true", argv, nowhere));
    say_result("exec", execve("/bin/true", argv, (char *[]){ "A=1", nowhere, NULL }));
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    memset(pages, 'x', 4096); /* a text that does not end before its page */
    say_result("exec", execve("/bin/true", argv, (char *[]){ pages + 4000, NULL }));
    say_result("spawn", posix_spawn(NULL, nowhere, NULL, NULL, argv, environ));
    return 0;
}

/* As much as the kernel takes, but for what the agent adds to the environment. */
static int exec_with_bytes(size_t bytes)
{
    enum { PIECE = 100000 };
    static char *argv[200] = { "sh", "-c", "exit 4" };
    static char piece[PIECE + 1];
    memset(piece, 'x', PIECE);
    int filled = 3;
    for (; bytes > PIECE && filled < 198; bytes -= PIECE + 1 + sizeof(char *))
        argv[filled++] = piece;
    argv[filled++] = piece + PIECE - bytes;
    argv[filled] = NULL;
    pid_t child = fork();
    if (child == 0) {
        execve("/bin/sh", argv, environ);
        _exit(errno);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

PROGRAM(long_arguments)
{
    struct rlimit limit = { 8 << 20, RLIM_INFINITY };
    setrlimit(RLIMIT_STACK, &limit); /* a quarter of it is for arguments and environment */
    say("with 1.9 MB %d", exec_with_bytes(1900000));
    say("with 2.2 MB %d", exec_with_bytes(2200000));
    return 0;
}

static pid_t clone_raw(unsigned long flags)
{
#if defined(__x86_64__)
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0L);
#else
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, 0L, NULL);
#endif
}

/* Not by libc: nobody hears of it. */
PROGRAM(clone_by_system_call)
{
    struct timespec moment = { 0, 100000 };
    pid_t child = clone_raw(SIGCHLD);
    if (child == 0) {
        say("a clone");
        nanosleep(&moment, NULL);
        _exit(7);
    }
    say_child("clone", child);
    struct clone_args how = { .exit_signal = SIGCHLD };
    child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(99);
    }
    if (child < 0)
        say("clone3: errno %d", errno);
    else
        say_child("clone3", child);
    return 0;
}

static int clone_body(void *value)
{
    usleep(100);
    return *(int *)value;
}

/* A child that shares the memory, and one that shares descriptors. */
PROGRAM(clone_that_shares)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    int value = 9;
    pid_t child = clone(clone_body, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &value);
    say_child("child", child);
    child = clone(clone_body, stack + sizeof stack, CLONE_FILES | CLONE_FS | SIGCHLD, &value);
    say_child("child", child);
    return 0;
}

/* Several at a time, in the memory of one thread, each with variables of its own. */
struct sharing_child {
    char stack[32 << 10] __attribute__((aligned(16)));
    char texts[100][16], number[8], *variables[101];
};

static int exec_with_variables(void *argument)
{
    struct sharing_child *child = argument;
    char *const words[] = { "sh", "-c", "[ $V0 = $1 ] && [ $V50 = $1 ] && [ $V99 = $1 ]", "sh", child->number, NULL };
    execve("/bin/sh", words, child->variables);
    _exit(77);
}

PROGRAM(children_that_share_memory)
{
    static struct sharing_child children[4];
    int wrong = 0;
    for (int round = 0; round < 30; round++) {
        pid_t pids[4];
        for (int i = 0; i < 4; i++) {
            snprintf(children[i].number, sizeof children[i].number, "%d", round * 4 + i);
            for (int k = 0; k < 100; k++) {
                snprintf(children[i].texts[k], sizeof children[i].texts[k], "V%d=%d", k, round * 4 + i);
                children[i].variables[k] = children[i].texts[k];
            }
        }
        for (int i = 0; i < 4; i++)
            pids[i] = clone(exec_with_variables, children[i].stack + sizeof children[i].stack, CLONE_VM | SIGCHLD,
                            &children[i]);
        for (int i = 0; i < 4; i++) {
            int status = -1;
            waitpid(pids[i], &status, 0);
            wrong += status != 0;
        }
    }
    say("wrong %d", wrong);
    return 0;
}

/* Children that nobody waits for leave nothing to wait for. */
PROGRAM(children_ignored)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 5; i++)
        if (fork() == 0)
            _exit(i);
    say_result("wait", wait(NULL));
    signal(SIGCHLD, SIG_DFL);
    return 0;
}

/* Who waits for any child sees its own alone. */
PROGRAM(any_child)
{
    int sum = 0, ended = 0, status;
    for (int i = 1; i <= 5; i++)
        if (fork() == 0)
            _exit(i);
    siginfo_t information;
    say_result("waitid", waitid(P_ALL, 0, &information, WEXITED | WNOWAIT));
    for (; waitpid(-1, &status, __WALL) > 0; ended++)
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
    say("%d children, %d, then errno %d", ended, sum, errno);
    return 0;
}

/* The text that a process writes which nobody waits for. */
static void say_answer(int ends[2], pid_t child)
{
    char answer[64] = "";
    close(ends[1]);
    say_child("child", child);
    while (read(ends[0], answer, sizeof answer - 1) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    say("%s", answer);
}

/* A daemon: its parent is the one that all orphans have. */
PROGRAM(daemon_by_two_forks)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t between = getpid();
        if (fork() == 0) {
            char text[64];
            while (getppid() == between)
                sched_yield();
            int length = snprintf(text, sizeof text, "parent is 1: %d, leads %d", getppid() == 1,
                                  getsid(0) == getpid());
            _exit(write(ends[1], text, (size_t)length) != length);
        }
        _exit(0);
    }
    say_answer(ends, child);
    return 0;
}

PROGRAM(daemon_by_libc)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        char text[64], folder[16] = "";
        int failed = daemon(0, 0);
        int length = snprintf(text, sizeof text, "daemon %d in %s", failed, getcwd(folder, sizeof folder));
        _exit(write(ends[1], text, (size_t)length) != length);
    }
    say_answer(ends, child);
    return 0;
}

static int own_group(void)
{
    say_result("setpgid", setpgid(0, 0));
    say("leads %d", getpgrp() == getpid());
    say_result("setsid", setsid() < 0 ? -1 : 0);
    return 0;
}

static int own_session(void)
{
    say_result("setsid", setsid() < 0 ? -1 : 0);
    say_result("a terminal", open("/dev/tty", O_RDWR | O_CLOEXEC));
    return 0;
}

PROGRAM(groups_and_sessions)
{
    in_child("child", own_group);
    in_child("child", own_session);
    return 0;
}

/* ---- Tracing --------------------------------------------------------------------------------------------------- */

/* A debugger of its own child sees the child's stops; samples that come by timers stop it as well, by SIGURG. */
static void trace(pid_t child)
{
    for (int status, stops = 0; waitpid(child, &status, 0) == child && stops < 1000; stops++) {
        if (!WIFSTOPPED(status)) {
            say_status("traced", status);
            break;
        }
        int number = WSTOPSIG(status);
        if (number != SIGURG)
            say("stopped by %d", number);
        ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)(number == SIGSTOP || number == SIGTRAP ? 0 : number));
    }
}

PROGRAM(traces_its_child)
{
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        usleep(100);
        _exit(7);
    }
    trace(child);
    return 0;
}

PROGRAM(traces_what_it_starts)
{
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(99);
    }
    trace(child);
    return 0;
}

PROGRAM(shell_by_system)
{
    say_status("system", system("echo in a shell; exit 3"));
    FILE *pipe_to = popen("cat", "w");
    fputs("through a pipe\n", pipe_to);
    say_status("popen", pclose(pipe_to));
    return 0;
}

/* The death of the parent reaches a child that asked for it. */
PROGRAM(death_signal)
{
    int ends[2], inner[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(inner, O_CLOEXEC) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (write(inner[1], "x", 1) != 1)
                _exit(98);
            for (;;)
                pause();
        }
        _exit(read(inner[0], &byte, 1) != 1);
    }
    close(ends[1]);
    close(inner[1]);
    say_child("child", child);
    say_result("its child is gone", read(ends[0], &byte, 1)); /* ends when nobody has the other end */
    close(ends[0]);
    close(inner[0]);
    return 0;
}
