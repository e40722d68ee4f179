/* Rows that no capture has, for every table of the schema: times before and behind all others, ids that point nowhere
 * or are there twice, ends before starts, numbers outside of their enums, NULL where there must be a value. They are
 * written by the real writer, so that no checksum keeps them from the analyses. The same bytes make the same rows; few
 * bytes make as many rows as many do. */
#ifndef TACHO_TESTS_UNIT_HOSTILE_REPORT_H
#define TACHO_TESTS_UNIT_HOSTILE_REPORT_H

#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "report/writer/writer.h"

/* What decides: the bytes, and behind them numbers that follow from them. */
struct hostile {
    const uint8_t *bytes;
    size_t left;
    uint64_t seed; /* not 0 */
};

static inline struct hostile hostile_of(const uint8_t *bytes, size_t size)
{
    struct hostile hostile = { bytes, size, UINT64_C(20261115) };

    for (size_t i = 0; i < size; i++)
        hostile.seed = (hostile.seed ^ bytes[i]) * UINT64_C(0x100000001b3) | 1;
    return hostile;
}

static inline uint64_t hostile_below(struct hostile *hostile, uint64_t most)
{
    uint64_t number;

    if (hostile->left >= 2) {
        number = (uint64_t)hostile->bytes[0] << 8 | hostile->bytes[1];
        hostile->bytes += 2;
        hostile->left -= 2;
    } else {
        hostile->seed ^= hostile->seed << 13;
        hostile->seed ^= hostile->seed >> 7;
        hostile->seed ^= hostile->seed << 17;
        number = hostile->seed >> 11;
    }
    return number % most;
}

static const char *const hostile_texts[] = {
    "range",
    "lost",
    "cpu_op",
    "user_annotation",
    "gpu_user_annotation",
    "step 3",
    "iteration4",
    "cudaLaunchKernel_v7000",
    "",
    "aten::conv2d, seq = 720, op_id = 4",
    "\xff\xfe",
    "cuda_sync",
    "[memory]",
    "ProfilerStep#7",
    "aten::mm",
    "python_function",
    "nn.Module: Linear_0",
    "[[2, 3], [3, 4]]",
    "autograd::engine::evaluate_function: MmBackward0",
    "_ZN2at6native12kernelILi10EEEvv",
    "cycles",
    "kernel",
    "ncclAllReduce",
    "=1+1",
    "fwdbwd",
    "Optimizer.step#Adam.step",
    "enumerate(DataLoader)#_Next",
    "{\"a\": 1}",
    "pthread_mutex_lock",
    "read",
    "fork",
    "dlopen",
    "<frozen importlib._bootstrap>",
};
enum { HOSTILE_TEXTS = COUNT_OF(hostile_texts) };

/* Mostly numbers that rows share, so that there is something to be joined. */
static inline int64_t hostile_value(struct hostile *hostile, enum column_type type, const char *name)
{
    static const int64_t awkward[] = { 0,
                                       1,
                                       2,
                                       3,
                                       -1,
                                       -2,
                                       7,
                                       59,
                                       60,
                                       255,
                                       256,
                                       65536,
                                       INT64_C(1) << 24,
                                       (INT64_C(1) << 53) + 1,
                                       INT64_MAX,
                                       INT64_MAX - 1,
                                       INT64_MIN,
                                       INT64_MIN + 1,
                                       INT32_MAX,
                                       INT32_MIN,
                                       UINT32_MAX,
                                       INT64_C(1) << 62,
                                       -(INT64_C(1) << 62) };

    if (hostile_below(hostile, 10) == 0)
        return awkward[hostile_below(hostile, COUNT_OF(awkward))];
    if (type == COLUMN_TIME)
        return (int64_t)hostile_below(hostile, UINT64_C(1) << hostile_below(hostile, 40));
    if (type == COLUMN_TEXT || type == COLUMN_STRING)
        return (int64_t)hostile_below(hostile, HOSTILE_TEXTS + 1);
    if (strstr(name, "lobal"))
        return (int64_t)(UINT64_C(1) << 48 | (1 + hostile_below(hostile, 2)) << 24 | hostile_below(hostile, 3));
    if (strncmp(name, "lock", 4) == 0)
        return (int64_t)(UINT64_C(1) << 48 | UINT64_C(1) << 24 | hostile_below(hostile, 3));
    if (strcmp(name, "eventClass") == 0)
        return 27;
    if (strcmp(name, "eventType") == 0)
        return (int64_t[]){ 59, 59, 59, 60, 34, 75, 33, 39 }[hostile_below(hostile, 8)];
    return (int64_t)hostile_below(hostile, hostile_below(hostile, 8) == 0 ? 128 : 4);
}

/* A row is a bit for each column that has a value, then eight bytes for each. */
static inline void hostile_row(struct hostile *hostile, struct writer *writer, enum table_id table)
{
    const struct schema_table *schema = &schema_tables[table];
    int64_t row[65] = { 0 };

    for (size_t c = 0; c < schema->column_count; c++)
        if (schema->columns[c].not_null ? hostile_below(hostile, 50) != 0 : hostile_below(hostile, 3) != 0) {
            row[0] |= (int64_t)(UINT64_C(1) << c);
            row[1 + c] = hostile_value(hostile, schema->columns[c].type, schema->columns[c].name);
        }
    writer_append(writer, table, row);
}

/* A third of the tables, or all of them. */
static inline void hostile_fill(struct hostile *hostile, struct writer *writer, uint64_t most_rows)
{
    for (size_t i = 0; i < HOSTILE_TEXTS; i++)
        writer_string(writer, hostile_texts[i], strlen(hostile_texts[i]));
    int all = hostile_below(hostile, 8) == 0;
    for (int table = 0; table < TABLE_COUNT; table++)
        if (strcmp(schema_tables[table].name, "StringIds") != 0 && (all || hostile_below(hostile, 3) == 0))
            for (uint64_t rows = hostile_below(hostile, most_rows); rows; rows--)
                hostile_row(hostile, writer, (enum table_id)table);
}

#endif
