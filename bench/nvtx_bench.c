/* What an NVTX push and pop cost: run it bare and under `tacho profile`, and compare.
 *
 *   nvtx_bench [rounds] [most threads]
 *
 * One line for each number of threads: nanoseconds that one thread takes for push and pop together, and for one of each
 * of the other kinds of events on one thread. Each figure is the best of five. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/trace/nvtx_client.h"

#define REPEATS 5

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static const void *domain, *string;

static void push_pop(long rounds)
{
    for (long i = 0; i < rounds; i++) {
        nvtx_push("work");
        nvtx_pop();
    }
}

static void push_pop_registered(long rounds)
{
    struct nvtx_attributes attributes = nvtx_registered(string);
    for (long i = 0; i < rounds; i++) {
        nvtx_domain_push(domain, &attributes);
        nvtx_domain_pop(domain);
    }
}

static void start_end(long rounds)
{
    for (long i = 0; i < rounds; i++)
        nvtx_end(nvtx_start("work"));
}

static void mark(long rounds)
{
    for (long i = 0; i < rounds; i++)
        nvtx_mark("tick");
}

struct share {
    void (*body)(long);
    long rounds;
    pthread_barrier_t *start;
    double ns;
};

static void *run_share(void *argument)
{
    struct share *share = argument;
    share->body(1000); /* attached, its memory touched */
    pthread_barrier_wait(share->start);
    double start = now_ns();
    share->body(share->rounds);
    share->ns = (now_ns() - start) / (double)share->rounds;
    return NULL;
}

/* The mean over the threads, in the best of the repeats. */
static double measure(void (*body)(long), long rounds, int count)
{
    double best = 1e18;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        pthread_t *threads = calloc((size_t)count, sizeof *threads);
        struct share *shares = calloc((size_t)count, sizeof *shares);
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, (unsigned)count);
        for (int i = 0; i < count; i++) {
            shares[i] = (struct share){ .body = body, .rounds = rounds, .start = &start };
            pthread_create(&threads[i], NULL, run_share, &shares[i]);
        }
        double sum = 0;
        for (int i = 0; i < count; i++) {
            pthread_join(threads[i], NULL);
            sum += shares[i].ns;
        }
        best = sum / count < best ? sum / count : best;
        pthread_barrier_destroy(&start);
        free(shares);
        free(threads);
    }
    return best;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 200000;
    int most = argc > 2 ? atoi(argv[2]) : 16;
    domain = nvtx_domain("bench");
    string = nvtx_register(domain, "registered");
    printf("%s\n", nvtx_client.attached ? "attached" : "bare");
    for (int count = 1; count <= most; count *= 2)
        printf("push+pop, %2d threads     %7.1f ns\n", count, measure(push_pop, rounds, count));
    printf("push+pop, registered     %7.1f ns\n", measure(push_pop_registered, rounds, 1));
    printf("start+end                %7.1f ns\n", measure(start_end, rounds, 1));
    printf("mark                     %7.1f ns\n", measure(mark, rounds, 1));
    return 0;
}
