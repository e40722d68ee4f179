/* A storm of constructs, for bench/openmp.py: prints ns a construct, the least of ten parts.
 * openmp_pace region|barrier|critical COUNT THREADS
 * openmp_pace time COUNT THREADS prints the time of COUNT regions of a millisecond each, in ns, by omp_get_wtime(). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;
static int threads = 1;

static void regions(int count)
{
    for (int i = 0; i < count; i++)
#pragma omp parallel num_threads(threads)
        sink = i;
}

static void barriers(int count)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < count; i++) {
#pragma omp barrier
        sink = i;
    }
}

static void criticals(int count)
{
    for (int i = 0; i < count; i++)
#pragma omp critical
        sink = i;
}

static double time_of_regions(int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double start = omp_get_wtime();
#pragma omp parallel num_threads(threads)
        while (omp_get_wtime() - start < 1e-3)
            sink = i;
        sum += omp_get_wtime() - start;
    }
    return sum * 1e9;
}

int main(int argc, char **argv)
{
    void (*run)(int) = strcmp(argv[1], "region") == 0    ? regions
                       : strcmp(argv[1], "barrier") == 0 ? barriers
                                                         : criticals;
    int count = atoi(argv[2]) / 10;
    threads = atoi(argv[3]);
    double least = 1e9;
    if (strcmp(argv[1], "time") == 0) {
        printf("%.1f\n", time_of_regions(count * 10));
        return 0;
    }
    run(count);
    for (int part = 0; part < 10; part++) {
        double start = omp_get_wtime();
        run(count);
        double ns = (omp_get_wtime() - start) * 1e9 / count;
        least = ns < least ? ns : least;
    }
    printf("%.1f\n", least);
    return 0;
}
