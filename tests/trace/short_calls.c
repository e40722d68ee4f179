/* Makes known numbers of calls that take next to no time, in two threads and in a child that is killed, and prints what
 * it did: "NAME CALLS ERRORS BYTES". */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITES = 400, READS = 300, WRONG_OPENS = 20, CONTROLS = 5, BLOCK = 100, LAST_BLOCK = 40 };

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        _exit(1);
    }
}

/* The last read gets less than it asks for. */
static void *make_calls(void *path)
{
    char block[BLOCK] = { 0 };
    int file = open(path, O_RDWR | O_CREAT, 0600);

    check(file >= 0, "open");
    for (int i = 0; i < WRITES; i++)
        check(pwrite(file, block, BLOCK, (off_t)i * BLOCK) == BLOCK, "pwrite");
    check(ftruncate(file, (off_t)WRITES * BLOCK) == 0, "ftruncate");
    for (int i = 0; i < READS; i++)
        check(pread(file, block, BLOCK, (off_t)i * BLOCK) == BLOCK, "pread");
    check(pread(file, block, BLOCK, (off_t)WRITES * BLOCK - LAST_BLOCK) == LAST_BLOCK, "pread");
    check(pread(file, block, BLOCK, (off_t)WRITES * BLOCK) == 0, "pread at the end");
    for (int i = 0; i < WRONG_OPENS; i++)
        check(openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY) == -1, "openat");
    for (int i = 0; i < CONTROLS; i++)
        check(fcntl(file, F_GETFD) >= 0, "fcntl");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int parts = 3;

    check(argc == 4 && pthread_create(&thread, NULL, make_calls, argv[1]) == 0, "the thread");
    make_calls(argv[2]);
    check(pthread_join(thread, NULL) == 0, "the thread's end");
    pid_t child = fork();
    if (child == 0) {
        make_calls(argv[3]);
        raise(SIGKILL);
    }
    check(waitpid(child, NULL, 0) == child, "waitpid");
    printf("pwrite %d 0 %d\n", parts * WRITES, parts * WRITES * BLOCK);
    printf("pread %d 0 %d\n", parts * (READS + 2), parts * (READS * BLOCK + LAST_BLOCK));
    printf("openat %d %d 0\n", parts * WRONG_OPENS, parts * WRONG_OPENS);
    printf("fcntl %d 0 0\n", parts * CONTROLS);
    printf("ftruncate %d 0 0\n", parts);
    return 0;
}
