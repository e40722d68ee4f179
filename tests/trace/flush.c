/* A program that asks for a flush again and again while one of its threads records as fast as it can, every event with a name of its
 * own, and the first one forks.
 *
 *     flush CHILDREN       prints "flushes N, failed M"                                                                */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/tacho/tacho.h"
#include "nvtx_client.h"

#define HEAD_START 200000 /* names, so that there is something to read when the first question comes */

static volatile int over;
static volatile unsigned long names, flushes, failed;

static void *record(void *unused)
{
    char name[64];

    while (!over) {
        snprintf(name, sizeof name, "the name of the event with the number %lu", names++);
        nvtx_mark(name);
    }
    return unused;
}

static void *flush(void *unused)
{
    const struct tacho_calls *(*calls)(void) = (const struct tacho_calls *(*)(void))dlsym(RTLD_DEFAULT, "tacho_agent_calls");

    while (names < HEAD_START)
        sched_yield();
    do {
        failed += !calls || calls()->flush() != 0;
        flushes++;
    } while (!over);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t recorder, flusher;

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
