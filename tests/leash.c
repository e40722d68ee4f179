/* leash SECONDS COMMAND…: runs a test and ends every process that it leaves behind.
 *
 * ctest waits until nobody holds the pipe of a test's output, so a single process that outlives its test (the `sleep
 * 1000` of a case that failed halfway) would hold up the whole run. The leash adopts orphans of the test as their
 * subreaper, and kills all that is left when the test ends, when its time is over, or when the run is interrupted. It
 * exits with the status of the test.
 *
 * SECONDS are those of an idle machine: while more processes are ready to run than there are CPUs, a second counts for
 * the share of it that one of them gets. So a test beside eight busy loops has as much time as one alone. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMED_OUT = 124, NOT_STARTED = 126 };
static const double LEAST_SHARE = 0.1; /* a test that hangs ends on any machine, after ten times as long */

/* Kills all descendants. A process is the child of the thread that started it. */
static void kill_children(pid_t parent)
{
    char path[320];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    for (struct dirent *thread; threads && (thread = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, thread->d_name);
        FILE *children = thread->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (children && fscanf(children, "%d", &child) == 1) {
            kill_children(child);
            kill(child, SIGKILL);
        }
        if (children)
            fclose(children);
    }
    if (threads)
        closedir(threads);
}

/* A process that is killed may have started another one just before, which the leash then adopts: until there is none.
 */
static void end_all(void)
{
    const struct timespec pause = { 0, 1000000 };
    pid_t ended;
    do {
        kill_children(getpid());
        ended = waitpid(-1, NULL, WNOHANG);
        if (ended == 0)
            nanosleep(&pause, NULL);
    } while (ended >= 0);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The share of a CPU that each process which is ready to run gets now. */
static double cpu_share(void)
{
    double ready = 1, cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    FILE *file = fopen("/proc/loadavg", "r");
    if (file) {
        if (fscanf(file, "%*f %*f %*f %lf", &ready) != 1)
            ready = 1;
        fclose(file);
    }
    double share = ready > cpus ? cpus / ready : 1;
    return share < LEAST_SHARE ? LEAST_SHARE : share;
}

/* Reaps what has ended; 1 with the status of the test once that has. */
static int has_ended(pid_t test, int *status)
{
    int one;
    pid_t pid;
    while ((pid = waitpid(-1, &one, WNOHANG)) > 0)
        if (pid == test) {
            *status = one;
            return 1;
        }
    return 0;
}

/* A run in the background, or under nohup, has some of them ignored, and tests send them. */
static const int usual[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE };

static pid_t start(char **command, const sigset_t *mask)
{
    pid_t test = fork();
    if (test != 0)
        return test;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        signal(usual[i], SIG_DFL);
    execvp(command[0], command);
    perror(command[0]);
    _exit(NOT_STARTED);
}

int main(int argc, char **argv)
{
    double left = argc > 2 ? atof(argv[1]) : 0, counted = now();
    sigset_t awaited, before;
    int status = 0;
    if (left <= 0) {
        fprintf(stderr, "usage: leash SECONDS COMMAND...\n");
        return NOT_STARTED;
    }
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGINT);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t test = start(argv + 2, &before);
    if (test < 0) {
        perror("leash: fork");
        return NOT_STARTED;
    }
    while (!has_ended(test, &status)) {
        double slice = left < 1 ? left + 0.001 : 1;
        const struct timespec wait = { (time_t)slice, (long)((slice - (double)(time_t)slice) * 1e9) };
        int signal = sigtimedwait(&awaited, NULL, &wait);
        double seen = now();
        left -= (seen - counted) * cpu_share();
        counted = seen;
        if (signal == SIGTERM || signal == SIGINT || left <= 0) {
            fprintf(stderr, "leash: the test %s\n", signal > 0 ? "was interrupted" : "took too long");
            end_all();
            return TIMED_OUT;
        }
    }
    end_all();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
