/* Threads that push and pop, start ranges that other threads end, and are interrupted by a timer whose handler pushes
 * and pops as well. Prints how many ranges there were: handler's and others together.
 *
 *   nvtx_threads THREADS RANGES */
#include "nvtx_client.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>

static long ranges;
static int thread_count;
static _Atomic long handled;
static _Atomic uint64_t *started; /* by thread: ranges that its neighbour is to end */
static const void *domain, *string;

static void handler(int signal)
{
    (void)signal;
    nvtx_push("in the handler");
    atomic_fetch_add(&handled, 1);
    nvtx_pop();
}

static void *body(void *argument)
{
    long self = (long)(intptr_t)argument, next = (self + 1) % thread_count;
    struct nvtx_attributes named = nvtx_registered(string);
    for (long i = 0; i < ranges; i++) {
        nvtx_push("outer");
        nvtx_domain_push(domain, &named);
        atomic_store(&started[self], nvtx_start("handed on"));
        nvtx_domain_pop(domain);
        nvtx_pop();
        uint64_t other; /* end the neighbour's, once it is there; with one thread it is our own */
        while ((other = atomic_exchange(&started[next], 0)) == 0)
            sched_yield();
        nvtx_end(other);
        while (atomic_load(&started[self]) != 0)
            sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    /* threads wait for each other for ever where nobody listens to NVTX */
    setrlimit(RLIMIT_CPU, &(struct rlimit){ 60, 60 });
    thread_count = argc > 1 ? atoi(argv[1]) : 4;
    ranges = argc > 2 ? atol(argv[2]) : 1000;
    started = calloc((size_t)thread_count, sizeof *started);
    pthread_t *threads = calloc((size_t)thread_count, sizeof *threads);
    domain = nvtx_domain("threads");
    string = nvtx_register(domain, "registered");
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) != 0)
            return 1;
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    printf("%ld %ld\n", 3 * ranges * thread_count, (long)handled);
    return nvtx_push("levels are back at 0") == (nvtx_client.attached ? 0 : -2) ? 0 : 1;
}
