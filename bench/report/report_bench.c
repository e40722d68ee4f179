/* What the report file costs: bytes and CPU time per row to write, time to open and decode. Beside it the baseline: the
 * same rows as plain structs through write(), and copied in memory.
 *
 * report_bench [ROWS [SEED [FILE]]]: rows like those of a traced program, nested ranges of
 * several threads with jitter. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/reader/reader.h"
#include "report/writer/writer.h"

#define BATCH 4096
#define THREADS 4
#define NAMES 24
#define DEPTH 3

static uint64_t seed;

static uint64_t random_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A duration around typical with a long tail, as measured ones have. */
static int64_t jitter(double typical)
{
    double u = ((double)(random_number() >> 11) + 1) / 9007199254740993.0;
    double v = (double)(random_number() >> 11) / 9007199254740992.0;
    double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    return (int64_t)(typical * exp(0.25 * normal));
}

struct thread {
    int64_t now, starts[DEPTH];
    int depth;
};

/* Rows of one thread until the batch is full: a range is written when it ends, inner ones first. */
static void fill(struct row_NVTX_EVENTS *rows, size_t count, struct thread *thread, int64_t tid)
{
    for (size_t i = 0; i < count;) {
        thread->now += jitter(90);
        if (thread->depth < DEPTH && (thread->depth == 0 || random_number() % 2)) {
            thread->starts[thread->depth++] = thread->now;
            continue;
        }
        struct row_NVTX_EVENTS *row = &rows[i++];
        thread->depth--;
        row->present = 0;
        ROW_SET(row, NVTX_EVENTS, start, thread->starts[thread->depth]);
        ROW_SET(row, NVTX_EVENTS, end, thread->now);
        ROW_SET(row, NVTX_EVENTS, eventType, 59);
        ROW_SET(row, NVTX_EVENTS, globalTid, INT64_C(0x1000004d2000000) + tid * 7919);
        ROW_SET(row, NVTX_EVENTS, domainId, 0);
        ROW_SET(row, NVTX_EVENTS, textId,
                1 + (int64_t)(thread->depth * 8) +
                    (int64_t)(random_number() % 64 ? random_number() % 3 : random_number() % 8));
    }
}

static double seconds(clockid_t clock)
{
    return (double)clock_ns(clock) * 1e-9;
}

static void stop_with(const char *what, const struct error *err)
{
    fprintf(stderr, "report_bench: %s: %s\n", what, err->text);
    exit(1);
}

struct written {
    double cpu, wall, memcpy_cpu, raw_cpu;
    uint64_t bytes;
};

/* Writes all rows; the time to make them up is taken off. */
static struct written write_report(const char *path, uint64_t rows)
{
    static struct row_NVTX_EVENTS batch[BATCH], copy[BATCH];
    struct thread threads[THREADS] = { 0 };
    struct error err;
    struct writer *writer;
    if (writer_open(path, &(struct writer_options){ .overwrite = 1, .workers = 1 }, &writer, &err))
        stop_with("open", &err);
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        writer_string(writer, name, (size_t)snprintf(name, sizeof name, "range number %d", i));
    }
    char raw_path[4096];
    snprintf(raw_path, sizeof raw_path, "%s.raw", path);
    int raw = open(raw_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    struct written result = { 0 };
    double made = 0, wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t done = 0; done < rows;) {
        double before = seconds(CLOCK_THREAD_CPUTIME_ID);
        size_t count = rows - done < BATCH ? (size_t)(rows - done) : BATCH;
        int64_t tid = (int64_t)(done / BATCH % THREADS);
        fill(batch, count, &threads[tid], tid);
        double filled = seconds(CLOCK_THREAD_CPUTIME_ID);
        memcpy(copy, batch, count * sizeof *batch);
        __asm__ volatile("" : : "r"(copy) : "memory");
        double copied = seconds(CLOCK_THREAD_CPUTIME_ID);
        if (write(raw, batch, count * sizeof *batch) < 0 ||
            lseek(raw, done % (64 * BATCH) ? 0 : 0, done % (64 * BATCH) ? SEEK_CUR : SEEK_SET) < 0)
            exit(1);
        double wrote = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (size_t i = 0; i < count;) {
            size_t room = count - i;
            void *at = writer_reserve(writer, TABLE_NVTX_EVENTS, &room);
            memcpy(at, batch + i, room * sizeof *batch);
            writer_commit(writer, TABLE_NVTX_EVENTS, room);
            i += room;
        }
        done += count;
        made += wrote - before;
        result.memcpy_cpu += copied - filled;
        result.raw_cpu += wrote - copied;
    }
    result.bytes = writer_bytes(writer);
    if (writer_close(writer, &err))
        stop_with("close", &err);
    result.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - made;
    result.wall = seconds(CLOCK_MONOTONIC) - wall;
    close(raw);
    unlink(raw_path);
    return result;
}

struct sums {
    struct {
        int64_t total;
        uint64_t rows;
        char pad[48];
    } worker[64];
};

static int sum_block(void *context, int worker, const struct report_block *block)
{
    struct sums *sums = context;
    int64_t total = 0;
    for (size_t i = 0; i < block->rows; i++)
        total += block->values[1][i] - block->values[0][i];
    sums->worker[worker % 64].total += total;
    sums->worker[worker % 64].rows += block->rows;
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *path = argc > 3 ? argv[3] : "report_bench.tacho";
    struct written written = write_report(path, rows);
    struct error err;

    double opening = seconds(CLOCK_MONOTONIC);
    struct report *report;
    if (report_open(path, &report, &err))
        stop_with("read", &err);
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    int columns[] = { report_column(table, "start"), report_column(table, "end"), report_column(table, "globalTid"),
                      report_column(table, "textId") };
    double opened = seconds(CLOCK_MONOTONIC);
    struct sums sums = { 0 };
    if (report_scan(report, table, columns, 4, NULL, sum_block, &sums, &err))
        stop_with("scan", &err);
    double scanned = seconds(CLOCK_MONOTONIC);
    struct report_columns all;
    if (report_read(report, table, columns, 4, &all, &err))
        stop_with("read", &err);
    double read = seconds(CLOCK_MONOTONIC);
    uint64_t counted = 0;
    for (size_t i = 0; i < 64; i++)
        counted += sums.worker[i].rows;

    printf("rows                      %10llu\n", (unsigned long long)rows);
    printf("file                      %10.2f bytes/row\n", (double)table->packed_bytes / (double)rows);
    printf("  baseline: structs       %10.2f bytes/row\n", (double)sizeof(struct row_NVTX_EVENTS));
    printf("append and encode         %10.1f ns/row of CPU, all threads\n", written.cpu / (double)rows * 1e9);
    printf("  baseline: memcpy        %10.1f ns/row\n", written.memcpy_cpu / (double)rows * 1e9);
    printf("  baseline: write structs %10.1f ns/row\n", written.raw_cpu / (double)rows * 1e9);
    printf("open                      %10.2f ms\n", (opened - opening) * 1e3);
    printf("visit 4 columns           %10.2f ms on %d threads\n", (scanned - opened) * 1e3, report_workers(report));
    printf("read 4 columns to memory  %10.2f ms\n", (read - scanned) * 1e3);
    int good = counted == rows && all.rows == rows;
    report_columns_free(&all);
    report_close(report);
    unlink(path);
    if (!good)
        fprintf(stderr, "report_bench: rows are missing\n");
    return !good;
}
