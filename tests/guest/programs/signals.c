/* Signals: handled, waited for, read from descriptors, sent by timers, by the terminal, by pipes. */
#include "guest.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

static volatile sig_atomic_t came;

static void count(int number)
{
    came++;
}

static void block(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

PROGRAM(signal_descriptor)
{
    sigset_t set;
    struct signalfd_siginfo information;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int file = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    for (long i = 0; i < 1000000; i++)
        __asm__ volatile("" ::: "memory");
    say_result("before", read(file, &information, sizeof information));
    kill(getpid(), SIGUSR1);
    say_result("after", read(file, &information, sizeof information));
    say("signal %u from %s", information.ssi_signo, information.ssi_pid == (unsigned)getpid() ? "me" : "another");
    close(file);
    return 0;
}

PROGRAM(waits_for_signals)
{
    sigset_t set;
    int number = 0;
    siginfo_t information;
    struct timespec none = { 0, 0 };
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR2);
    say("sigwait %d", sigwait(&set, &number));
    say("signal %d", number);
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 42 });
    say_result("sigwaitinfo", sigwaitinfo(&set, &information) > 0);
    say("value %d", information.si_value.sival_int);
    say_result("sigtimedwait", sigtimedwait(&set, &information, &none));
    say("sigwait at a bad address %d", sigwait(nowhere, &number));
    say_result("sigwaitinfo at a bad address", sigwaitinfo(nowhere, &information));
    say_result("sigtimedwait at a bad address", sigtimedwait(nowhere, &information, &none));
    say_result("signalfd at a bad address", signalfd(-1, nowhere, SFD_CLOEXEC));
    return 0;
}

static void *spin(void *end)
{
    while (!__atomic_load_n((int *)end, __ATOMIC_RELAXED))
        ;
    return NULL;
}

/* A profiler of its own: its signals are its own, and they keep coming. */
PROGRAM(profiles_itself)
{
    struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, none = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART }, old;
    sigaction(SIGPROF, &action, &old);
    say("handler before %s", old.sa_handler == SIG_DFL ? "none" : "another");
    setitimer(ITIMER_PROF, &often, NULL);
    while (came < 10)
        ;
    setitimer(ITIMER_PROF, &none, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPROF, &action, &old);
    say("handler %s", old.sa_handler == count ? "mine" : "another");
    signal(SIGPROF, SIG_DFL);
    return 0;
}

PROGRAM(timer_of_a_thread)
{
    timer_t timer;
    int end = 0;
    pthread_t thread;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2 };
    struct itimerspec soon = { { 0, 1000000 }, { 0, 1000000 } };
    signal(SIGRTMIN + 2, count);
    pthread_create(&thread, NULL, spin, &end);
    say_result("timer", timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
    timer_settime(timer, 0, &soon, NULL);
    while (came < 5)
        ;
    timer_delete(timer);
    __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    signal(SIGRTMIN + 2, SIG_DFL);
    return 0;
}

/* A handler without SA_RESTART interrupts; one with it does not. Nobody else's signal does either. */
static int ends[2];

static void write_one(int number)
{
    came++;
    if (came == 2 && write(ends[1], "x", 1) != 1)
        _exit(98);
}

PROGRAM(interrupted_calls)
{
    char byte;
    struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, none = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = count };
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    say_result("read", read(ends[0], &byte, 1));
    setitimer(ITIMER_REAL, &none, NULL);
    came = 0;
    action = (struct sigaction){ .sa_handler = write_one, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    say_result("read", read(ends[0], &byte, 1));
    setitimer(ITIMER_REAL, &none, NULL);
    signal(SIGALRM, SIG_DFL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* A signal that does nothing ends no wait that lets it in. */
static void compute(void)
{
    struct timespec now = { 0, 0 }, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    for (end.tv_nsec += 30000000; (now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

PROGRAM(waits_that_let_signals_in)
{
    struct timespec soon = { 0, 1000000 };
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    block(SIGURG);
    compute();
    say_result("ppoll", ppoll(NULL, 0, &soon, &none));
    compute();
    say_result("pselect", pselect(0, NULL, NULL, NULL, &soon, &none));
    compute();
    say_result("epoll_pwait", epoll_pwait(epoll, &event, 1, 1, &none));
    compute();
    say_result("epoll_pwait2", epoll_pwait2(epoll, &event, 1, &soon, &none));
    say_result("ppoll at a bad address", ppoll(NULL, 0, &soon, nowhere));
    signal(SIGURG, count);
    raise(SIGURG);
    say_result("ppoll with a handler", ppoll(NULL, 0, NULL, &none));
    say("came %d", (int)came);
    signal(SIGURG, SIG_DFL);
    close(epoll);
    return 0;
}

/* Sent by another process. */
static int urge(void)
{
    struct timespec pause = { 0, 20000000 };
    nanosleep(&pause, NULL);
    return kill(getppid(), SIGURG);
}

PROGRAM(urgent_data_that_nobody_waits_for)
{
    struct timespec pause = { 0, 100000000 };
    pid_t child = fork();
    if (child == 0)
        _exit(urge());
    say_result("nanosleep", nanosleep(&pause, NULL));
    say_child("child", child);
    return 0;
}

/* The whole of a sleep, though samples may come by signals. */
PROGRAM(sleeps_are_whole)
{
    struct timespec pause = { 0, 50000000 }, left = { 0, 0 };
    say_result("nanosleep", nanosleep(&pause, &left));
    say("clock_nanosleep %d", clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL));
    say("sleep %u", sleep(0));
    say_result("usleep", usleep(20000));
    return 0;
}

static int write_to_nobody(void)
{
    int pair[2];
    if (pipe(pair) != 0)
        return 98;
    close(pair[0]);
    return write(pair[1], "x", 1) == 1;
}

PROGRAM(broken_pipe)
{
    in_child("child", write_to_nobody);
    signal(SIGPIPE, SIG_IGN);
    in_child("child that ignores it", write_to_nobody);
    signal(SIGPIPE, SIG_DFL);
    return 0;
}

static void fork_here(int number)
{
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status = 0;
    waitpid(child, &status, 0);
    came += WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

PROGRAM(forks_in_a_handler)
{
    signal(SIGUSR1, fork_here);
    for (int i = 0; i < 5; i++)
        raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    say("children %d", (int)came);
    return 0;
}

/* It goes on when it is told to, so that its parent sees it continued before it is gone. */
static int stop_and_go(int told)
{
    char byte;
    raise(SIGSTOP);
    return read(told, &byte, 1) == 1 ? 7 : 8;
}

PROGRAM(stopped_and_continued)
{
    int status = 0, told[2];
    if (pipe(told) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(stop_and_go(told[0]));
    waitpid(child, &status, WUNTRACED);
    say("stopped %d", WIFSTOPPED(status));
    kill(child, SIGCONT);
    waitpid(child, &status, WCONTINUED);
    say("continued %d", WIFCONTINUED(status));
    say_result("tell", write(told[1], "x", 1));
    say_child("child", child);
    return 0;
}

/* Each signal that a program can have a handler for: none is taken. */
PROGRAM(every_handler)
{
    int taken = 0, refused = 0;
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action = { .sa_handler = count }, old;
        if (sigaction(i, &action, &old) != 0)
            refused++;
        else
            taken += old.sa_handler != SIG_DFL;
    }
    say("refused %d, taken %d", refused, taken);
    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP && (i < 32 || i >= SIGRTMIN)) /* those between are libc's */
            kill(getpid(), i);
    say("came %d", (int)came);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    return 0;
}

/* What is pending stays so through exec, what is blocked and ignored too. */
static int exec_with_signals(void)
{
    block(SIGUSR1);
    signal(SIGUSR2, SIG_IGN);
    raise(SIGUSR1);
    execl("/bin/grep", "grep", "^S[ih][gd][PBI]", "/proc/self/status", (char *)NULL);
    return 99;
}

PROGRAM(signals_through_exec)
{
    in_child("grep", exec_with_signals);
    return 0;
}

static int killed(int number)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = { 0, 0 };
        setrlimit(RLIMIT_CORE, &none);
        raise(number);
        _exit(0);
    }
    say_child("child", child);
    return 0;
}

PROGRAM(killed_by_each_signal)
{
    static const int numbers[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,  SIGKILL,
                                   SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGURG,  SIGCHLD, SIGXCPU, SIGPROF, SIGSYS };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        killed(numbers[i]);
    return 0;
}
