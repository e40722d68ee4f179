/* Reads the parallel regions of OpenMP, and measures their parts: see openmp_regions.h. */
#include "openmp_regions.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"

enum { TASK_IMPLICIT = 2, TASK_EXPLICIT = 4 }; /* OPENMP_EVENT_KIND_TASK.kind */
enum { NO_REGION = UINT32_MAX };

/* A span of a thread: a part of a region, an explicit task, or a wait. */
struct openmp_span {
    int64_t thread, start_ns, end_ns;
    int64_t wait_ns;   /* part: waits inside it */
    int64_t inside_ns; /* wait or task: spans directly inside it */
    int64_t lost_ns;   /* part: less the time of waits in which its thread could not work */
    int64_t index;     /* part: the number of the thread in its team; -1: not known */
    uint32_t region;   /* NO_REGION unless the span is a part */
    uint32_t is_wait;
};

/* ---- Places ---------------------------------------------------------------------------------------------------- */

/* The innermost function, which may be inlined. */
static int openmp_regions_read_places(struct openmp_regions *regions, struct error *err)
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

static uint32_t openmp_regions_place_of(struct openmp_regions *regions, int64_t chain)
{
    const int64_t unknown[] = { -1, -1, 0 };
    uint32_t number = keys_find(&regions->chains, &chain);

    return number == NO_KEY ? keys_add(&regions->places, unknown) : regions->chain_places[number];
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int openmp_regions_add(struct openmp_regions *regions, const struct row_cursor *rows)
{
    int64_t thread = row_int_or(rows, 2, 0), start = row_int(rows, 0), end = row_int_or(rows, 1, start);
    int64_t key[] = { global_process(thread), row_int_or(rows, 3, 0) };

    if (!filter_thread(regions->filter, thread, start, end))
        return 0;
    uint32_t number = keys_add(&regions->numbers, key),
             place = openmp_regions_place_of(regions, row_int_or(rows, 4, 0));
    if (number == NO_KEY || place == NO_KEY ||
        array_reserve_zeroed(&regions->list, &regions->room, number + 1u, sizeof *regions->list) != 0)
        return ERR_NO_MEMORY;
    regions->list[number] = (struct openmp_region){
        .start_ns = start, .end_ns = end, .process = key[0], .busiest = -1, .place = place
    };
    return 0;
}

static int openmp_regions_add_span(struct openmp_regions *regions, const struct row_cursor *rows,
                                   struct openmp_span span)
{
    span.thread = row_int_or(rows, 2, 0);
    span.start_ns = row_int(rows, 0);
    span.end_ns = row_int_or(rows, 1, span.start_ns);
    return ARRAY_PUSH(regions->spans, regions->span_room, regions->span_count, span);
}

static int openmp_regions_add_task(struct openmp_regions *regions, const struct row_cursor *rows)
{
    int64_t key[] = { global_process(row_int_or(rows, 2, 0)), row_int_or(rows, 3, 0) };
    int64_t kind = row_int_or(rows, 4, 0);
    uint32_t region = kind & TASK_IMPLICIT ? keys_find(&regions->numbers, key) : NO_KEY;

    if (region == NO_KEY && !(kind & TASK_EXPLICIT))
        return 0;
    return openmp_regions_add_span(regions, rows,
                                   (struct openmp_span){ .region = region == NO_KEY ? NO_REGION : region,
                                                         .index = row_int_or(rows, 5, -1) });
}

static int openmp_regions_add_wait(struct openmp_regions *regions, const struct row_cursor *rows)
{
    return openmp_regions_add_span(regions, rows, (struct openmp_span){ .region = NO_REGION, .is_wait = 1 });
}

/* The tables of regions and of their spans. All have a thread and times. */
static const struct openmp_table {
    const char *name, *fifth, *sixth;
    int (*add)(struct openmp_regions *regions, const struct row_cursor *rows);
} openmp_tables[] = {
    { "OPENMP_EVENT_KIND_PARALLEL", "callchainId", NULL, openmp_regions_add },
    { "OPENMP_EVENT_KIND_TASK", "kind", "threadIndex", openmp_regions_add_task },
    { "OPENMP_EVENT_KIND_SYNC_REGION", "kind", NULL, openmp_regions_add_wait },
    { "OPENMP_EVENT_KIND_MUTEX_WAIT", "kind", NULL, openmp_regions_add_wait },
};

static int openmp_regions_read_table(struct openmp_regions *regions, const struct openmp_table *table,
                                     struct error *err)
{
    const char *const names[] = { "start", "end", "globalTid", "parallelId", table->fifth, table->sixth, NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, regions->report, table->name, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (!row_is_null(&rows, 0) && (code = table->add(regions, &rows)) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

int openmp_regions_read(struct openmp_regions *regions, struct report *report, const struct filter *filter,
                        struct error *err)
{
    int code;

    *regions = (struct openmp_regions){ .report = report,
                                        .filter = filter,
                                        .numbers = { .width = 2 },
                                        .chains = { .width = 1 },
                                        .places = { .width = 3 } };
    if ((code = openmp_regions_read_places(regions, err)) != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(openmp_tables); i++)
        if ((code = openmp_regions_read_table(regions, &openmp_tables[i], err)) != 0)
            return code;
    return 0;
}

void openmp_regions_free(struct openmp_regions *regions)
{
    keys_free(&regions->numbers);
    keys_free(&regions->chains);
    keys_free(&regions->places);
    free(regions->list);
    free(regions->spans);
    free(regions->chain_places);
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

/* By thread and start; if two start together, the longer one encloses the other. */
static int openmp_regions_compare_spans(const void *left, const void *right)
{
    const struct openmp_span *a = left, *b = right;

    return COMPARE(a->thread, b->thread) ?: COMPARE(a->start_ns, b->start_ns) ?: COMPARE(b->end_ns, a->end_ns)
               ?: COMPARE(a->is_wait, b->is_wait);
}

/* Time in which a thread could not work. */
struct openmp_losses {
    openmp_lost *lost;
    const void *context;
};

static int64_t lost_in(const struct openmp_losses *losses, const struct openmp_span *span)
{
    return losses->lost ? losses->lost(losses->context, span->thread, span->start_ns, span->end_ns) : 0;
}

/* A span has ended: a wait counts in the part around it, without the time of spans inside it. */
static void openmp_regions_leave(struct openmp_span *const *stack, size_t depth, const struct openmp_losses *losses)
{
    const struct openmp_span *span = stack[depth];
    int64_t own_ns = saturating_duration(span->inside_ns, saturating_duration(span->start_ns, span->end_ns));

    if (depth && span->region == NO_REGION)
        stack[depth - 1]->inside_ns = saturating_add(stack[depth - 1]->inside_ns,
                                                     saturating_add(own_ns, span->inside_ns));
    for (size_t i = depth; span->is_wait && own_ns > 0 && i-- > 0;)
        if (stack[i]->region != NO_REGION) {
            stack[i]->wait_ns = saturating_add(stack[i]->wait_ns, own_ns);
            stack[i]->lost_ns -= lost_in(losses, span);
            break;
        }
}

static int openmp_regions_find_waits(struct openmp_regions *regions, const struct openmp_losses *losses)
{
    struct openmp_span **stack = NULL;
    size_t depth = 0, room = 0;

    if (regions->span_count)
        qsort(regions->spans, regions->span_count, sizeof *regions->spans, openmp_regions_compare_spans);
    for (size_t i = 0; i < regions->span_count; i++) {
        struct openmp_span *span = &regions->spans[i];
        while (depth && (stack[depth - 1]->thread != span->thread || stack[depth - 1]->end_ns <= span->start_ns))
            openmp_regions_leave(stack, --depth, losses);
        if (array_reserve(&stack, &room, depth + 1, sizeof(struct openmp_span *)) != 0) {
            free(stack);
            return ERR_NO_MEMORY;
        }
        stack[depth++] = span;
    }
    while (depth)
        openmp_regions_leave(stack, --depth, losses);
    free(stack);
    return 0;
}

static void openmp_regions_add_part(struct openmp_region *region, const struct openmp_span *part, int64_t lost_ns)
{
    int64_t work_ns = saturating_duration(part->wait_ns, saturating_duration(part->start_ns, part->end_ns));
    int64_t tail_ns = saturating_duration(part->end_ns, region->end_ns);

    work_ns -= lost_ns > 0 && lost_ns < work_ns ? lost_ns : 0;
    region->parts++;
    region->work_ns = saturating_add(region->work_ns, work_ns);
    region->wait_ns = saturating_add(region->wait_ns, saturating_add(part->wait_ns, tail_ns > 0 ? tail_ns : 0));
    if (work_ns <= region->most_ns)
        return;
    region->most_ns = work_ns;
    region->busiest = part->index;
}

int openmp_regions_measure(struct openmp_regions *regions, openmp_lost *lost, const void *context)
{
    const struct openmp_losses losses = { lost, context };

    if (openmp_regions_find_waits(regions, &losses) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < regions->span_count; i++) {
        const struct openmp_span *part = &regions->spans[i];
        if (part->region != NO_REGION)
            openmp_regions_add_part(&regions->list[part->region], part, part->lost_ns + lost_in(&losses, part));
    }
    return 0;
}

/* ---- Answers --------------------------------------------------------------------------------------------------- */

int64_t openmp_region_gain(const struct openmp_region *region)
{
    int64_t gain_ns = region->parts ? saturating_duration(region->work_ns / region->parts, region->most_ns) : 0;

    return gain_ns > 0 ? gain_ns : 0;
}

const char *openmp_place_function(const struct openmp_regions *regions, uint32_t place)
{
    const int64_t *key = keys_get(&regions->places, place);

    return key[0] >= 0 ? report_string(regions->report, key[0], NULL) : "[Unknown]";
}

void openmp_place_line(struct text *out, const struct openmp_regions *regions, uint32_t place)
{
    const int64_t *key = keys_get(&regions->places, place);

    if (key[1] >= 0)
        text_addf(out, "%s:%lld", report_string(regions->report, key[1], NULL), (long long)key[2]);
}
