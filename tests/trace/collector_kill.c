/* A program that outlives its collector: threads emit ranges and reads as fast as they can until the test says stop,
 * and keep a log of how far they were when; then the program starts a thread and a process, prints a line and ends.
 *
 *     collector_kill FILE */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nvtx_client.h"

#define THREADS 2
#define LOG_ENTRIES 4096
#define BATCH 64 /* ranges between two looks at the clock */

/* collector_kill.py reads and writes this: 64-bit words. */
struct truth {
    volatile uint64_t pid, stop;
    volatile uint64_t done[THREADS];
    volatile uint64_t log_length[THREADS];
    struct {
        volatile uint64_t monotonic_ns, done;
    } log[THREADS][LOG_ENTRIES]; /* one entry in ten milliseconds */
};

static struct truth *truth;
static int zero;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *work(void *argument)
{
    size_t thread = (size_t)argument;
    uint64_t last_ns = 0;
    char byte;

    while (!truth->stop) {
        for (int i = 0; i < BATCH; i++) {
            nvtx_push(thread ? "range of one" : "range of zero");
            if (read(zero, &byte, 1) != 1)
                abort();
            nvtx_pop();
            truth->done[thread]++;
        }
        for (volatile int i = 0; i < 100000; i++) /* let the others have the processor's time */
            ;
        uint64_t now = now_ns(), length = truth->log_length[thread];
        if (now - last_ns >= 10000000 && length < LOG_ENTRIES) {
            truth->log[thread][length].monotonic_ns = now;
            truth->log[thread][length].done = truth->done[thread];
            __atomic_store_n(&truth->log_length[thread], length + 1, __ATOMIC_RELEASE);
            last_ns = now;
        }
    }
    return NULL;
}

static void *say_hello(void *argument)
{
    nvtx_mark("late thread");
    puts("late thread");
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS], late;
    int file = open(argv[1], O_RDWR), status;

    zero = open("/dev/zero", O_RDONLY);
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (argc != 2 || truth == MAP_FAILED || zero < 0)
        return 1;
    truth->pid = (uint64_t)getpid();
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&late, NULL, say_hello, NULL);
    pthread_join(late, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "echo late process; exit 7", (char *)NULL);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        return 2;
    puts("normal end");
    return 42;
}
