/* openmp_region_sum: parallel regions of OpenMP by their place in the source, with the time that a better balance would
 * save.
 *
 * A region has one part for each thread of its team: the thread's implicit task. The time of a part is work, except for
 * waits inside it (barriers, taskwait, locks), and explicit tasks that run inside a wait are work again. A part that
 * ends before its region waits for the others. A region is as long as its busiest thread, so balanced threads would
 * save that thread's work less the mean. */
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/filter.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/text.h"

enum { TASK_IMPLICIT = 2, TASK_EXPLICIT = 4 }; /* OPENMP_EVENT_KIND_TASK.kind */
enum { NO_REGION = UINT32_MAX };

/* An instance of a region. */
struct region_sum_region {
    int64_t start_ns, end_ns;
    int64_t most_ns, work_ns, wait_ns; /* work of the busiest part; work and waits of all parts */
    uint32_t place, parts;
};

/* A span of a thread: a part of a region, an explicit task, or a wait. */
struct region_sum_span {
    int64_t thread, start_ns, end_ns;
    int64_t wait_ns;   /* part: waits inside it */
    int64_t inside_ns; /* wait or task: spans directly inside it */
    uint32_t region;   /* NO_REGION unless the span is a part */
    uint32_t is_wait;
};

/* A place in the source with all instances of its region. */
struct region_sum_place {
    int64_t instances, total_ns, threads, most_ns, work_ns, wait_ns;
    double mean_ns; /* sum of the means of the instances */
};

struct regions {
    struct report *report;
    struct filter filter;
    struct keys numbers; /* process, parallelId; numbers index list */
    struct region_sum_region *list;
    size_t room;
    struct region_sum_span *spans;
    size_t span_count, span_room;
    struct keys chains;            /* callchainId; numbers index chain_places */
    struct keys places;            /* symbol, file, line */
    uint32_t *chain_places;
    size_t chain_room;
    struct region_sum_place *sums; /* by place */
    size_t sum_room;
};

/* ---- Places ---------------------------------------------------------------------------------------------------- */

/* The innermost function, which may be inlined. */
static int read_places(struct regions *regions, struct error *err)
{
    static const char *const names[] = { "id", "stackDepth", "symbol", "sourceFile", "sourceLine", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, regions->report, "TACHO_OPENMP_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t id = row_int(&rows, 0),
                key[] = { row_int_or(&rows, 2, -1), row_int_or(&rows, 3, -1), row_int_or(&rows, 4, 0) };
        if (row_int_or(&rows, 1, 0) != 0)
            continue;
        uint32_t chain = keys_add(&regions->chains, &id), place = keys_add(&regions->places, key);
        if (chain == NO_KEY || place == NO_KEY ||
            array_reserve_zeroed(&regions->chain_places, &regions->chain_room, chain + 1u,
                                 sizeof *regions->chain_places) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        regions->chain_places[chain] = place;
    }
    row_cursor_close(&rows);
    return code;
}

static uint32_t region_sum_place_of(struct regions *regions, int64_t chain)
{
    const int64_t unknown[] = { -1, -1, 0 };
    uint32_t number = keys_find(&regions->chains, &chain);

    return number == NO_KEY ? keys_add(&regions->places, unknown) : regions->chain_places[number];
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int add_region(struct regions *regions, const struct row_cursor *rows)
{
    int64_t thread = row_int_or(rows, 2, 0), start = row_int(rows, 0), end = row_int_or(rows, 1, start);
    int64_t key[] = { global_process(thread), row_int_or(rows, 3, 0) };

    if (!filter_thread(&regions->filter, thread, start, end))
        return 0;
    uint32_t number = keys_add(&regions->numbers, key), place = region_sum_place_of(regions, row_int_or(rows, 4, 0));
    if (number == NO_KEY || place == NO_KEY ||
        array_reserve_zeroed(&regions->list, &regions->room, number + 1u, sizeof *regions->list) != 0)
        return ERR_NO_MEMORY;
    regions->list[number] = (struct region_sum_region){ .start_ns = start, .end_ns = end, .place = place };
    return 0;
}

static int region_sum_add_span(struct regions *regions, const struct row_cursor *rows, uint32_t region, int is_wait)
{
    return ARRAY_PUSH(regions->spans, regions->span_room, regions->span_count,
                      (struct region_sum_span){
                          .thread = row_int_or(rows, 2, 0),
                          .start_ns = row_int(rows, 0),
                          .end_ns = row_int_or(rows, 1, row_int(rows, 0)),
                          .region = region,
                          .is_wait = (uint32_t)is_wait,
                      });
}

static int add_task(struct regions *regions, const struct row_cursor *rows)
{
    int64_t key[] = { global_process(row_int_or(rows, 2, 0)), row_int_or(rows, 3, 0) };
    int64_t kind = row_int_or(rows, 4, 0);
    uint32_t region = kind & TASK_IMPLICIT ? keys_find(&regions->numbers, key) : NO_KEY;

    if (region == NO_KEY && !(kind & TASK_EXPLICIT))
        return 0;
    return region_sum_add_span(regions, rows, region == NO_KEY ? NO_REGION : region, 0);
}

static int region_sum_add_wait(struct regions *regions, const struct row_cursor *rows)
{
    return region_sum_add_span(regions, rows, NO_REGION, 1);
}

static int region_sum_read_table(struct regions *regions, const char *table, const char *fifth,
                                 int (*add)(struct regions *regions, const struct row_cursor *rows), struct error *err)
{
    const char *const names[] = { "start", "end", "globalTid", "parallelId", fifth, NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, regions->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (!row_is_null(&rows, 0) && (code = add(regions, &rows)) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

/* By thread and start; if two start together, the longer one encloses the other. */
static int compare_spans(const void *left, const void *right)
{
    const struct region_sum_span *a = left, *b = right;

    return COMPARE(a->thread, b->thread) ?: COMPARE(a->start_ns, b->start_ns) ?: COMPARE(b->end_ns, a->end_ns)
               ?: COMPARE(a->is_wait, b->is_wait);
}

/* A span has ended: a wait counts in the part around it, without the time of spans inside it. */
static void region_sum_leave(struct region_sum_span *const *stack, size_t depth)
{
    const struct region_sum_span *span = stack[depth];
    int64_t own_ns = saturating_duration(span->start_ns, span->end_ns) - span->inside_ns;

    if (depth && span->region == NO_REGION)
        stack[depth - 1]->inside_ns += own_ns + span->inside_ns;
    for (size_t i = depth; span->is_wait && own_ns > 0 && i-- > 0;)
        if (stack[i]->region != NO_REGION) {
            stack[i]->wait_ns += own_ns;
            break;
        }
}

static int find_waits(struct regions *regions)
{
    struct region_sum_span **stack = NULL;
    size_t depth = 0, room = 0;

    if (regions->span_count)
        qsort(regions->spans, regions->span_count, sizeof *regions->spans, compare_spans);
    for (size_t i = 0; i < regions->span_count; i++) {
        struct region_sum_span *span = &regions->spans[i];
        while (depth && (stack[depth - 1]->thread != span->thread || stack[depth - 1]->end_ns <= span->start_ns))
            region_sum_leave(stack, --depth);
        if (array_reserve(&stack, &room, depth + 1, sizeof(struct region_sum_span *)) != 0) {
            free(stack);
            return ERR_NO_MEMORY;
        }
        stack[depth++] = span;
    }
    while (depth)
        region_sum_leave(stack, --depth);
    free(stack);
    return 0;
}

static void region_sum_add_parts(struct regions *regions)
{
    for (size_t i = 0; i < regions->span_count; i++) {
        const struct region_sum_span *part = &regions->spans[i];
        if (part->region == NO_REGION)
            continue;
        struct region_sum_region *region = &regions->list[part->region];
        int64_t work_ns = saturating_duration(part->start_ns, part->end_ns) - part->wait_ns;
        int64_t tail_ns = saturating_duration(part->end_ns, region->end_ns);
        region->parts++;
        region->work_ns = saturating_add(region->work_ns, work_ns);
        region->wait_ns = saturating_add(region->wait_ns, saturating_add(part->wait_ns, tail_ns > 0 ? tail_ns : 0));
        region->most_ns = work_ns > region->most_ns ? work_ns : region->most_ns;
    }
}

static int sum_places(struct regions *regions)
{
    if (array_reserve_zeroed(&regions->sums, &regions->sum_room, regions->places.count + 1, sizeof *regions->sums) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < regions->numbers.count; i++) {
        const struct region_sum_region *region = &regions->list[i];
        struct region_sum_place *sum = &regions->sums[region->place];
        sum->instances++;
        sum->total_ns = saturating_add(sum->total_ns, saturating_duration(region->start_ns, region->end_ns));
        sum->threads = region->parts > sum->threads ? region->parts : sum->threads;
        sum->most_ns = saturating_add(sum->most_ns, region->most_ns);
        sum->work_ns = saturating_add(sum->work_ns, region->work_ns);
        sum->wait_ns = saturating_add(sum->wait_ns, region->wait_ns);
        sum->mean_ns += region->parts ? (double)region->work_ns / region->parts : 0;
    }
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_GAIN,
    CELL_IMBALANCE,
    CELL_WAITING,
    CELL_TOTAL,
    CELL_INSTANCES,
    CELL_AVG,
    CELL_THREADS,
    CELL_FUNCTION,
    CELL_PLACE,
    CELLS
};

static int region_sum_set_texts(struct regions *regions, struct table *table, struct table_cell *cells,
                                const int64_t *key)
{
    struct text place = { 0 };
    const char *symbol = key[0] >= 0 ? report_string(regions->report, key[0], NULL) : "[Unknown]";

    if (key[1] >= 0)
        text_addf(&place, "%s:%lld", report_string(regions->report, key[1], NULL), (long long)key[2]);
    int failed = cell_set_text(table, &cells[CELL_FUNCTION], symbol, strlen(symbol)) != 0 ||
                 (place.length && cell_set_text(table, &cells[CELL_PLACE], text_string(&place), place.length) != 0);
    text_free(&place);
    return failed ? ERR_NO_MEMORY : 0;
}

static int region_sum_fill_table(struct regions *regions, struct table *table)
{
    for (uint32_t i = 0; i < regions->places.count; i++) {
        const struct region_sum_place *sum = &regions->sums[i];
        int64_t gain_ns = sum->most_ns - (int64_t)sum->mean_ns, spent_ns = saturating_add(sum->work_ns, sum->wait_ns);
        if (!sum->instances)
            continue;
        struct table_cell *cells = table_add_row(table);
        if (!cells)
            return ERR_NO_MEMORY;
        cell_set_int(&cells[CELL_GAIN], gain_ns > 0 ? gain_ns : 0);
        if (sum->mean_ns > 0)
            cell_set_real(&cells[CELL_IMBALANCE], (double)sum->most_ns / sum->mean_ns);
        if (spent_ns > 0)
            cell_set_real(&cells[CELL_WAITING], 100.0 * (double)sum->wait_ns / (double)spent_ns);
        cell_set_int(&cells[CELL_TOTAL], sum->total_ns);
        cell_set_int(&cells[CELL_INSTANCES], sum->instances);
        cell_set_real(&cells[CELL_AVG], (double)sum->total_ns / (double)sum->instances);
        cell_set_int(&cells[CELL_THREADS], sum->threads);
        if (region_sum_set_texts(regions, table, cells, keys_get(&regions->places, i)) != 0)
            return ERR_NO_MEMORY;
    }
    table_sort_by(table, BY(DOWN(CELL_GAIN), DOWN(CELL_TOTAL)));
    return 0;
}

static void regions_free(struct regions *regions)
{
    filter_close(&regions->filter);
    keys_free(&regions->numbers);
    keys_free(&regions->chains);
    keys_free(&regions->places);
    free(regions->list);
    free(regions->spans);
    free(regions->chain_places);
    free(regions->sums);
}

static int read_regions(struct regions *regions, const struct analysis_request *request, struct error *err)
{
    static const struct {
        const char *table, *fifth;
        int (*add)(struct regions *regions, const struct row_cursor *rows);
    } tables[] = {
        { "OPENMP_EVENT_KIND_PARALLEL", "callchainId", add_region },
        { "OPENMP_EVENT_KIND_TASK", "kind", add_task },
        { "OPENMP_EVENT_KIND_SYNC_REGION", "kind", region_sum_add_wait },
        { "OPENMP_EVENT_KIND_MUTEX_WAIT", "kind", region_sum_add_wait },
    };
    int code = filter_open(&regions->filter, regions->report, request, err);

    if (code != 0 || (code = read_places(regions, err)) != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if ((code = region_sum_read_table(regions, tables[i].table, tables[i].fifth, tables[i].add, err)) != 0)
            return code;
    return 0;
}

static int openmp_region_sum(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [CELL_GAIN] = { "Imbalance Time", CELL_INT, UNIT_NS, 0 },
        [CELL_IMBALANCE] = { "Max/Mean", CELL_REAL, UNIT_NONE, 2 },
        [CELL_WAITING] = { "Waiting", CELL_REAL, UNIT_PERCENT, 1 },
        [CELL_TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 },
        [CELL_INSTANCES] = { "Instances", CELL_INT, UNIT_NONE, 0 },
        [CELL_AVG] = { "Avg", CELL_REAL, UNIT_NS, 1 },
        [CELL_THREADS] = { "Threads", CELL_INT, UNIT_NONE, 0 },
        [CELL_FUNCTION] = { "Function", CELL_TEXT, UNIT_NAME, 0 },
        [CELL_PLACE] = { "Place", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct regions regions = {
        .report = report, .numbers = { .width = 2 }, .chains = { .width = 1 }, .places = { .width = 3 }
    };
    struct table *table = table_new(columns, CELLS);
    int code = table ? read_regions(&regions, request, err) : ERR_NO_MEMORY;

    if (code != 0)
        goto done;
    if ((code = find_waits(&regions)) != 0)
        goto done;
    region_sum_add_parts(&regions);
    if ((code = sum_places(&regions)) != 0)
        goto done;
    code = region_sum_fill_table(&regions, table);
done:
    regions_free(&regions);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_openmp_region_sum = {
    .name = "openmp_region_sum",
    .title = "OpenMP Region Summary",
    .help = "Parallel regions of OpenMP by function and line: the time that a better balance would save (the busiest "
            "thread's work less the mean, over all instances), the ratio of these two, and the share of their time "
            "that threads wait. Regions inside others count in both.",
    .needs = { { "OpenMP event data", TABLES("OPENMP_EVENT_KIND_PARALLEL") } },
    .overlap = "regions contain each other",
    .run = openmp_region_sum,
};
