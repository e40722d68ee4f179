/* A program whose stacks and thread names are known: threads that compute in functions of their own, and rest, until
 * the test says stop.
 *
 *     killed_stacks FILE */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static volatile unsigned sink;
static volatile int *stop;

__attribute__((noinline)) static void innermost(void)
{
    for (int i = 0; i < 300000; i++)
        sink += (unsigned)i;
}

#define LEVEL(name, next)                                   \
    __attribute__((noinline)) static void name(void)        \
    {                                                       \
        next();                                             \
        sink++; /* so that the call before it is no jump */ \
    }
LEVEL(inner, innermost)
LEVEL(outer, inner)

static void *compute(void *name)
{
    pthread_setname_np(pthread_self(), name);
    while (!*stop) {
        outer();
        nanosleep(&(struct timespec){ 0, 5000000 }, NULL); /* several captures run at the same time */
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int file = argc > 1 ? open(argv[1], O_RDWR) : -1;
    stop = mmap(NULL, sizeof *stop, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || stop == MAP_FAILED)
        return 1;
    pthread_create(&thread, NULL, compute, "second thread");
    compute("first thread");
    pthread_join(thread, NULL);
    return 0;
}
