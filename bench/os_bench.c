/* What OS runtime tracing costs a call: one byte read from /dev/zero, a mutex that is free locked and unlocked.
 *
 *     os_bench TACHO [PAIRS [MOST_THREADS]]       15 pairs and 1 thread unless told
 *     os_bench measure read|mutex THREADS         one run: nanoseconds per call of one thread
 *
 * The first form runs the second bare and under TACHO in turn, so that what the machine does meanwhile hits both alike,
 * and prints the medians and the median of the pairs' differences with the middle half of them. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_PAIRS 1000
#define MOST_THREADS 64

/* ---- One run --------------------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    double (*measure)(void);
    double ns;
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#define ROUNDS 20000
#define REPEATS 25

static double measure_read(void)
{
    int file = open("/dev/zero", O_RDONLY);
    double best = 1e18;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double start = now_ns();
        char byte;
        for (int i = 0; i < ROUNDS; i++)
            if (read(file, &byte, 1) != 1)
                abort();
        double ns = (now_ns() - start) / ROUNDS;
        best = ns < best ? ns : best;
    }
    close(file);
    return best;
}

static double measure_mutex(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    double best = 1e18;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double start = now_ns();
        for (int i = 0; i < ROUNDS * 10; i++) {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        double ns = (now_ns() - start) / (ROUNDS * 10);
        best = ns < best ? ns : best;
    }
    return best;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(worker->start);
    worker->ns = worker->measure();
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run_once(const char *what, int threads)
{
    struct worker workers[MOST_THREADS];
    double ns[MOST_THREADS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){ .start = &start,
                                      .measure = strcmp(what, "read") == 0 ? measure_read : measure_mutex };
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        ns[i] = workers[i].ns;
    }
    qsort(ns, (size_t)threads, sizeof *ns, compare);
    printf("%.2f\n", ns[threads / 2]);
    return 0;
}

/* ---- Pairs of runs --------------------------------------------------------------------------------------------- */

static double run_child(const char *command)
{
    FILE *pipe = popen(command, "r");
    double ns;
    if (!pipe || fscanf(pipe, "%lf", &ns) != 1 || pclose(pipe) != 0) {
        fprintf(stderr, "os_bench: this failed: %s\n", command);
        exit(1);
    }
    return ns;
}

static void compare_runs(const char *self, const char *tacho, const char *what, int threads, int pairs)
{
    static double bare[MOST_PAIRS], traced[MOST_PAIRS], difference[MOST_PAIRS];
    char report[] = "/tmp/os_bench.XXXXXX", plain[8192], profiled[16384];
    int file = mkstemp(report);
    if (file < 0)
        abort();
    close(file);
    snprintf(plain, sizeof plain, "'%s' measure %s %d", self, what, threads);
    snprintf(profiled, sizeof profiled, "'%s' profile -t osrt -f true -o %s %s 2>/dev/null", tacho, report, plain);
    for (int i = 0; i < pairs; i++) {
        bare[i] = run_child(plain);
        traced[i] = run_child(profiled);
        difference[i] = traced[i] - bare[i];
    }
    qsort(bare, (size_t)pairs, sizeof *bare, compare);
    qsort(traced, (size_t)pairs, sizeof *traced, compare);
    qsort(difference, (size_t)pairs, sizeof *difference, compare);
    printf("%-5s  %2d thread%s  bare %7.2f ns  traced %7.2f ns  added %6.2f ns  (half of the pairs: %.2f to %.2f)\n",
           what, threads, threads == 1 ? " " : "s", bare[pairs / 2], traced[pairs / 2], difference[pairs / 2],
           difference[pairs / 4], difference[pairs * 3 / 4]);
    fflush(stdout);
    unlink(report);
    strcat(strcpy(plain, report), ".tacho");
    unlink(plain);
}

int main(int count, char **arguments)
{
    int threads = count > 3 ? atoi(arguments[3]) : 1;
    if (threads < 1 || threads > MOST_THREADS)
        threads = 1;
    if (count == 4 && strcmp(arguments[1], "measure") == 0)
        return run_once(arguments[2], threads);
    int pairs = count > 2 ? atoi(arguments[2]) : 15;
    if (count < 2 || count > 4 || pairs < 1 || pairs > MOST_PAIRS) {
        fprintf(stderr, "Usage: os_bench TACHO [PAIRS [MOST_THREADS]]\n");
        return 2;
    }
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        abort();
    self[length] = 0;
    for (int used = 1; used <= threads; used *= 2) {
        compare_runs(self, arguments[1], "read", used, pairs);
        compare_runs(self, arguments[1], "mutex", used, pairs);
    }
    return 0;
}
