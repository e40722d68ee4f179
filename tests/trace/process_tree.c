/* A program of a tree: `NAME MS BYTES` computes for so many milliseconds of CPU time, writes and reads so many bytes,
 * and prints "NAME PID CPU_NS", where NAME is its first argument's last part. `NAME sleep` only waits a little. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Through a pipe, in pieces that it has room for. */
static int move(long bytes)
{
    char piece[1000];
    int ends[2];

    if (pipe(ends) != 0)
        return -1;
    for (long left = bytes; left > 0; left -= (long)sizeof piece) {
        size_t size = left < (long)sizeof piece ? (size_t)left : sizeof piece;
        if (write(ends[1], piece, size) != (ssize_t)size || read(ends[0], piece, size) != (ssize_t)size)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    char line[200];

    if (argc == 2)
        return usleep(100000);
    while (cpu_ns() < atoll(argv[1]) * 1000000)
        continue;
    if (move(atol(argv[2])) != 0)
        return 1;
    int length = snprintf(line, sizeof line, "%s %d %lld\n", name, (int)getpid(), cpu_ns());
    return write(1, line, (size_t)length) != length;
}
