/* Makes a report of a CPU program that never ran, for the benches of rules: threads that wait for a few locks, read
 * files and wait for events. The same arguments make the same file.
 *
 * make_calls FILE [CALLS]: by default 4 M calls of 16 threads, every fourth a wait for one of 2 locks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/writer/writer.h"

enum { THREADS = 16, LOCKS = 2, CALL_NS = 3000, WORK_NS = 2000 };
#define GLOBAL_PID (INT64_C(1) << 48 | INT64_C(4242) << 24)

static int64_t thread_id(int thread)
{
    return GLOBAL_PID | (4243 + thread);
}

static void write_threads(struct writer *writer, int64_t end_ns)
{
    for (int i = 0; i < THREADS; i++) {
        struct row_TACHO_THREAD row = { 0 };
        ROW_SET(&row, TACHO_THREAD, start, 0);
        ROW_SET(&row, TACHO_THREAD, end, end_ns);
        ROW_SET(&row, TACHO_THREAD, globalTid, thread_id(i));
        writer_append(writer, TABLE_TACHO_THREAD, &row);
    }
}

static void write_call(struct writer *writer, const int64_t *names, long number)
{
    int thread = (int)(number % THREADS), kind = (int)(number / THREADS % 4);
    int64_t start = number / THREADS * (CALL_NS + WORK_NS) + thread;
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, start);
    ROW_SET(&row, OSRT_API, end, start + CALL_NS + number % 97 * 10);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, thread_id(thread));
    ROW_SET(&row, OSRT_API, nameId, names[kind]);
    ROW_SET(&row, OSRT_API, returnValue, kind == 1 ? 4096 : 0);
    ROW_SET(&row, OSRT_API, nestingLevel, 0);
    ROW_SET(&row, OSRT_API, callchainId, 0);
    if (kind == 0) {
        ROW_SET(&row, OSRT_API, lockHolder, thread_id((thread + 1) % THREADS));
        ROW_SET(&row, OSRT_API, lockAddress, 0x7f0000000000 + 64 * (number / THREADS / 4 % LOCKS));
    }
    writer_append(writer, TABLE_OSRT_API, &row);
}

int main(int argc, char **argv)
{
    static const char *const texts[4] = { "pthread_mutex_lock", "read", "epoll_wait", "munmap" };
    long calls = argc > 2 ? atol(argv[2]) : 4000000;
    int64_t names[4];
    struct writer *writer;
    struct error err;

    if (argc < 2 || calls <= 0) {
        fprintf(stderr, "make_calls FILE [CALLS]\n");
        return 2;
    }
    if (writer_open(argv[1], &(struct writer_options){ .overwrite = 1 }, &writer, &err) != 0) {
        fprintf(stderr, "make_calls: %s\n", err.text);
        return 1;
    }
    for (int i = 0; i < 4; i++)
        names[i] = writer_string(writer, texts[i], strlen(texts[i]));
    for (long i = 0; i < calls; i++)
        write_call(writer, names, i);
    write_threads(writer, calls / THREADS * (CALL_NS + WORK_NS));
    if (writer_close(writer, &err) != 0) {
        fprintf(stderr, "make_calls: %s\n", err.text);
        return 1;
    }
    return 0;
}
