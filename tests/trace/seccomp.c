/* A program that installs a seccomp filter for itself, and then becomes another program:
 *
 *     seccomp HOW FORBIDDEN PROGRAM…    HOW: prctl, syscall, syscall-prctl, instruction (the kernel is called
 *                                       without libc)
 *                                       FORBIDDEN: nothing; socket; agent, all that only an agent would call
 *     seccomp HOW FORBIDDEN work        does without another program
 *     seccomp work                      forks, waits and prints, all without what is forbidden; status 5
 *     seccomp vfork                     has a vfork child that becomes "seccomp work" behind a filter, one that
 *                                       cannot, and one that its filter kills; then becomes "seccomp work" itself
 *     seccomp vfork-unwaited            the same with the last one alone, for which no one waits: SIGCHLD is ignored
 *     seccomp vfork-privileges          gives up privileges and does the same
 *     seccomp many                      so many vfork children with a filter that what is told of them alone fills a
 *                                       chunk; status 5
 *     seccomp tsync                     asks for a filter in all threads, which fails since one has a filter of its
 *                                       own; status 5
 *     seccomp question                  asks for filters as libseccomp does, which limits nothing; status 5
 *
 * There is a range called like the first argument before the filter. No new privileges are given up first: that takes
 * root. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

/* The last ones are a loader's calls, or those of fork() in libc, too: no program can start
 * behind a filter for these. */
static const unsigned agent_calls[] = { SYS_socket,           SYS_connect,        SYS_madvise,    SYS_gettid,
                                        SYS_getpid,           SYS_getpriority,    SYS_prctl,      SYS_clock_gettime,
                                        SYS_process_vm_readv, SYS_mremap,         SYS_openat,     SYS_pread64,
                                        SYS_faccessat,        SYS_rt_sigprocmask, SYS_sigaltstack };
enum { MANY = 1700 };
enum { CALLS = sizeof agent_calls / sizeof *agent_calls, LOADER_CALLS = 5 };

static long call_kernel(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

static long set_filter(const char *how, struct sock_fprog *filter)
{
    if (strcmp(how, "prctl") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0);
    if (strcmp(how, "syscall") == 0)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, filter);
    if (strcmp(how, "syscall-prctl") == 0)
        return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0);
    return call_kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)filter);
}

static long build(const char *how, const char *forbidden)
{
    size_t calls = strcmp(forbidden, "nothing") == 0  ? 0
                   : strcmp(forbidden, "socket") == 0 ? 1
                   : strcmp(forbidden, "loader") == 0 ? CALLS
                                                      : CALLS - LOADER_CALLS;
    struct sock_filter lines[2 * CALLS + 2];
    unsigned short count = 0;

    lines[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < calls; i++) {
        lines[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, agent_calls[i], 0, 1);
        lines[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    lines[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return set_filter(how, &(struct sock_fprog){ count, lines });
}

static int work(void)
{
    int status = 0;

    puts("behind");
    fflush(stdout);
    if (fork() == 0)
        _exit(6);
    return wait(&status) > 0 && status == 6 << 8 ? 5 : 1;
}

/* The second is how libseccomp finds out what the kernel has. */
static int question(void)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) != -1 || errno != EFAULT)
        return 1;
    nvtx_push("free");
    nvtx_pop();
    return 5;
}

static int ends[2];

static void *filtered_thread(void *ready)
{
    char byte = 0;
    if (build("instruction", "nothing") != 0 || write(*(int *)ready, &byte, 1) != 1)
        return NULL;
    return read(ends[0], &byte, 1) == 0 ? NULL : ready;
}

/* The answer is the id of the thread that stands in the way, and nothing has changed. */
static int tsync(void)
{
    int ready[2];
    pthread_t thread;
    char byte;
    if (pipe(ready) != 0 || pipe(ends) != 0 || pthread_create(&thread, NULL, filtered_thread, &ready[1]) != 0)
        return 1;
    if (read(ready[0], &byte, 1) != 1)
        return 77;
    long result = build("syscall", "nothing");
    nvtx_push("free");
    nvtx_pop();
    close(ends[1]);
    pthread_join(thread, NULL);
    return result > 0 ? 5 : 1;
}

/* As a shell does before exec, with more calls than fit into a chunk; and one that the agent looks at closely. */
static void redirect(void)
{
    sigset_t none;
    sigemptyset(&none);
    close(signalfd(-1, &none, 0));
    for (int i = 0; i < 3000; i++)
        close(dup(1));
}

static void *reap(void *child)
{
    int status = 0;
    waitpid((pid_t)(intptr_t)child, &status, 0);
    return (void *)(intptr_t)status;
}

/* The child runs in its parent's memory, and its filter is none of the parent's. Another thread waits for it. */
static int filter_vfork_children(const char *self, int is_waited_for)
{
    static const char *const forbidden[] = { "agent", "loader", "loader" };
    for (int i = is_waited_for ? 0 : 2; i < 3; i++) {
        pthread_t thread;
        void *status;
        pid_t child = vfork();
        if (child == 0) {
            if (build("prctl", forbidden[i]) != 0)
                _exit(77);
            redirect();
            if (i == 2)
                call_kernel(SYS_getpid, 0, 0, 0);
            execl(i == 0 ? self : "/nonexistent", self, "work", (char *)NULL);
            _exit(5);
        }
        if (!is_waited_for) {
            if (wait(NULL) != -1) /* it is gone then, and its status with it */
                return 1;
            break;
        }
        if (pthread_create(&thread, NULL, reap, (void *)(intptr_t)child) != 0 || pthread_join(thread, &status) != 0)
            return 1;
        int ended = (int)(intptr_t)status;
        if (WIFEXITED(ended) ? i == 2 || WEXITSTATUS(ended) != 5 : i != 2 || WTERMSIG(ended) != SIGSYS)
            return WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
    }
    signal(SIGCHLD, SIG_DFL);
    execl(self, self, "work", (char *)NULL);
    return 1;
}

/* Nothing else is recorded meanwhile: no one waits for them. */
static int filter_many(void)
{
    volatile int filtered = 0;
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < MANY; i++)
        if (vfork() == 0) {
            filtered += build("prctl", "loader") == 0;
            call_kernel(SYS_exit_group, 0, 0, 0);
        }
    return filtered == MANY ? 5 : 77;
}

int main(int argc, char **argv)
{
    nvtx_push(argc > 1 ? argv[1] : "");
    nvtx_pop();
    if (argc == 2 && strcmp(argv[1], "vfork-privileges") == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 77;
    if (argc == 2 && strcmp(argv[1], "vfork-unwaited") == 0 && signal(SIGCHLD, SIG_IGN) != SIG_ERR)
        return filter_vfork_children(argv[0], 0);
    if (argc == 2 && strncmp(argv[1], "vfork", 5) == 0)
        return filter_vfork_children(argv[0], 1);
    if (argc == 2 && strcmp(argv[1], "many") == 0)
        return filter_many();
    if (argc == 2 && strcmp(argv[1], "tsync") == 0)
        return tsync();
    if (argc == 2)
        return strcmp(argv[1], "work") == 0 ? work() : question();
    if (argc < 4 || build(argv[1], argv[2]) != 0)
        return 77;
    if (strcmp(argv[3], "work") == 0)
        return work();
    execvp(argv[3], argv + 3);
    return 1;
}
