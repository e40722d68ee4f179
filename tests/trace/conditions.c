/* A program for tests of unusual circumstances.
 *
 *     conditions hostile            names that no display likes: control characters, bytes that are not UTF-8, a
 *                                   megabyte
 *     conditions descriptors FILE   writes which descriptors below 64 are open into FILE
 *     conditions limits KIND        a child that forbids itself what only the agent would do; status 5 if it lives
 *     conditions environment        exec with many variables from a thread with a small stack; status 5
 *     conditions keys               takes all keys for thread-specific data, says how many, and makes a thread
 *     conditions range              one range called "range", then "done" on stdout, status 3 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

#define LONG_TEXT 1000000

static void range(const char *name)
{
    nvtx_push(name);
    nvtx_pop();
}

static int hostile(void)
{
    char *text = malloc(LONG_TEXT + 1);

    memset(text, 'L', LONG_TEXT);
    text[LONG_TEXT] = 0;
    range(text);
    range("line\nbreak");
    range("\xff\xfe not UTF-8 \xc3");
    range("\x1b[31mred\x07");
    range("");
    range("'; DROP TABLE NVTX_EVENTS; --");
    range("%s%n \"quoted\", with\ttab");
    nvtx_domain("domain\nwith \xff");
    pthread_setname_np(pthread_self(), "\x1b[2Jx\ny\xff");
    range("last");
    free(text);
    return 0;
}

static int descriptors(const char *path)
{
    char open_ones[64 * 3 + 1] = "", number[8];

    for (int file = 0; file < 64; file++)
        if (fcntl(file, F_GETFD) != -1) {
            snprintf(number, sizeof number, "%d ", file);
            strcat(open_ones, number);
        }
    range("range");
    FILE *out = fopen(path, "w");
    return out && fputs(open_ones, out) >= 0 && fclose(out) == 0 ? 0 : 1;
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

/* Calls that the program does not make itself. */
static int set_filter(void)
{
    static const unsigned calls[] = { SYS_socket,      SYS_madvise, SYS_gettid,       SYS_getpid,
                                      SYS_getpriority, SYS_prctl,   SYS_clock_gettime };
    struct sock_filter filter[2 * sizeof calls / sizeof calls[0] + 2];
    unsigned short count = 0;

    filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL);
    }
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = { count, filter };
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all);
}

static int limit(const char *kind)
{
    if (strcmp(kind, "filter") == 0)
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || set_filter();
    if (strcmp(kind, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    if (strcmp(kind, "clock") == 0)
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    /* "question": does not limit anything */
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 ? 0 : 1;
}

static void read_often(int zero)
{
    char byte;

    for (int i = 0; i < 20000; i++) /* more than a chunk of records */
        if (read(zero, &byte, 1) != 1)
            _exit(1);
}

static int limits(const char *kind)
{
    int zero = open("/dev/zero", O_RDONLY), status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (limit(kind) != 0)
            _exit(77);
        read_often(zero);
        if (strcmp(kind, "filter") == 0 && fork() == 0) {
            read_often(zero);
            _exit(4);
        }
        if (strcmp(kind, "filter") == 0 && (wait(&status) < 0 || status != 4 << 8))
            _exit(2);
        syscall(SYS_exit, 5); /* strict mode knows no other */
    }
    waitpid(child, &status, 0);
    range("range");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* ---- a large environment --------------------------------------------------------------------------------------- */

enum { VARIABLES = 10000 };

static void *execute(void *unused)
{
    static char *variables[VARIABLES + 1];
    char *arguments[] = { "sh", "-c", "test \"$V9999\" = x && exit 5", NULL };

    for (int i = 0; i < VARIABLES; i++)
        if (asprintf(&variables[i], "V%d=x", i) < 0)
            return NULL;
    execve("/bin/sh", arguments, variables);
    return NULL;
}

static int environment(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    range("range");
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_create(&thread, &attributes, execute, NULL);
    pthread_join(thread, NULL);
    return 1;
}

/* ---- keys for thread-specific data ----------------------------------------------------------------------------- */

static void *one_range(void *unused)
{
    pthread_setname_np(pthread_self(), "late");
    range("range");
    return NULL;
}

static int keys(void)
{
    pthread_key_t key;
    pthread_t thread;
    int count = 0;

    while (pthread_key_create(&key, NULL) == 0)
        count++;
    printf("%d keys\n", count);
    return pthread_create(&thread, NULL, one_range, NULL) || pthread_join(thread, NULL) || usleep(20000);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (strcmp(mode, "limits") == 0 && argc > 2)
        return limits(argv[2]);
    if (strcmp(mode, "keys") == 0)
        return keys();
    if (strcmp(mode, "environment") == 0)
        return environment();
    if (strcmp(mode, "hostile") == 0)
        return hostile();
    if (strcmp(mode, "descriptors") == 0)
        return descriptors(argv[2]);
    if (strcmp(mode, "range") == 0) {
        range("range");
        puts("done");
        return 3;
    }
    return 1;
}
