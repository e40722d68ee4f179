/* Storms of cheap events, until standard input ends: cost_limit reads | locks | ranges. Prints how many there were. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvtx_client.h"

enum { CALLS = 20000 };

static int is_over(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    return poll(&input, 1, 0) != 0;
}

/* Each poll is an OS call, too. */
static long call(int use_locks)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int file = open("/dev/zero", O_RDONLY);
    long calls = 0;
    char byte;
    do {
        for (int i = 0; i < CALLS; i++)
            if (use_locks) {
                pthread_mutex_lock(&lock);
                pthread_mutex_unlock(&lock);
            } else if (read(file, &byte, 1) != 1) {
                return -1;
            }
        calls += CALLS + 1;
    } while (!is_over());
    return calls;
}

/* Ranges of a microsecond or two. Nothing shows from outside whether the collector has looked: it does so ten times a
 * second. */
static long mark(void)
{
    struct timespec used;
    volatile unsigned sum = 0;
    long ranges = 0;
    do {
        for (int i = 0; i < CALLS; i++) {
            nvtx_push("range");
            for (int j = 0; j < 2000; j++)
                sum += (unsigned)j;
            nvtx_pop();
        }
        ranges += CALLS;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < 600000000);
    return ranges;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    printf("%ld\n", strcmp(argv[1], "ranges") == 0 ? mark() : call(strcmp(argv[1], "locks") == 0));
    return 0;
}
