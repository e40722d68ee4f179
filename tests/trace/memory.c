/* What a program sees of its own memory, and what it can still have of it.
 *
 *     memory size           its address space, in kB
 *     memory lock [FLAGS]   locks all of it, now and later or as these flags of mlockall() say: "0" or errno, then
 *                           in kB what is locked, and the address space before that
 *     memory lock_beside N  the same beside N threads that have made a mark and wait
 *     memory advice         for each mapping of the arena what the kernel was told of it, a line each
 *     memory vforks N       by how much its address space grows, in kB, while N vfork children become programs with
 *                           1000 variables each
 *     memory allocate       how many blocks of 1 MB it can have
 *     memory limits         its limit for the size of files, and what SIGXFSZ does
 *     memory crowd N T      stops its parent, the collector, while it makes N marks and T threads with a mark each */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

#define THREADS_MAX 4096
#define BLOCK (1u << 20)

static long status_kb(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kb = -1;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kb = atol(line + strlen(field) + 1);
    if (file)
        fclose(file);
    return kb;
}

static void advice(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[4096];
    int ours = 0;

    while (file && fgets(line, sizeof line, file)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            ours = strstr(line, "memfd:tacho") != NULL;
        else if (ours && strncmp(line, "VmFlags:", 8) == 0)
            fputs(line, stdout);
    }
    if (file)
        fclose(file);
}

static void vfork_once(char **variables)
{
    char *const arguments[] = { "true", NULL };
    pid_t child = vfork();

    if (child == 0) {
        execve("/bin/true", arguments, variables);
        _exit(1);
    }
    if (waitpid(child, NULL, 0) != child)
        abort();
}

static long vforks(int count)
{
    static char *variables[1001];

    for (int i = 0; i < 1000; i++)
        variables[i] = "ITS_OWN=1";
    vfork_once(variables);
    long before = status_kb("VmSize:");
    for (int i = 0; i < count; i++)
        vfork_once(variables);
    return status_kb("VmSize:") - before;
}

static int allocate(void)
{
    int count = 0;

    while (count < 100000 && malloc(BLOCK - 64))
        count++;
    return count;
}

static void *marks(void *barrier)
{
    pthread_barrier_wait(barrier); /* all of them at the same time */
    nvtx_mark("of a thread");
    return NULL;
}

static void lock(int flags)
{
    long size = status_kb("VmSize:");
    int error = mlockall(flags) == 0 ? 0 : errno;

    printf("%d %ld %ld\n", error, status_kb("VmLck:"), size);
}

static void *mark_and_wait(void *barrier)
{
    nvtx_mark("of a thread that waits");
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void lock_beside(unsigned threads)
{
    static pthread_t ids[THREADS_MAX];
    pthread_barrier_t barrier;

    nvtx_mark("first"); /* NVTX loads its injection, which takes memory, in this thread */
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, mark_and_wait, &barrier) != 0)
            abort();
    pthread_barrier_wait(&barrier);
    lock(MCL_CURRENT | MCL_FUTURE);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

static void crowd(int count, unsigned threads)
{
    static pthread_t ids[THREADS_MAX];
    pthread_barrier_t barrier;

    kill(getppid(), SIGSTOP);
    for (int i = 0; i < count; i++)
        nvtx_mark("one of a crowd");
    pthread_barrier_init(&barrier, NULL, threads ? threads : 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, marks, &barrier) != 0)
            abort();
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    kill(getppid(), SIGCONT);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (strcmp(mode, "size") == 0) {
        printf("%ld\n", status_kb("VmSize:"));
    } else if (strcmp(mode, "lock") == 0) {
        lock(argc > 2 ? atoi(argv[2]) : MCL_CURRENT | MCL_FUTURE);
    } else if (strcmp(mode, "lock_beside") == 0 && argc > 2) {
        lock_beside((unsigned)atoi(argv[2]));
    } else if (strcmp(mode, "lock_first") == 0 && argc > 2) {
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
            return 3;
        long before = status_kb("VmLck:");
        crowd(atoi(argv[2]), 1);
        printf("%ld\n", status_kb("VmLck:") - before);
    } else if (strcmp(mode, "advice") == 0) {
        advice();
    } else if (strcmp(mode, "vforks") == 0 && argc > 2) {
        printf("%ld\n", vforks(atoi(argv[2])));
    } else if (strcmp(mode, "allocate") == 0) {
        printf("%d\n", allocate());
    } else if (strcmp(mode, "limits") == 0) {
        struct rlimit limit;
        struct sigaction action;
        getrlimit(RLIMIT_FSIZE, &limit);
        sigaction(SIGXFSZ, NULL, &action);
        printf("%lld %lld %s\n", (long long)limit.rlim_cur, (long long)limit.rlim_max,
               action.sa_handler == SIG_DFL ? "default" : "other");
    } else if (strcmp(mode, "crowd") == 0 && argc > 3) {
        crowd(atoi(argv[2]), (unsigned)atoi(argv[3]));
    } else if (strcmp(mode, "full") == 0 && argc > 2) {
        nvtx_mark("before"); /* NVTX has loaded what it needs */
        setrlimit(RLIMIT_AS, &(struct rlimit){ 1, 1 });
        crowd(atoi(argv[2]), 0);
    } else {
        return 2;
    }
    return 0;
}
