/* Children that the collector may not hear of.
 *
 *     attach stopped N    stops its parent, the collector, while N children come and go; prints how many of them
 *                         took as long as an agent waits
 *     attach full N       N children come and go while all descriptors are in use
 *     attach full-exec    becomes another program while all descriptors are in use
 *     attach vfork        has a vfork() child that ends with status 3 as it is
 *     attach orphan       a process whose parent has ended prints what getppid() says then */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void reap(pid_t pid)
{
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        abort();
}

static void child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    reap(pid);
}

static void stopped(int count)
{
    int slow = 0;

    kill(getppid(), SIGSTOP);
    for (int i = 0; i < count; i++) {
        double start = seconds();
        child();
        slow += seconds() - start >= 1.9; /* two seconds, as clocks go */
    }
    kill(getppid(), SIGCONT);
    printf("%d\n", slow);
}

static void full(int count)
{
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    for (int i = 0; i < count; i++)
        child();
}

static void full_exec(void)
{
    full(0);
    execl("/bin/true", "true", (char *)NULL);
}

static void vfork_child(void)
{
    pid_t pid = vfork();

    if (pid == 0)
        _exit(3);
    reap(pid);
    printf("%d\n", (int)pid);
}

static void orphan(void)
{
    int ends[2];
    char byte;

    if (pipe(ends) != 0)
        abort();
    pid_t parent = fork();
    if (parent == 0) {
        pid_t self = getpid();
        if (fork() == 0) {
            while (getppid() == self)
                usleep(1000);
            printf("%d\n", (int)getppid());
            fflush(stdout);
        }
        _exit(0);
    }
    close(ends[1]);
    waitpid(parent, NULL, 0);
    while (read(ends[0], &byte, 1) > 0) /* until the orphan has ended, too */
        ;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;

    if (strcmp(mode, "stopped") == 0)
        stopped(count);
    else if (strcmp(mode, "full") == 0)
        full(count);
    else if (strcmp(mode, "full-exec") == 0)
        full_exec();
    else if (strcmp(mode, "vfork") == 0)
        vfork_child();
    else if (strcmp(mode, "orphan") == 0)
        orphan();
    else
        return 2;
    return 0;
}
