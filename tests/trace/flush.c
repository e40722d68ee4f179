/* A program that asks for a flush again and again while one of its threads records as fast as it can, every event with
 * a name of its own, and the first one forks.
 *
 *     flush CHILDREN             prints "flushes N, failed M"
 *     flush CHILDREN NAMES       instead, each child records so many and ends, all while the collector is stopped; then
 * comes one more */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/tacho/tacho.h"
#include "nvtx_client.h"

#define HEAD_START 200000 /* names, so that there is something to read when the first question comes */

static _Atomic int over;
static _Atomic unsigned long names, flushes, failed;

static void record_one(void)
{
    char name[64];

    snprintf(name, sizeof name, "the name of the event with the number %lu", names++);
    nvtx_mark(name);
}

static void *record(void *unused)
{
    while (!over)
        record_one();
    return unused;
}

static void *flush(void *unused)
{
    const struct tacho_calls *(*calls)(void) = (const struct tacho_calls *(*)(void))dlsym(RTLD_DEFAULT,
                                                                                          "tacho_agent_calls");

    while (names < HEAD_START)
        sched_yield();
    do {
        failed += !calls || calls()->flush() != 0;
        flushes++;
    } while (!over);
    return unused;
}

/* What they leave is read when the collector goes on; the last one says hello before that. */
static int end_together(int children, unsigned long count)
{
    int ready[2], go[2];
    char byte = 0;

    if (pipe(ready) != 0 || pipe(go) != 0)
        return 1;
    for (int i = 0; i < children; i++)
        if (fork() == 0) {
            close(go[1]);
            if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0)
                _exit(1);
            while (names < count)
                record_one();
            _exit(0);
        }
    for (int i = 0; i < children; i++)
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    kill(getppid(), SIGSTOP);
    close(go[1]);
    while (children-- > 0)
        wait(NULL);
    if (fork() == 0)
        _exit(0);
    kill(getppid(), SIGCONT);
    wait(NULL);
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t recorder, flusher;

    if (count > 2)
        return end_together(atoi(arguments[1]), strtoul(arguments[2], NULL, 10));

    pthread_create(&recorder, NULL, record, NULL);
    pthread_create(&flusher, NULL, flush, NULL);
    while (names < HEAD_START)
        sched_yield();
    for (int left = count > 1 ? atoi(arguments[1]) : 1; left > 0; left--) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    over = 1;
    pthread_join(recorder, NULL);
    pthread_join(flusher, NULL);
    printf("flushes %lu, failed %lu\n", flushes, failed);
    return 0;
}
