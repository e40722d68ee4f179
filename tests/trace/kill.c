/* A program to be killed: workers repeat six steps (push, push, read, mark, pop, pop) and count every finished step in
 * a file that is mapped shared, so that the truth survives; one more thread waits for ever in a read.
 *
 *     kill FILE WORKERS SPIN                   runs until it is killed
 *     kill FILE WORKERS SPIN program STEPS     kills itself after that step of the first worker
 *     kill FILE WORKERS SPIN collector STEPS   kills its parent, the collector, after that step, ends normally after
 * twice as many */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nvtx_client.h"

#define WORKERS_MAX 8

/* kill.py reads this: 64-bit words. */
struct truth {
    volatile uint64_t pid, running, waiter_tid;
    volatile uint64_t tid[WORKERS_MAX];
    volatile uint64_t steps[WORKERS_MAX];
};

static struct truth *truth;
static unsigned long spin, last_step;
static int never[2], zero, kills_collector;

static void kill_after(uint64_t steps)
{
    if (steps == last_step)
        kill(kills_collector ? getppid() : getpid(), SIGKILL);
    if (steps == 2 * last_step)
        exit(0);
}

static void step_done(size_t worker)
{
    truth->steps[worker]++;
    if (last_step && worker == 0)
        kill_after(truth->steps[0]);
    for (volatile unsigned long i = 0; i < spin; i++)
        ;
}

static void *work(void *argument)
{
    size_t worker = (size_t)argument;
    char byte;

    truth->tid[worker] = (uint64_t)syscall(SYS_gettid);
    __atomic_fetch_add(&truth->running, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        nvtx_push("outer");
        step_done(worker);
        nvtx_push("inner");
        step_done(worker);
        if (read(zero, &byte, 1) != 1)
            abort();
        step_done(worker);
        nvtx_mark("mark");
        step_done(worker);
        nvtx_pop();
        step_done(worker);
        nvtx_pop();
        step_done(worker);
    }
    return NULL;
}

static void *wait_for_ever(void *argument)
{
    char byte;

    truth->waiter_tid = (uint64_t)syscall(SYS_gettid);
    return read(never[0], &byte, 1) == 1 ? argument : NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    size_t workers = (size_t)atoi(argv[2]);
    int file = open(argv[1], O_RDWR);

    spin = strtoul(argv[3], NULL, 10);
    zero = open("/dev/zero", O_RDONLY);
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (argc == 6) {
        kills_collector = strcmp(argv[4], "collector") == 0;
        last_step = strtoul(argv[5], NULL, 10);
    }
    if ((argc != 4 && argc != 6) || truth == MAP_FAILED || zero < 0 || workers > WORKERS_MAX || pipe(never) != 0)
        return 1;
    truth->pid = (uint64_t)getpid();
    nvtx_push("main");
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    for (size_t i = 0; i < workers; i++)
        pthread_create(&thread, NULL, work, (void *)i);
    pthread_join(thread, NULL);
    return 0;
}
