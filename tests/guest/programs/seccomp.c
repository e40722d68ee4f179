/* Programs that limit their own system calls, and what they start. A system call of the agent's that the filter does
 * not allow kills the program: these filters kill for calls that the programs themselves never make. */
#include "guest.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>

static const int forbidden[] = { SYS_socket,       SYS_connect,         SYS_sendto,       SYS_recvmsg,
                                 SYS_timer_create, SYS_perf_event_open, SYS_memfd_create, SYS_process_vm_readv };
static struct sock_filter rules[2 * sizeof forbidden / sizeof forbidden[0] + 2];

/* Kills for each of these calls; at most as many as in `forbidden`. */
static struct sock_fprog filter_of(const int *calls, size_t call_count)
{
    unsigned short count = 0;
    rules[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < call_count; i++) {
        rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return (struct sock_fprog){ count, rules };
}

static struct sock_fprog filter(void)
{
    return filter_of(forbidden, sizeof forbidden / sizeof forbidden[0]);
}

static void *work_in_thread(void *unused)
{
    struct timespec pause = { 0, 1000000 };
    nanosleep(&pause, NULL);
    return unused;
}

static int run_shell(void)
{
    execl("/bin/sh", "sh", "-c", "ls / > /dev/null; exit 5", (char *)NULL);
    return 99;
}

/* Threads, files, children and other programs behind the filter. */
static void work_behind_it(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work_in_thread, NULL);
    pthread_join(thread, NULL);
    int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    say_result("write", write(file, "x", 1));
    say_result("fsync", fsync(file));
    close(file);
    in_child("sh", run_shell);
    char *argv[] = { "true", NULL };
    pid_t child = vfork();
    if (child == 0) {
        execv("/bin/true", argv);
        _exit(99);
    }
    say_child("true", child);
}

PROGRAM(filter_by_prctl)
{
    struct sock_fprog all = filter();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say_result("prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0));
    work_behind_it();
    return 0;
}

static void ring(int unused)
{
}

static int wait_for_alarm(void)
{
    sigset_t none, waiting;
    struct sock_fprog of_handlers = filter_of((const int[]){ SYS_rt_sigaction }, 1);
    sigemptyset(&none);
    signal(SIGALRM, ring);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &of_handlers, 0, 0) != 0)
        return 98;
    ualarm(10000, 10000); /* again and again: one that comes before the wait would be missed */
    sigsuspend(&none);
    return sigpending(&waiting) == 0 ? 7 : 99;
}

/* sigsuspend() and sigpending() must not ask for handlers. */
PROGRAM(filter_of_handlers)
{
    in_child("waits", wait_for_alarm);
    return 0;
}

/* As libseccomp, crun and systemd do; as root it needs no PR_SET_NO_NEW_PRIVS. */
PROGRAM(filter_by_syscall)
{
    struct sock_fprog all = filter();
    if (geteuid() != 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say_result("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all));
    work_behind_it();
    return 0;
}

PROGRAM(filter_of_all_threads)
{
    int ends[2];
    pthread_t thread;
    struct sock_fprog all = filter();
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, NULL, wait_for_end, (void *)(intptr_t)ends[0]);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say_result("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all));
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    work_behind_it();
    return 0;
}

/* nsjail, bubblewrap: the filter is set in the child that becomes the program. */
static int exec_behind_filter(void)
{
    struct sock_fprog all = filter();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) != 0)
        return 98;
    return run_shell();
}

PROGRAM(filter_then_exec)
{
    in_child("sh", exec_behind_filter);
    return 0;
}

/* read, write, exit and sigreturn are all that is left. */
static int strict(void)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 98;
    if (write(1, "strict\n", 7) != 7)
        return 97;
    syscall(SYS_exit, 4);
    return 0;
}

PROGRAM(strict_mode)
{
    in_child("child", strict);
    return 0;
}

static void tell(int unused)
{
    if (write(1, "handled\n", 8) != 8)
        syscall(SYS_exit, 96);
}

/* A handler is entered and left without more system calls than the kernel's own. */
static int handle_behind_filter(void)
{
    static char memory[64 << 10];
    stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };
    struct sigaction action = { .sa_handler = tell, .sa_flags = SA_ONSTACK };
    struct sock_fprog of_masks = filter_of((const int[]){ SYS_rt_sigprocmask }, 1);
    int ends[2];
    if (pipe(ends) != 0 || sigaltstack(&stack, NULL) != 0 || sigaction(SIGPIPE, &action, NULL) != 0)
        return 97;
    close(ends[0]);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &of_masks, 0, 0) != 0)
        return 98;
    syscall(SYS_exit_group, write(ends[1], "x", 1) == -1 ? 5 : 95);
    return 0;
}

PROGRAM(handler_behind_a_filter)
{
    in_child("child", handle_behind_filter);
    return 0;
}

/* ---- Bad pointers ---------------------------------------------------------------------------------------------- */

static int exec_bad_pointers(void)
{
    struct sock_fprog of_masks = filter_of((const int[]){ SYS_rt_sigprocmask }, 1);
    char *argv[] = { "true", NULL }, *of_the_kernels[] = { (char *)-1, NULL };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &of_masks, 0, 0) != 0)
        return 98;
    say_result("path", execve(nowhere, argv, environ));
    say_result("environment", execve("/bin/true", argv, nowhere));
    say_result("variable", execve("/bin/true", argv, of_the_kernels));
    return 0;
}

static int spawn_bad_pointers(void)
{
    struct sock_fprog all = filter();
    /* no hole: posix_spawn() might map its stack there */
    char *unreadable = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *argv[] = { "true", NULL }, *variables[] = { unreadable, NULL };
    pid_t child;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) != 0)
        return 98;
    say("path: %d", posix_spawn(&child, unreadable, NULL, NULL, argv, environ));
    say("environment: %d", posix_spawn(&child, "/bin/true", NULL, NULL, argv, (char **)unreadable));
    say("variable: %d", posix_spawn(&child, "/bin/true", NULL, NULL, argv, variables));
    return 0;
}

PROGRAM(bad_pointers_behind_a_filter)
{
    in_child("exec", exec_bad_pointers);
    in_child("posix_spawn", spawn_bad_pointers);
    return 0;
}
