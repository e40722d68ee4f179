/* Steps of a job with one planted fault: planted_faults FAULT RANK STEPS WORK_US FAULT_US [SEED]
 * Prints how long a step took on average, in ns: with a FAULT_US of 0, or a RANK of -1, that of the repaired job.
 *
 * Each rank works in each step, for as long as the others within 5 %, and calls an allreduce. The fault is on one rank:
 *
 *     none      there is none
 *     compute   another function, slow_part(), computes
 *     sleep     load_batch() sleeps, as a data loader that waits for its disk
 *     uneven    the same function has more to do
 *     faults    touch_memory() maps new memory and touches it, where the others touch memory that they have
 *     hog       bench/stragglers.py runs other programs on the CPU that the rank is bound to
 *     message   slow_part(), before a message to the next rank, which comes last because it waits for it
 *     pair      slow_part(), before a barrier with the next rank
 *     layers    slow_part(), before the first of twelve allreduces of the same size */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { LAYERS = 12, PAGE = 4096 }; /* one is mapped and touched in about a µs */

static long cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static volatile double sink = 1;

/* The loop is in each function: what is planted has lines of its own. */
#define COMPUTE(us)                                                                                                  \
    for (long until = cpu_us() + (us); cpu_us() < until;)                                                            \
        for (int i = 0; i < 1000; i++)                                                                               \
            sink = sink * 1.0000001 + 1e-9;

__attribute__((noinline)) static void work(long us)
{
    COMPUTE(us)
}

__attribute__((noinline)) static void slow_part(long us)
{
    COMPUTE(us)
}

__attribute__((noinline)) static void load_batch(long us)
{
    nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
    sink += 1;
}

__attribute__((noinline)) static void touch_memory(long us, int is_new)
{
    static char *kept;
    size_t size = (size_t)us * PAGE;

    if (!kept || is_new)
        kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < size; i += PAGE)
        kept[i]++;
    if (is_new)
        munmap(kept, size);
    sink += 1;
}

static void bind_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* PLANTED_NICE: other programs of a busy machine would be faults that were not planted. Sessions have a priority, too.
 */
static void raise_priority(void)
{
    const char *text = getenv("PLANTED_NICE");
    FILE *file = text ? fopen("/proc/self/autogroup", "w") : NULL;

    if (text)
        setpriority(PRIO_PROCESS, 0, atoi(text));
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static MPI_Comm both;

static void fault_of(const char *fault, int rank, int at, int size, long us)
{
    int value = rank, next = (at + 1) % size;

    if (strcmp(fault, "faults") == 0) {
        touch_memory(us, rank == at);
    } else if ((strcmp(fault, "compute") == 0 || strcmp(fault, "layers") == 0) && rank == at) {
        slow_part(us);
    } else if (strcmp(fault, "sleep") == 0 && rank == at) {
        load_batch(us);
    } else if (strcmp(fault, "message") == 0) {
        if (rank == at) {
            slow_part(us);
            MPI_Send(&value, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        } else if (rank == next) {
            MPI_Recv(&value, 1, MPI_INT, at, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (strcmp(fault, "pair") == 0 && both != MPI_COMM_NULL) {
        if (rank == at)
            slow_part(us);
        MPI_Barrier(both);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    double value = 1, sum;

    if (argc < 6)
        return 2;
    const char *fault = argv[1];
    int at = atoi(argv[2]), steps = atoi(argv[3]);
    long work_us = atol(argv[4]), fault_us = atol(argv[5]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank == at || rank == (at + 1) % size ? 1 : MPI_UNDEFINED, rank, &both);
    srand48((argc > 6 ? atol(argv[6]) : 0) * 100 + rank);
    if (strcmp(fault, "hog") == 0)
        bind_to(rank == at ? 1 : 0);
    raise_priority();
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        long us = work_us + (long)((double)work_us * 0.05 * (drand48() - 0.5));
        work(strcmp(fault, "uneven") == 0 && rank == at ? us + fault_us : us);
        fault_of(fault, rank, at, size, fault_us);
        for (int layer = 0; layer < (strcmp(fault, "layers") == 0 ? LAYERS : 1); layer++)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.0f\n", (MPI_Wtime() - start) / steps * 1e9);
    MPI_Finalize();
    return 0;
}
