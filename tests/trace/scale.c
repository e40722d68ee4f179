/* Many of everything, for scale.py: processes, threads, generations. Each does a known number of reads of one byte, and
 * what is to be found in the report is printed at the end: "programs threads reads". */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int zero; /* /dev/zero */

static void fail(const char *what)
{
    perror(what);
    _exit(99);
}

static void read_some(int count)
{
    char byte;
    for (int i = 0; i < count; i++)
        if (pread(zero, &byte, 1, 0) != 1)
            fail("pread");
}

static void truth(long programs, long threads, long reads)
{
    printf("%ld %ld %ld\n", programs, threads, reads);
}

static void reap(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            fail("waitpid");
    if (status != 0)
        _exit(98);
}

/* All alive at the same time: each says that it is here, then waits for the end of a pipe. */
static void together(int count)
{
    int here[2], go[2];
    pid_t *children = calloc((size_t)count, sizeof *children);
    if (!children || pipe(here) || pipe(go))
        fail("pipe");
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] < 0)
            fail("fork");
        if (children[i] == 0) {
            char byte = 0;
            close(go[1]);
            read_some(3);
            if (write(here[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0)
                _exit(97);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++) {
        char byte;
        if (read(here[0], &byte, 1) != 1)
            fail("read");
    }
    close(go[1]);
    for (int i = 0; i < count; i++)
        reap(children[i]);
    free(children);
    truth(count + 1, count + 1, 3L * count);
}

/* One after another, each a program of its own. */
static void in_turn(int count)
{
    char *program[] = { "scale", "once", NULL };
    for (int i = 0; i < count; i++) {
        pid_t pid;
        errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, program, environ);
        if (errno)
            fail("posix_spawn");
        reap(pid);
    }
    truth(count + 1, count + 1, 3L * count);
}

/* Each the child of the one before; half of them become another program first. */
static void generations(int left)
{
    read_some(1);
    if (left == 0)
        return;
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        if (left % 2) {
            char number[16];
            snprintf(number, sizeof number, "%d", left - 1);
            execl("/proc/self/exe", "scale", "generation", number, NULL);
            _exit(97);
        }
        generations(left - 1);
        _exit(0);
    }
    reap(pid);
}

static pthread_barrier_t all_here;

static void *thread_of_many(void *argument)
{
    read_some(2);
    pthread_barrier_wait(&all_here);
    read_some(1);
    return argument;
}

static void *short_thread(void *argument)
{
    read_some(1);
    return argument;
}

static void start(pthread_t *thread, void *(*body)(void *))
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    int error = pthread_create(thread, &small, body, NULL);
    if (error) {
        errno = error;
        fail("pthread_create");
    }
    pthread_attr_destroy(&small);
}

static void threads_together(int count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    if (!threads)
        fail("calloc");
    pthread_barrier_init(&all_here, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        start(&threads[i], thread_of_many);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    truth(1, count + 1, 3L * count);
}

static void short_threads(int count)
{
    for (int i = 0; i < count; i += 4) {
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            start(&threads[k], short_thread);
        for (int k = 0; k < 4; k++)
            pthread_join(threads[k], NULL);
    }
    truth(1, count + 1, count);
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;
    zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (!strcmp(shape, "once"))
        read_some(3);
    else if (!strcmp(shape, "together"))
        together(count);
    else if (!strcmp(shape, "in-turn"))
        in_turn(count);
    else if (!strcmp(shape, "generation"))
        generations(count);
    else if (!strcmp(shape, "generations")) {
        generations(count);
        truth(count + 1 + (count + 1) / 2, count + 1, count + 1); /* each exec is one more program */
    } else if (!strcmp(shape, "threads"))
        threads_together(count);
    else if (!strcmp(shape, "short-threads"))
        short_threads(count);
    else
        return 96;
    return 0;
}
