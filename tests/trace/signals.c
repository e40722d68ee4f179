/* A program for tests of signals and process trees.
 *
 *     signals wait           says "ready"; SIGINT makes it end with 5, SIGTERM with 6, each in good order
 *     signals ignore         says "ready", ignores both, ends with 7 at the end of stdin
 *     signals daemon FIFO    leaves a daemon behind that waits for the FIFO's writer, then works, and ends
 *     signals orphan FIFO    leaves a plain child behind that does the same
 *     signals zombies N      leaves N children behind that end at once, then says "ready" and waits as above */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvtx_client.h"

static int wait_for_signal(void)
{
    sigset_t both;
    int signal;

    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, NULL);
    nvtx_push("waiting");
    puts("ready");
    fflush(stdout);
    sigwait(&both, &signal);
    nvtx_mark(signal == SIGINT ? "interrupted" : "terminated");
    nvtx_pop();
    return signal == SIGINT ? 5 : 6;
}

static int ignore_signals(void)
{
    char byte;

    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    nvtx_push("ignoring");
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    nvtx_pop();
    return 7;
}

static void work_after(const char *fifo)
{
    char byte;
    int file = open(fifo, O_RDONLY);

    if (file < 0 || read(file, &byte, 1) != 1)
        _exit(1);
    nvtx_push("late work");
    nvtx_pop();
    _exit(9);
}

static int leave_behind(const char *fifo, int daemon)
{
    nvtx_push("parent");
    if (fork() == 0) {
        if (daemon) {
            setsid();
            if (fork() != 0)
                _exit(0);
            for (int file = 0; file < 3; file++)
                close(file);
        }
        work_after(fifo);
    }
    nvtx_pop();
    return 0;
}

static int leave_zombies(int count)
{
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            if (fork() != 0)
                _exit(0);
            nvtx_mark("short life");
            _exit(0);
        }
    return wait_for_signal();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (strcmp(mode, "wait") == 0)
        return wait_for_signal();
    if (strcmp(mode, "ignore") == 0)
        return ignore_signals();
    if (strcmp(mode, "daemon") == 0 || strcmp(mode, "orphan") == 0)
        return leave_behind(argv[2], mode[0] == 'd');
    if (strcmp(mode, "zombies") == 0)
        return leave_zombies(atoi(argv[2]));
    return 1;
}
