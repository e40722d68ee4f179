/* Every call that launched something or waited gets a symbol, and the calls are put in order, once. Sequences of
 * different contents are made of that. */
#include "gpu_sequences.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/operator_text.h"
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

struct gpu_launches {
    struct report *report;
    struct keys symbols, plain; /* keys of symbols; of their names, without details */
    uint32_t *plain_of;         /* owned; by symbol: its name */
    size_t plain_room;
    uint32_t pause;             /* a symbol */
    struct items items;
    uint32_t *order;            /* owned; the items by process and start */
    struct keys threads;        /* that made calls */
    int differing;              /* contents that make another sequence if they are there, or are not */
};

/* While calls are joined with their work. */
struct gpu_sequences_reading {
    struct gpu_launches *launches;
    struct calls calls;
    struct call_work {
        uint64_t sum, plain_sum; /* sums of its works after the first */
        int64_t work_ns;
        uint32_t symbol;         /* of its first work; NO_KEY: it has none */
        uint16_t is_several;     /* it has more than one */
        uint16_t is_graph;
    } *works;                    /* owned; by row of the calls */
};

/* ---- symbols --------------------------------------------------------------------------------------------------- */

/* A symbol with this key, and the name that it has without details. */
static uint32_t add_symbol(struct gpu_launches *launches, const int64_t *key, int64_t plain_name)
{
    const int64_t plain[PLAIN_WIDTH] = { key[SYMBOL_KIND], plain_name };
    size_t known = launches->symbols.count;
    uint32_t symbol = keys_add(&launches->symbols, key);

    if (symbol == NO_KEY || symbol < known)
        return symbol;
    if (array_reserve(&launches->plain_of, &launches->plain_room, known + 1, sizeof *launches->plain_of) != 0)
        return NO_KEY;
    launches->plain_of[symbol] = keys_add(&launches->plain, plain);
    return launches->plain_of[symbol] == NO_KEY ? NO_KEY : symbol;
}

static uint32_t add_plain_symbol(struct gpu_launches *launches, enum sequence_kind kind, int64_t name)
{
    return add_symbol(launches, (const int64_t[SYMBOL_WIDTH]){ kind, name }, name);
}

static int gpu_sequences_add_item(struct items *items, const struct item *item)
{
    if (items->count + 1 >= UINT32_MAX ||
        array_reserve(&items->list, &items->room, items->count + 1, sizeof *items->list) != 0)
        return ERR_NO_MEMORY;
    items->list[items->count++] = *item;
    return 0;
}

/* ---- work ------------------------------------------------------------------------------------------------------ */

static const struct gpu_sequences_work_table {
    const char *name;
    enum sequence_kind kind;
    const char *extra[6];                /* the columns that distinguish works, then NULL */
    size_t details, detail_count, graph; /* places of details and node in extra; 0: it has none */
} work_tables[] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL",
      SEQUENCE_KERNEL,
      { "demangledName", "gridX", "gridY", "gridZ", "graphNodeId", NULL },
      1,
      3,
      4 },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", SEQUENCE_COPY, { "copyKind", NULL }, 0, 0, 0 },
    { "CUPTI_ACTIVITY_KIND_MEMSET", SEQUENCE_FILL, { "memKind", "bytes", NULL }, 1, 1, 0 },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", SEQUENCE_GRAPH, { "graphId", NULL }, 0, 0, 0 },
};

static uint32_t symbol_of_work(struct gpu_launches *launches, const struct gpu_sequences_work_table *table,
                               const struct gpu_ops *ops, size_t row)
{
    int64_t key[SYMBOL_WIDTH] = { table->kind, gpu_extra(ops, 0, row) };

    for (size_t i = 0; i < table->detail_count; i++)
        key[SYMBOL_DETAILS + i] = gpu_extra(ops, table->details + i, row);
    return add_symbol(launches, key, key[SYMBOL_NAME]);
}

static void add_to_call(const struct gpu_launches *launches, struct call_work *work, uint32_t symbol)
{
    if (work->symbol == NO_KEY) {
        work->symbol = symbol;
        return;
    }
    work->is_several = 1;
    work->sum += hash_bytes(&symbol, sizeof symbol);
    work->plain_sum += hash_bytes(&launches->plain_of[symbol], sizeof symbol);
}

/* Work without a known call stands for its call, except for copies of unified memory, which nobody called for. */
static int gpu_sequences_add_work(struct gpu_sequences_reading *reading, const struct gpu_sequences_work_table *table,
                                  const struct gpu_ops *ops)
{
    struct gpu_launches *launches = reading->launches;

    for (size_t row = 0; row < ops->count; row++) {
        uint32_t symbol = symbol_of_work(launches, table, ops, row);
        uint32_t call = calls_find(&reading->calls, ops->process[row], ops->correlation[row]);
        int is_own = call == NO_CALL && (table->kind == SEQUENCE_KERNEL || !reading->calls.count);
        int64_t work_ns = saturating_duration(ops->start[row], ops->end[row]);
        struct item own = { ops->start[row], ops->start[row], ops->process[row], work_ns, symbol };
        if (symbol == NO_KEY || (is_own && gpu_sequences_add_item(&launches->items, &own) != 0))
            return ERR_NO_MEMORY;
        if (call == NO_CALL)
            continue;
        reading->works[call].is_graph |= table->kind == SEQUENCE_GRAPH ||
                                         (table->graph && gpu_extra(ops, table->graph, row) != 0);
        add_to_call(launches, &reading->works[call], symbol);
        reading->works[call].work_ns = saturating_add(reading->works[call].work_ns, work_ns);
    }
    return 0;
}

static int gpu_sequences_read_work(struct gpu_sequences_reading *reading, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(work_tables); i++) {
        struct gpu_ops ops;
        int code = gpu_read_table(&ops, reading->launches->report, work_tables[i].name, work_tables[i].extra, err);
        if (code != 0)
            return code;
        for (size_t c = OP_COLUMNS; c < ops.columns.column_count; c++)
            columns_fill_nulls(&ops.columns, c, 0);
        code = gpu_sequences_add_work(reading, &work_tables[i], &ops);
        gpu_free(&ops);
        if (code != 0)
            return error_short_memory(err, "for the GPU work");
    }
    return 0;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* The symbol of a call without work: that of a wait, or NO_KEY. */
static int symbol_of_wait(struct gpu_launches *launches, int64_t name, uint32_t *out)
{
    *out = NO_KEY;
    if (!strstr(report_string(launches->report, name, NULL), "Synchronize"))
        return 0;
    return (*out = add_plain_symbol(launches, SEQUENCE_WAIT, name)) == NO_KEY ? ERR_NO_MEMORY : 0;
}

/* A call with more than one piece of work launched a graph, or copied in parts. */
static int symbol_of_call(struct gpu_launches *launches, const struct call_work *work, uint32_t *out)
{
    uint32_t first = *out = work->symbol;

    if (!work->is_several && !work->is_graph)
        return 0;
    uint64_t sum = work->sum + hash_bytes(&first, sizeof first);
    uint64_t plain_sum = work->plain_sum + hash_bytes(&launches->plain_of[first], sizeof first);
    const int64_t key[SYMBOL_WIDTH] = { work->is_graph ? SEQUENCE_GRAPH : SEQUENCE_COPY, (int64_t)sum };
    return (*out = add_symbol(launches, key, (int64_t)plain_sum)) == NO_KEY ? ERR_NO_MEMORY : 0;
}

static int gpu_sequences_add_calls(struct gpu_sequences_reading *reading)
{
    const struct calls *calls = &reading->calls;
    struct gpu_launches *launches = reading->launches;
    int64_t name = -1, thread = 0;
    uint32_t wait = NO_KEY, symbol;

    for (size_t row = 0; row < calls->count; row++) {
        if (calls->name[row] != name) {
            name = calls->name[row];
            if (symbol_of_wait(launches, name, &wait) != 0)
                return ERR_NO_MEMORY;
        }
        symbol = wait;
        if (reading->works[row].symbol != NO_KEY && symbol_of_call(launches, &reading->works[row], &symbol) != 0)
            return ERR_NO_MEMORY;
        if (symbol == NO_KEY)
            continue;
        if (!launches->threads.count || calls->thread[row] != thread) {
            thread = calls->thread[row];
            if (keys_add(&launches->threads, &thread) == NO_KEY)
                return ERR_NO_MEMORY;
        }
        struct item item = { calls->start[row], calls->end[row], thread, reading->works[row].work_ns, symbol };
        if (gpu_sequences_add_item(&launches->items, &item) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int gpu_sequences_read_calls(struct gpu_sequences_reading *reading, struct error *err)
{
    int code = calls_read(&reading->calls, reading->launches->report, err);

    if (code != 0)
        return code;
    reading->works = calloc(reading->calls.count + 1, sizeof *reading->works);
    if (!reading->works)
        return error_short_memory(err, "for the calls");
    for (size_t i = 0; i < reading->calls.count; i++)
        reading->works[i].symbol = NO_KEY;
    if ((code = gpu_sequences_read_work(reading, err)) != 0)
        return code;
    return gpu_sequences_add_calls(reading) != 0 ? error_short_memory(err, "for the calls") : 0;
}

/* ---- ranges ---------------------------------------------------------------------------------------------------- */

/* Ranges of threads that make calls, except operators: "batch 3" and "batch 4" are the same. */
static int gpu_sequences_add_range(struct gpu_launches *launches, const struct range *range)
{
    size_t length;
    const char *name = report_string(launches->report, range->name, &length);

    if (keys_find(&launches->threads, &range->thread) == NO_KEY || operator_text(name, length).is_operator)
        return 0;
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    uint32_t symbol = add_plain_symbol(launches, SEQUENCE_RANGE, (int64_t)hash_bytes(name, length));
    return symbol == NO_KEY ? ERR_NO_MEMORY
                            : gpu_sequences_add_item(&launches->items, &(struct item){ range->start_ns, range->start_ns,
                                                                                       range->thread, 0, symbol });
}

static int gpu_sequences_read_ranges(struct gpu_launches *launches, struct error *err)
{
    const struct filter everything = { 0 };
    struct ranges ranges;
    int code = ranges_read(&ranges, launches->report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < ranges.count; i++)
        if (ranges.list[i].name != NVTX_NO_NAME && gpu_sequences_add_range(launches, &ranges.list[i]) != 0 &&
            (code = error_short_memory(err, "for the ranges")) != 0)
            break;
    ranges_free(&ranges);
    return code;
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* Puts items in the order of their processes and starts. */
static int gpu_sequences_arrange(const struct items *items, uint32_t *order)
{
    int64_t *process = array_alloc(items->count + 1, sizeof *process);
    int64_t *start_ns = array_alloc(items->count + 1, sizeof *start_ns);
    int code = ERR_NO_MEMORY;

    if (!process || !start_ns)
        goto done;
    for (size_t i = 0; i < items->count; i++) {
        process[i] = global_process(items->list[i].thread);
        start_ns[i] = items->list[i].start_ns;
    }
    code = order_by_thread(order, items->count, process, start_ns);
done:
    free(process);
    free(start_ns);
    return code;
}

/* Finds the options that change the sequence of these launches. */
static int find_differing(const struct gpu_launches *launches)
{
    const struct report_table *ranges = report_table(launches->report, "NVTX_EVENTS");
    int differing = (launches->plain.count < launches->symbols.count ? SEQUENCE_GRIDS : 0) |
                    (ranges && ranges->rows ? SEQUENCE_RANGES : 0);

    for (size_t i = 1; i < launches->items.count; i++) {
        const struct item *item = &launches->items.list[launches->order[i]],
                          *before = &launches->items.list[launches->order[i - 1]];
        if (global_process(item->thread) != global_process(before->thread))
            continue;
        differing |= item->thread != before->thread ? SEQUENCE_ONE_THREAD : 0;
        differing |= saturating_subtract(item->start_ns, before->end_ns) >= PAUSE_NS ? SEQUENCE_PAUSES : 0;
    }
    return differing;
}

static int arrange_all(struct gpu_launches *launches)
{
    size_t count = launches->items.count;

    launches->pause = add_plain_symbol(launches, SEQUENCE_PAUSE, 0);
    launches->order = array_alloc(count + 1, sizeof *launches->order);
    if (launches->pause == NO_KEY || !launches->order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        launches->order[i] = (uint32_t)i;
    if (gpu_sequences_arrange(&launches->items, launches->order) != 0)
        return ERR_NO_MEMORY;
    launches->differing = find_differing(launches);
    return 0;
}

static int gpu_sequences_read_launches(struct gpu_launches *launches, struct error *err)
{
    struct gpu_sequences_reading reading = { .launches = launches };
    int code = gpu_sequences_read_calls(&reading, err);

    calls_free(&reading.calls);
    free(reading.works);
    if (code != 0)
        return code;
    return arrange_all(launches) != 0 ? error_short_memory(err, "for the GPU work") : 0;
}

int gpu_launches_open(struct gpu_launches **out, struct report *report, struct error *err)
{
    struct gpu_launches *launches = *out = calloc(1, sizeof *launches);
    int code;

    if (!launches)
        return error_short_memory(err, "for the GPU work");
    launches->report = report;
    launches->symbols.width = SYMBOL_WIDTH;
    launches->plain.width = PLAIN_WIDTH;
    launches->threads.width = 1;
    if ((code = gpu_sequences_read_launches(launches, err)) != 0) {
        gpu_launches_close(launches);
        *out = NULL;
    }
    return code;
}

int gpu_launches_differ(const struct gpu_launches *launches, int contents)
{
    return ((contents ^ SEQUENCE_GRIDS) & launches->differing) != 0;
}

void gpu_launches_close(struct gpu_launches *launches)
{
    if (!launches)
        return;
    keys_free(&launches->symbols);
    keys_free(&launches->plain);
    free(launches->plain_of);
    free(launches->items.list);
    free(launches->order);
    keys_free(&launches->threads);
    free(launches);
}

/* ---- sequences ------------------------------------------------------------------------------------------------- */

/* Sequences that are being made. */
struct gpu_sequences_making {
    struct gpu_sequences *out;
    const struct gpu_launches *launches;
    int contents;
};

static void gpu_sequences_add_place(const struct gpu_sequences_making *making, struct gpu_sequence *to,
                                    const struct item *item)
{
    size_t place = to->sequence.count++;

    to->symbols[place] = making->contents & SEQUENCE_GRIDS ? item->symbol : making->launches->plain_of[item->symbol];
    to->start_ns[place] = item->start_ns;
    to->end_ns[place] = item->end_ns;
    to->work_ns[place] = item->work_ns;
}

/* The thread that made most of these calls. */
static int busiest_thread(const struct items *items, const uint32_t *order, size_t count, int64_t *out)
{
    struct keys threads = { .width = 1 };
    size_t *calls = NULL, room = 0, most = 0;
    uint32_t thread = NO_KEY;
    int code = ERR_NO_MEMORY;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || items->list[order[i]].thread != items->list[order[i - 1]].thread)
            thread = keys_add(&threads, &items->list[order[i]].thread);
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

/* Sets out to the least length of a pause. */
static int pause_length(const struct items *items, const uint32_t *order, size_t count, int64_t *out)
{
    int64_t *pauses = array_alloc(2 * (count + 1), sizeof *pauses);

    if (!pauses)
        return ERR_NO_MEMORY;
    for (size_t i = 1; i < count; i++)
        pauses[i - 1] = saturating_subtract(items->list[order[i]].start_ns, items->list[order[i - 1]].end_ns);
    int64_t usual = saturating_from_double(PAUSE_TIMES * statistics_median_of(pauses, count - 1, pauses + count));
    *out = usual > PAUSE_NS ? usual : PAUSE_NS;
    free(pauses);
    return 0;
}

static int open_sequence(struct gpu_sequences *out, size_t places, int64_t process)
{
    if (array_reserve(&out->list, &out->room, out->count + 1, sizeof *out->list) != 0)
        return ERR_NO_MEMORY;
    struct gpu_sequence *to = &out->list[out->count++];
    *to = (struct gpu_sequence){ .process = process };
    to->symbols = array_alloc(places + 1, sizeof *to->symbols);
    to->start_ns = array_alloc(places + 1, sizeof *to->start_ns);
    to->end_ns = array_alloc(places + 1, sizeof *to->end_ns);
    to->work_ns = array_alloc(places + 1, sizeof *to->work_ns);
    return to->symbols && to->start_ns && to->end_ns && to->work_ns ? 0 : ERR_NO_MEMORY;
}

/* Makes the sequence of these items, all of one process and in order. */
static int gpu_sequences_add_sequence(const struct gpu_sequences_making *making, const uint32_t *order, size_t count,
                                      int64_t process)
{
    const struct items *items = &making->launches->items;
    int has_pauses = making->contents & SEQUENCE_PAUSES, is_one = making->contents & SEQUENCE_ONE_THREAD;
    int64_t thread = 0, pause = INT64_MAX, before_ns = INT64_MIN; /* all begins with a pause */

    if (open_sequence(making->out, has_pauses ? 2 * count : count, process) != 0 ||
        (has_pauses && pause_length(items, order, count, &pause) != 0) ||
        (is_one && busiest_thread(items, order, count, &thread) != 0))
        return ERR_NO_MEMORY;
    struct gpu_sequence *to = &making->out->list[making->out->count - 1];
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items->list[order[i]];
        if (is_one && item->thread != thread)
            continue;
        if (has_pauses && saturating_subtract(item->start_ns, before_ns) >= pause)
            gpu_sequences_add_place(making, to,
                                    &(struct item){ item->start_ns, item->start_ns, item->thread, 0,
                                                    making->launches->pause });
        gpu_sequences_add_place(making, to, item);
        before_ns = item->end_ns;
    }
    return 0;
}

static int add_sequences(const struct gpu_sequences_making *making, const uint32_t *order)
{
    const struct items *items = &making->launches->items;
    int64_t process = 0, next;

    for (size_t first = 0, i = 0; i <= items->count; i++) {
        next = i < items->count ? global_process(items->list[order[i]].thread) : 0;
        if (i == first || (i < items->count && next == process)) {
            process = next;
            continue;
        }
        if (gpu_sequences_add_sequence(making, order + first, i - first, process) != 0)
            return ERR_NO_MEMORY;
        first = i;
        process = next;
    }
    return 0;
}

/* Names and kinds of symbols, once all symbols are known. */
static int gpu_sequences_add_names(const struct gpu_sequences_making *making)
{
    static const enum symbol_role roles[SEQUENCE_KINDS] = {
        [SEQUENCE_KERNEL] = SYMBOL_COUNTS, [SEQUENCE_WAIT] = SYMBOL_ENDS, [SEQUENCE_GRAPH] = SYMBOL_STANDS_ALONE
    };
    const struct gpu_launches *launches = making->launches;
    struct gpu_sequences *out = making->out;
    int is_plain = !(making->contents & SEQUENCE_GRIDS);
    const struct keys *symbols = is_plain ? &launches->plain : &launches->symbols;

    out->names = malloc((symbols->count + 1) * sizeof *out->names);
    out->kinds = malloc(symbols->count + 1);
    out->roles = malloc(symbols->count + 1);
    if (!out->names || !out->kinds || !out->roles)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < symbols->count; i++) {
        out->names[i] = is_plain ? i : launches->plain_of[i];
        out->kinds[i] = (uint8_t)keys_get(symbols, i)[SYMBOL_KIND];
        out->roles[i] = (uint8_t)roles[out->kinds[i]];
    }
    for (size_t i = 0; i < out->count; i++) {
        struct gpu_sequence *to = &out->list[i];
        to->sequence = (struct sequence){ to->symbols, to->start_ns, to->end_ns,    to->sequence.count,
                                          out->names,  out->roles,   symbols->count };
    }
    return 0;
}

/* Makes sequences of the items and of ranges, which are items for that long. */
static int make_with_ranges(const struct gpu_sequences_making *making, struct gpu_launches *launches, struct error *err)
{
    struct items *items = &launches->items;
    size_t count = items->count;
    uint32_t *order = NULL;
    int code = gpu_sequences_read_ranges(launches, err);

    if (code != 0)
        goto drop_ranges;
    order = array_alloc(items->count + 1, sizeof *order);
    code = order ? 0 : ERR_NO_MEMORY;
    if (code != 0)
        goto drop_ranges;
    memcpy(order, launches->order, count * sizeof *order);
    for (size_t i = count; i < items->count; i++)
        order[i] = (uint32_t)i;
    code = gpu_sequences_arrange(items, order) != 0 ? ERR_NO_MEMORY : add_sequences(making, order);
drop_ranges:
    free(order);
    items->count = count;
    return code;
}

int gpu_sequences_make(struct gpu_sequences *out, struct gpu_launches *launches, int contents, struct error *err)
{
    const struct gpu_sequences_making making = { out, launches, contents };
    int code;

    *out = (struct gpu_sequences){ 0 };
    code = contents & SEQUENCE_RANGES ? make_with_ranges(&making, launches, err)
                                      : add_sequences(&making, launches->order);
    if (code != 0 || (code = gpu_sequences_add_names(&making)) != 0) {
        gpu_sequences_free(out);
        return code == ERR_NO_MEMORY ? error_short_memory(err, "for the GPU work") : code;
    }
    return 0;
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
    free(sequences->names);
    free(sequences->kinds);
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
    return (enum sequence_kind)sequences->kinds[symbol];
}

size_t gpu_sequence_from(const struct gpu_sequence *sequence, int64_t time_ns)
{
    return array_first_not_before(sequence->start_ns, sequence->sequence.count, time_ns);
}
