/* Who the program is: its users and groups, changed while threads live, and what it was started with. */
#include "guest.h"

#include <grp.h>
#include <sys/fsuid.h>

/* glibc changes the user of every thread by a signal to each: a thread that blocks it holds the call up for ever. */
static int change_with_threads(int (*change)(void))
{
    if (geteuid() != 0)
        return skipped("needs root");
    int ends[2];
    pthread_t threads[3];
    if (pipe(ends) != 0)
        return 1;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, wait_for_end, (void *)(intptr_t)ends[0]);
    int status = change();
    close(ends[1]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    close(ends[0]);
    return status;
}

static int to_nobody(void)
{
    gid_t groups[] = { 65533, 65534 };
    say_result("setgroups", setgroups(2, groups));
    say_result("setresgid", setresgid(65534, 65534, 65534));
    say_result("setresuid", setresuid(65534, 65534, 65534));
    say_result("setuid(0)", setuid(0));
    say("user %d %d, group %d %d", (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid());
    return 0;
}

static int there_and_back(void)
{
    say_result("seteuid", seteuid(65534));
    say_result("open", open("/proc/1/mem", O_RDONLY | O_CLOEXEC));
    say_result("seteuid(0)", seteuid(0));
    say_result("setfsuid", setfsuid(65534));
    say_result("setfsuid", setfsuid(0));
    return 0;
}

PROGRAM(setuid_with_threads)
{
    return change_with_threads(to_nobody);
}
PROGRAM(seteuid_with_threads)
{
    return change_with_threads(there_and_back);
}

/* A daemon that drops its rights keeps what it has open, and starts programs as its new user. */
static int run_true(void)
{
    execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
    return 99;
}

PROGRAM(exec_without_rights)
{
    if (geteuid() != 0)
        return skipped("needs root");
    to_nobody();
    in_child("sh", run_true);
    return 0;
}

PROGRAM(surroundings)
{
    state_environment();
    for (char **argument = arguments; *argument; argument++)
        say("argument %s", *argument);
    say("name %s %s", program_invocation_name, program_invocation_short_name);
    return 3;
}

PROGRAM(environment_cleared)
{
    clearenv();
    say("environment %s", environ && *environ ? *environ : "empty");
    setenv("ONLY", "this", 1);
    in_child("sh", run_true);
    state_environment();
    return 0;
}

PROGRAM(own_preload)
{
    setenv("LD_PRELOAD", "", 1);
    in_child("sh with an empty LD_PRELOAD", run_true);
    unsetenv("LD_PRELOAD");
    in_child("sh without LD_PRELOAD", run_true);
    setenv("LD_PRELOAD", "/no/such/library.so", 1);
    in_child("sh with a library that is not there", run_true);
    return 0;
}

PROGRAM(controls)
{
    say_result("dumpable", prctl(PR_SET_DUMPABLE, 0));
    in_child("child", run_true);
    say_result("dumpable", prctl(PR_SET_DUMPABLE, 1));
    say_result("name", prctl(PR_SET_NAME, "another"));
    say_result("death signal", prctl(PR_SET_PDEATHSIG, SIGUSR1));
    say_result("slack", prctl(PR_SET_TIMERSLACK, 1000));
    say_result("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    in_child("child", run_true);
    return 0;
}

/* Orphans come to a program that asked for them. */
PROGRAM(subreaper)
{
    pid_t self = getpid();
    say_result("subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1));
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            while (getppid() != self)
                sched_yield();
            _exit(6);
        }
        _exit(0);
    }
    say_child("child", child);
    int status = 0;
    while (waitpid(-1, &status, 0) < 0 && errno == EINTR)
        ;
    say_status("orphan", status);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    return 0;
}
