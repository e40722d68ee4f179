/* Reads sequences: every call that launched something or waited gets a symbol, then each process's calls are put in
 * order. */
#include "gpu_sequences.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/operator_text.h"
#include "analyze/model/ranges.h"
#include "base/array.h"
#include "base/hash.h"

enum { SYMBOL_KIND, SYMBOL_NAME, SYMBOL_DETAILS, SYMBOL_WIDTH = SYMBOL_DETAILS + 3, PLAIN_WIDTH = SYMBOL_DETAILS };
enum { PAUSE_NS = 50000, PAUSE_TIMES = 10 };

/* The calls of all processes, in any order. */
struct items {
    struct item {
        int64_t start_ns, end_ns, thread;
        int64_t work_ns; /* of the GPU */
        uint32_t symbol;
    } *list;             /* owned */
    size_t count, room;
};

struct reading {
    struct gpu_sequences *out;
    struct report *report;
    int contents;
    struct calls calls;
    struct call_work {
        uint64_t sum;        /* of its work */
        int64_t work_ns;
        uint32_t symbol;     /* of its first work; NO_KEY: it has none */
        uint16_t is_several; /* it has more than one */
        uint16_t is_graph;
    } *works;                /* owned; by row of the calls */
    struct items items;
    struct keys threads;     /* that made calls */
};

/* ---- symbols --------------------------------------------------------------------------------------------------- */

static uint32_t add_symbol(struct reading *reading, enum sequence_kind kind, int64_t name, const int64_t *details)
{
    int64_t key[SYMBOL_WIDTH] = { [SYMBOL_KIND] = kind, [SYMBOL_NAME] = name };

    if (details && reading->contents & SEQUENCE_GRIDS)
        memcpy(key + SYMBOL_DETAILS, details, 3 * sizeof *details);
    return keys_add(&reading->out->symbols, key);
}

static int add_item(struct items *items, const struct item *item)
{
    if (items->count + 1 >= UINT32_MAX ||
        array_reserve(&items->list, &items->room, items->count + 1, sizeof *items->list) != 0)
        return ERR_NO_MEMORY;
    items->list[items->count++] = *item;
    return 0;
}

/* ---- work ------------------------------------------------------------------------------------------------------ */

static const struct work_table {
    const char *name;
    enum sequence_kind kind;
    const char *extra[6];  /* what tells work apart, and NULL */
    size_t details, graph; /* places of grid and node in extra; 0: it has none */
} work_tables[] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL",
      SEQUENCE_KERNEL,
      { "demangledName", "gridX", "gridY", "gridZ", "graphNodeId", NULL },
      1,
      4 },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", SEQUENCE_COPY, { "copyKind", NULL }, 0, 0 },
    { "CUPTI_ACTIVITY_KIND_MEMSET", SEQUENCE_FILL, { "memKind", NULL }, 0, 0 },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", SEQUENCE_GRAPH, { "graphId", NULL }, 0, 0 },
};

static int64_t extra_or_0(const struct gpu_ops *ops, size_t column, size_t row)
{
    return gpu_extra_is_null(ops, column, row) ? 0 : gpu_extra(ops, column, row);
}

static uint32_t symbol_of_work(struct reading *reading, const struct work_table *table, const struct gpu_ops *ops,
                               size_t row)
{
    int64_t details[3] = { 0 };

    for (size_t i = 0; table->details && i < 3; i++)
        details[i] = extra_or_0(ops, table->details + i, row);
    return add_symbol(reading, table->kind, extra_or_0(ops, 0, row), details);
}

/* Work without a known call stands for its call, except for copies of unified memory, which nobody called for. */
static int add_work(struct reading *reading, const struct work_table *table, const struct gpu_ops *ops)
{
    for (size_t row = 0; row < ops->count; row++) {
        uint32_t symbol = symbol_of_work(reading, table, ops, row);
        uint32_t call = calls_find(&reading->calls, ops->process[row], ops->correlation[row]);
        int is_own = call == NO_CALL && (table->kind == SEQUENCE_KERNEL || !reading->calls.count);
        int64_t work_ns = saturating_duration(ops->start[row], ops->end[row]);
        struct item own = { ops->start[row], ops->start[row], ops->process[row], work_ns, symbol };
        if (symbol == NO_KEY || (is_own && add_item(&reading->items, &own) != 0))
            return ERR_NO_MEMORY;
        if (call == NO_CALL)
            continue;
        struct call_work *work = &reading->works[call];
        work->is_several = work->symbol != NO_KEY;
        work->is_graph |= table->kind == SEQUENCE_GRAPH || (table->graph && extra_or_0(ops, table->graph, row) != 0);
        work->symbol = work->symbol == NO_KEY ? symbol : work->symbol;
        work->sum += hash_bytes(&symbol, sizeof symbol);
        work->work_ns = saturating_add(work->work_ns, work_ns);
    }
    return 0;
}

static int read_work(struct reading *reading, struct error *err)
{
    for (size_t i = 0; i < sizeof work_tables / sizeof *work_tables; i++) {
        struct gpu_ops ops;
        int code = gpu_read_table(&ops, reading->report, work_tables[i].name, work_tables[i].extra, err);
        if (code != 0)
            return code;
        code = add_work(reading, &work_tables[i], &ops);
        gpu_free(&ops);
        if (code != 0)
            return error_set(err, ERR_NO_MEMORY, "not enough memory for the GPU work");
    }
    return 0;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* The symbol of a call without work: that of a wait, or NO_KEY. */
static int symbol_of_wait(struct reading *reading, int64_t name, uint32_t *out)
{
    *out = NO_KEY;
    if (!strstr(report_string(reading->report, name, NULL), "Synchronize"))
        return 0;
    return (*out = add_symbol(reading, SEQUENCE_WAIT, name, NULL)) == NO_KEY ? ERR_NO_MEMORY : 0;
}

/* A call with more than one piece of work launched a graph, or copied in parts. */
static int symbol_of_call(struct reading *reading, const struct call_work *work, uint32_t *out)
{
    *out = work->symbol;
    if (!work->is_several && !work->is_graph)
        return 0;
    *out = add_symbol(reading, work->is_graph ? SEQUENCE_GRAPH : SEQUENCE_COPY, (int64_t)work->sum, NULL);
    return *out == NO_KEY ? ERR_NO_MEMORY : 0;
}

static int add_calls(struct reading *reading)
{
    const struct calls *calls = &reading->calls;
    int64_t name = -1;
    uint32_t wait = NO_KEY, symbol;

    for (size_t row = 0; row < calls->count; row++) {
        if (calls->name[row] != name) {
            name = calls->name[row];
            if (symbol_of_wait(reading, name, &wait) != 0)
                return ERR_NO_MEMORY;
        }
        symbol = wait;
        if (reading->works[row].symbol != NO_KEY && symbol_of_call(reading, &reading->works[row], &symbol) != 0)
            return ERR_NO_MEMORY;
        struct item item = { calls->start[row], calls->end[row], calls->thread[row], reading->works[row].work_ns,
                             symbol };
        if (symbol != NO_KEY &&
            (keys_add(&reading->threads, &calls->thread[row]) == NO_KEY || add_item(&reading->items, &item) != 0))
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int read_calls(struct reading *reading, struct error *err)
{
    int code = calls_read(&reading->calls, reading->report, err);

    if (code != 0)
        return code;
    reading->works = calloc(reading->calls.count + 1, sizeof *reading->works);
    if (!reading->works)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the calls");
    for (size_t i = 0; i < reading->calls.count; i++)
        reading->works[i].symbol = NO_KEY;
    if ((code = read_work(reading, err)) != 0)
        return code;
    return add_calls(reading) != 0 ? error_set(err, ERR_NO_MEMORY, "not enough memory for the calls") : 0;
}

/* ---- ranges ---------------------------------------------------------------------------------------------------- */

/* Ranges of threads that make calls, except operators: "batch 3" and "batch 4" are the same. */
static int add_range(struct reading *reading, const struct range *range)
{
    size_t length;
    const char *name = report_string(reading->report, range->name, &length);

    if (keys_find(&reading->threads, &range->thread) == NO_KEY || operator_text(name, length).is_operator)
        return 0;
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    uint32_t symbol = add_symbol(reading, SEQUENCE_RANGE, (int64_t)hash_bytes(name, length), NULL);
    return symbol == NO_KEY ? ERR_NO_MEMORY
                            : add_item(&reading->items,
                                       &(struct item){ range->start_ns, range->start_ns, range->thread, 0, symbol });
}

static int read_ranges(struct reading *reading, struct error *err)
{
    const struct filter everything = { 0 };
    struct ranges ranges;
    int code = ranges_read(&ranges, reading->report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < ranges.count; i++)
        if (ranges.list[i].name != NVTX_NO_NAME && add_range(reading, &ranges.list[i]) != 0) {
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the ranges");
            break;
        }
    ranges_free(&ranges);
    return code;
}

/* ---- sequences ------------------------------------------------------------------------------------------------- */

static void add_place(struct gpu_sequence *to, const struct item *item)
{
    size_t place = to->sequence.count++;

    to->symbols[place] = item->symbol;
    to->start_ns[place] = item->start_ns;
    to->end_ns[place] = item->end_ns;
    to->work_ns[place] = item->work_ns;
}

/* The thread that made most of these calls. */
static int busiest_thread(const struct reading *reading, const uint32_t *order, size_t count, int64_t *out)
{
    const struct items *items = &reading->items;
    struct keys threads = { .width = 1 };
    size_t *calls = NULL, room = 0, most = 0;
    int code = ERR_NO_MEMORY;

    for (size_t i = 0; i < count; i++) {
        uint32_t thread = keys_add(&threads, &items->list[order[i]].thread);
        if (thread == NO_KEY || array_reserve_zeroed(&calls, &room, threads.count, sizeof *calls) != 0)
            goto done;
        if (++calls[thread] > most) {
            most = calls[thread];
            *out = items->list[order[i]].thread;
        }
    }
    code = 0;
done:
    keys_free(&threads);
    free(calls);
    return code;
}

/* What is a pause, if pauses are asked for. */
static int pause_length(const struct reading *reading, const uint32_t *order, size_t count, int64_t *out)
{
    const struct items *items = &reading->items;
    int64_t *pauses;

    *out = INT64_MAX;
    if (!(reading->contents & SEQUENCE_PAUSES))
        return 0;
    pauses = malloc(2 * (count + 1) * sizeof *pauses);
    if (!pauses)
        return ERR_NO_MEMORY;
    for (size_t i = 1; i < count; i++)
        pauses[i - 1] = saturating_subtract(items->list[order[i]].start_ns, items->list[order[i - 1]].end_ns);
    int64_t usual = saturating_from_double(PAUSE_TIMES * statistics_median_of(pauses, count - 1, pauses + count));
    *out = usual > PAUSE_NS ? usual : PAUSE_NS;
    free(pauses);
    return 0;
}

/* Makes the sequence of these items, all of one process and in order. */
static int add_sequence(struct reading *reading, const uint32_t *order, size_t count, int64_t process)
{
    struct gpu_sequences *out = reading->out;
    const struct items *items = &reading->items;
    int64_t thread = 0, pause, before_ns = INT64_MIN; /* all begins with a pause */
    uint32_t pause_symbol = add_symbol(reading, SEQUENCE_PAUSE, 0, NULL);

    if (pause_symbol == NO_KEY || array_reserve(&out->list, &out->room, out->count + 1, sizeof *out->list) != 0)
        return ERR_NO_MEMORY;
    struct gpu_sequence *to = &out->list[out->count++];
    *to = (struct gpu_sequence){ .process = process };
    to->symbols = malloc((2 * count + 1) * sizeof *to->symbols);
    to->start_ns = malloc((2 * count + 1) * sizeof *to->start_ns);
    to->end_ns = malloc((2 * count + 1) * sizeof *to->end_ns);
    to->work_ns = malloc((2 * count + 1) * sizeof *to->work_ns);
    if (!to->symbols || !to->start_ns || !to->end_ns || !to->work_ns ||
        pause_length(reading, order, count, &pause) != 0 ||
        (reading->contents & SEQUENCE_ONE_THREAD && busiest_thread(reading, order, count, &thread) != 0))
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items->list[order[i]];
        if (reading->contents & SEQUENCE_ONE_THREAD && item->thread != thread)
            continue;
        if (reading->contents & SEQUENCE_PAUSES && saturating_subtract(item->start_ns, before_ns) >= pause)
            add_place(to, &(struct item){ item->start_ns, item->start_ns, item->thread, 0, pause_symbol });
        add_place(to, item);
        before_ns = item->end_ns;
    }
    return 0;
}

static int add_sequences(struct reading *reading)
{
    struct items *items = &reading->items;
    uint32_t *order = malloc((items->count + 1) * sizeof *order);
    int64_t *process = malloc((items->count + 1) * sizeof *process);
    int64_t *start_ns = malloc((items->count + 1) * sizeof *start_ns);
    int code = ERR_NO_MEMORY;

    if (!order || !process || !start_ns)
        goto done;
    for (size_t i = 0; i < items->count; i++) {
        order[i] = (uint32_t)i;
        process[i] = global_process(items->list[i].thread);
        start_ns[i] = items->list[i].start_ns;
    }
    if (order_by_thread(order, items->count, process, start_ns) != 0)
        goto done;
    for (size_t first = 0, i = 1; i <= items->count; i++) {
        if (i < items->count && process[order[i]] == process[order[first]])
            continue;
        if (items->count && add_sequence(reading, order + first, i - first, process[order[first]]) != 0)
            goto done;
        first = i;
    }
    code = 0;
done:
    free(order);
    free(process);
    free(start_ns);
    return code;
}

/* Names of symbols, once all symbols are known. */
static int add_names(struct gpu_sequences *out)
{
    static const enum symbol_role roles[SEQUENCE_KINDS] = {
        [SEQUENCE_KERNEL] = SYMBOL_COUNTS, [SEQUENCE_WAIT] = SYMBOL_ENDS, [SEQUENCE_GRAPH] = SYMBOL_STANDS_ALONE
    };
    size_t count = out->symbols.count;

    out->names = malloc((count + 1) * sizeof *out->names);
    out->roles = malloc(count + 1);
    if (!out->names || !out->roles)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        if ((out->names[i] = keys_add(&out->plain, keys_get(&out->symbols, i))) == NO_KEY)
            return ERR_NO_MEMORY;
        out->roles[i] = (uint8_t)roles[gpu_sequence_kind(out, i)];
    }
    for (size_t i = 0; i < out->count; i++) {
        struct gpu_sequence *to = &out->list[i];
        to->sequence = (struct sequence){ to->symbols, to->start_ns, to->end_ns, to->sequence.count,
                                          out->names,  out->roles,   count };
    }
    return 0;
}

static void reading_close(struct reading *reading)
{
    calls_free(&reading->calls);
    free(reading->works);
    free(reading->items.list);
    keys_free(&reading->threads);
}

int gpu_sequences_read(struct gpu_sequences *out, struct report *report, int contents, struct error *err)
{
    struct reading reading = { .out = out, .report = report, .contents = contents, .threads.width = 1 };
    int code;

    *out = (struct gpu_sequences){ .symbols.width = SYMBOL_WIDTH, .plain.width = PLAIN_WIDTH };
    if ((code = read_calls(&reading, err)) != 0 ||
        (contents & SEQUENCE_RANGES && (code = read_ranges(&reading, err)) != 0))
        goto close_reading;
    if (add_sequences(&reading) != 0 || add_names(out) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the GPU work");
close_reading:
    reading_close(&reading);
    if (code != 0)
        gpu_sequences_free(out);
    return code;
}

void gpu_sequences_free(struct gpu_sequences *sequences)
{
    for (size_t i = 0; i < sequences->count; i++) {
        free(sequences->list[i].symbols);
        free(sequences->list[i].start_ns);
        free(sequences->list[i].end_ns);
        free(sequences->list[i].work_ns);
    }
    free(sequences->list);
    keys_free(&sequences->symbols);
    keys_free(&sequences->plain);
    free(sequences->names);
    free(sequences->roles);
    *sequences = (struct gpu_sequences){ 0 };
}

/* ---- found ----------------------------------------------------------------------------------------------------- */

const struct gpu_sequence *gpu_sequence_of(const struct gpu_sequences *sequences, int64_t process)
{
    for (size_t i = 0; i < sequences->count; i++)
        if (sequences->list[i].process == process)
            return &sequences->list[i];
    return NULL;
}

enum sequence_kind gpu_sequence_kind(const struct gpu_sequences *sequences, uint32_t symbol)
{
    return (enum sequence_kind)keys_get(&sequences->symbols, symbol)[SYMBOL_KIND];
}

size_t gpu_sequence_from(const struct gpu_sequence *sequence, int64_t time_ns)
{
    return array_first_not_before(sequence->start_ns, sequence->sequence.count, time_ns);
}
