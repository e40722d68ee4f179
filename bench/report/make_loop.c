/* Makes a long capture of a short one, for the benches of answers: the loop of a real program, over and over. Rows that
 * begin in the part FROM_NS to TO_NS are written TIMES times, each time later by the length of the part and with
 * correlation ids and stacks of their own, as if the program had gone on; rows that describe others are written once.
 *
 * make_loop CAPTURE FILE TIMES FROM_NS TO_NS [marks] [more]: with marks the step times that the agent took are
 * repeated, too; with more each ms has calls to libc, NVTX ranges and a CPU sample with its stack, where the capture
 * has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/reader/reader.h"
#include "report/schema/chain_tables.h"
#include "report/schema/schema.h"
#include "report/writer/writer.h"

enum { MOST_COLUMNS = 64 };

/* Columns that number events. The greatest number of each in the capture is what a round is apart from the next. */
static const char *const numbers[] = { "correlationId",
                                       "externalId",
                                       "recordFunctionId",
                                       "sequenceNumber",
                                       "gridId",
                                       "eventIndex",
                                       "flowId",
                                       "pythonId",
                                       "parentId",
                                       "number",
                                       "callchainId",
                                       "pythonCallchainId",
                                       "id" };
enum { STEP_NUMBER = 9, FIRST_STACK = 10, NUMBERS = sizeof numbers / sizeof *numbers };

/* One table of the capture. */
struct source {
    const struct report_table *table;
    enum table_id id;
    struct report_columns rows; /* in the order of the schema */
    int kind[MOST_COLUMNS];     /* of its columns: a place in numbers[], or one of these */
    int is_chain, is_once;
};
enum { AS_IT_IS = -1, A_STRING = -2, A_TIME = -3 };

struct loop {
    struct report *from;
    struct writer *to;
    struct source sources[TABLE_COUNT];
    size_t count;
    int64_t from_ns, to_ns, *strings, distance[NUMBERS];
    int64_t samples; /* that were made, too */
    int has_marks, has_more;
};

static void fail(const char *why)
{
    fprintf(stderr, "make_loop: %s\n", why);
    exit(1);
}

static int column_kind(const struct loop *loop, const struct source *source, const struct schema_column *column)
{
    enum column_meaning meaning = schema_meaning(source->table->name, column->name);

    if (column->type == COLUMN_TIME || meaning == MEANING_TIME)
        return A_TIME;
    if (column->type == COLUMN_STRING || column->type == COLUMN_TEXT)
        return A_STRING;
    if (column->type != COLUMN_INT || (strcmp(column->name, "number") == 0 && !loop->has_marks))
        return AS_IT_IS;
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(numbers[i], column->name) == 0 &&
            (strcmp(column->name, "id") != 0 || source->is_chain || source->id == TABLE_COMPOSITE_EVENTS))
            return i;
    return AS_IT_IS;
}

/* All kinds of stacks are numbered alike: by the greatest of all numbers. */
static int number_of(int kind)
{
    return kind >= FIRST_STACK ? FIRST_STACK : kind;
}

static void read_source(struct loop *loop, const struct report_table *table, enum table_id id)
{
    struct source *source = &loop->sources[loop->count++];
    const struct schema_table *schema = &schema_tables[id];
    int columns[MOST_COLUMNS];
    struct error err;

    *source = (struct source){ .table = table, .id = id, .is_chain = chain_table_find(table->name) >= 0 };
    source->is_once = !source->is_chain && (table->first_ns > table->last_ns || schema_is_kept_whole(table->name));
    if (id == TABLE_TACHO_STEP_TIME || id == TABLE_TACHO_TORCH_STEP)
        source->is_once = 0;
    for (size_t c = 0; c < schema->column_count; c++) {
        columns[c] = report_column(table, schema->columns[c].name);
        source->kind[c] = column_kind(loop, source, &schema->columns[c]);
    }
    if (report_read(loop->from, table, columns, schema->column_count, &source->rows, &err) != 0)
        fail(err.text);
    for (size_t c = 0; c < schema->column_count; c++)
        for (size_t row = 0; source->kind[c] >= 0 && row < source->rows.rows; row++) {
            int64_t *distance = &loop->distance[number_of(source->kind[c])], value = source->rows.values[c][row];
            if (!columns_is_null(&source->rows, c, row) && value >= *distance && value < INT32_MAX)
                *distance = value + 1;
        }
}

/* The first column with a time says when a row begins. */
static int is_in_part(const struct loop *loop, const struct source *source, size_t row)
{
    for (size_t c = 0; c < schema_tables[source->id].column_count; c++)
        if (source->kind[c] == A_TIME)
            return source->rows.values[c][row] >= loop->from_ns && source->rows.values[c][row] < loop->to_ns;
    return source->is_chain;
}

/* The number of a step goes on counting: a round is as many further as steps begin in the part. */
static void count_steps(struct loop *loop)
{
    for (size_t i = 0; i < loop->count; i++) {
        const struct source *source = &loop->sources[i];
        if (source->id != TABLE_TACHO_STEP_TIME)
            continue;
        loop->distance[STEP_NUMBER] = 0;
        for (size_t row = 0; row < source->rows.rows; row++)
            loop->distance[STEP_NUMBER] += is_in_part(loop, source, row);
    }
}

static void read_sources(struct loop *loop)
{
    for (size_t i = 0; i < report_table_count(loop->from); i++) {
        const struct report_table *table = report_table_at(loop->from, i);
        int id = schema_find(table->name);
        /* counts of events would be those of the short capture */
        if (id < 0 || !table->rows || id == TABLE_StringIds || id == TABLE_TACHO_COUNT ||
            (id == TABLE_TACHO_STEP_TIME && !loop->has_marks))
            continue;
        read_source(loop, table, (enum table_id)id);
    }
}

static int64_t string_of(struct loop *loop, int64_t id)
{
    size_t length;

    if (id <= 0)
        return 0;
    if (!loop->strings[id]) {
        const char *bytes = report_string(loop->from, id, &length);
        loop->strings[id] = writer_string(loop->to, bytes, length);
    }
    return loop->strings[id];
}

static int64_t value_of(struct loop *loop, int kind, int64_t value, int64_t round)
{
    if (kind == A_STRING)
        return string_of(loop, value);
    if (kind == A_TIME)
        return value + round * (loop->to_ns - loop->from_ns);
    return kind >= 0 && value > 0 ? value + round * loop->distance[number_of(kind)] : value;
}

static void add_row(struct loop *loop, const struct source *source, size_t row, int64_t round)
{
    size_t columns = schema_tables[source->id].column_count;
    int64_t values[MOST_COLUMNS + 1] = { 0 };
    uint64_t present = 0;

    for (size_t c = 0; c < columns; c++) {
        if (columns_is_null(&source->rows, c, row))
            continue;
        present |= UINT64_C(1) << c;
        values[c + 1] = value_of(loop, source->kind[c], source->rows.values[c][row], round);
    }
    memcpy(values, &present, sizeof present);
    writer_append(loop->to, source->id, values);
}

static void add_round(struct loop *loop, int64_t round)
{
    for (size_t i = 0; i < loop->count; i++) {
        const struct source *source = &loop->sources[i];
        if (source->is_once && round > 0)
            continue;
        for (size_t row = 0; row < source->rows.rows; row++)
            if (source->is_once || is_in_part(loop, source, row))
                add_row(loop, source, row, round);
    }
}

/* ---- rows that were made --------------------------------------------------------------------------------------- */

enum { CALLS_A_MS = 160, RANGES_A_MS = 4, FRAMES = 25, MS = 1000000 };

static int64_t text(struct loop *loop, const char *format, int number)
{
    char bytes[128];
    int length = snprintf(bytes, sizeof bytes, format, number);

    return writer_string(loop->to, bytes, (size_t)length);
}

static void add_call(struct loop *loop, int64_t thread, int64_t start_ns, int number)
{
    static const char *const names[] = { "read", "ioctl", "pthread_mutex_lock", "poll", "write" };
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, start_ns);
    ROW_SET(&row, OSRT_API, end, start_ns + 1500 + number * 37);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, thread);
    ROW_SET(&row, OSRT_API, nameId, text(loop, names[number % 5], 0));
    ROW_SET(&row, OSRT_API, returnValue, 0);
    ROW_SET(&row, OSRT_API, nestingLevel, 0);
    ROW_SET(&row, OSRT_API, callchainId, 0);
    writer_append(loop->to, TABLE_OSRT_API, &row);
}

static void add_range(struct loop *loop, int64_t thread, int64_t start_ns, int number)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, start_ns);
    ROW_SET(&row, NVTX_EVENTS, end, start_ns + MS / RANGES_A_MS - 1000);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, text, text(loop, "layer%d.forward", number));
    ROW_SET(&row, NVTX_EVENTS, globalTid, thread);
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    writer_append(loop->to, TABLE_NVTX_EVENTS, &row);
}

static void add_sample(struct loop *loop, int64_t thread, int64_t start_ns)
{
    struct row_COMPOSITE_EVENTS row = { 0 };
    int64_t id = ++loop->samples;

    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, start_ns);
    ROW_SET(&row, COMPOSITE_EVENTS, cpu, 1);
    ROW_SET(&row, COMPOSITE_EVENTS, threadState, 1);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, thread);
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, 1);
    writer_append(loop->to, TABLE_COMPOSITE_EVENTS, &row);
    for (int depth = 0; depth < FRAMES; depth++) {
        struct row_SAMPLING_CALLCHAINS frame = { 0 };
        ROW_SET(&frame, SAMPLING_CALLCHAINS, id, id);
        ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol,
                text(loop, "at::native::function_%d(at::Tensor const&)", depth < 4 ? (int)(id % 97) + depth : depth));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, module, text(loop, "/opt/torch/lib/libtorch_cpu.so", 0));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, originalIP, 4096 * (depth + 1) + id % 97);
        ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, depth);
        writer_append(loop->to, TABLE_SAMPLING_CALLCHAINS, &frame);
    }
}

/* The thread of the first call: the one that runs the loop. */
static int64_t first_thread(const struct loop *loop)
{
    for (size_t i = 0; i < loop->count; i++)
        if (loop->sources[i].id == TABLE_CUPTI_ACTIVITY_KIND_RUNTIME)
            return loop->sources[i].rows.values[CUPTI_ACTIVITY_KIND_RUNTIME_globalTid][0];
    return 0;
}

static void add_more(struct loop *loop, int64_t round)
{
    int64_t length = loop->to_ns - loop->from_ns, thread = first_thread(loop);

    for (int64_t at = 0; at + MS <= length; at += MS) {
        int64_t start_ns = loop->from_ns + round * length + at;
        for (int i = 0; i < CALLS_A_MS; i++)
            add_call(loop, thread, start_ns + i * (MS / CALLS_A_MS), i);
        for (int i = 0; i < RANGES_A_MS; i++)
            add_range(loop, thread, start_ns + i * (MS / RANGES_A_MS), (int)(at / MS * RANGES_A_MS) + i);
        add_sample(loop, thread, start_ns + 500);
    }
}

int main(int argc, char **argv)
{
    static struct loop loop;
    struct error err = { 0 };

    if (argc < 6) {
        fprintf(stderr, "usage: make_loop CAPTURE FILE TIMES FROM_NS TO_NS [marks] [more]\n");
        return 2;
    }
    loop.from_ns = strtoll(argv[4], NULL, 10);
    loop.to_ns = strtoll(argv[5], NULL, 10);
    for (int i = 6; i < argc; i++) {
        loop.has_marks |= strcmp(argv[i], "marks") == 0;
        loop.has_more |= strcmp(argv[i], "more") == 0;
    }
    if (report_open(argv[1], &loop.from, &err) != 0 ||
        writer_open(argv[2], &(struct writer_options){ .overwrite = 1 }, &loop.to, &err) != 0)
        fail(err.text);
    const struct report_table *strings = report_table(loop.from, "StringIds");
    loop.strings = calloc((strings ? strings->rows : 0) + 1, sizeof *loop.strings);
    if (!loop.strings)
        fail("not enough memory");
    read_sources(&loop);
    count_steps(&loop);
    for (int64_t round = 0; round < strtoll(argv[3], NULL, 10); round++) {
        add_round(&loop, round);
        if (loop.has_more)
            add_more(&loop, round);
    }
    if (writer_close(loop.to, &err) != 0)
        fail(err.text);
    return 0;
}
