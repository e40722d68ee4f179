/* heap_growth: the bytes of the heap over time, in equal parts of the time in which blocks came and went. */
#include <stdlib.h>

#include "analyze/engine/report_options.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/heap/heap_life.h"
#include "analyze/registry.h"
#include "base/saturating.h"

enum { PARTS_USUAL = 20, PARTS_MOST = 100000 };

struct heap_growth_totals {
    struct heap_life heap;
    int64_t parts;
};

struct heap_growth_part {
    double alive, highest; /* at its end; at any time in it */
    double allocated, freed, allocations, frees;
};

enum { CELL_TIME, CELL_ALIVE, CELL_HIGHEST, CELL_ALLOCATED, CELL_FREED, CELL_ALLOCATIONS, CELL_FREES, CELLS };

static void heap_growth_add(struct heap_growth_part *part, const struct heap_block *block, int is_end)
{
    double bytes = heap_block_weight(block);

    *(is_end ? &part->freed : &part->allocated) += bytes;
    *(is_end ? &part->frees : &part->allocations) += block->represents;
    part->alive += is_end ? -bytes : bytes;
    part->highest = part->alive > part->highest ? part->alive : part->highest;
}

static int heap_growth_add_row(struct table *table, int64_t time_ns, const struct heap_growth_part *part)
{
    const struct {
        int cell;
        double value;
    } cells[] = {
        { CELL_ALIVE, part->alive }, { CELL_HIGHEST, part->highest },         { CELL_ALLOCATED, part->allocated },
        { CELL_FREED, part->freed }, { CELL_ALLOCATIONS, part->allocations }, { CELL_FREES, part->frees }
    };
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[CELL_TIME], time_ns);
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        cell_set_int(&row[cells[i].cell], saturating_from_double(cells[i].value + 0.5));
    return 0;
}

static int heap_growth_fill(struct table *table, struct heap_growth_totals *totals)
{
    const struct heap_life *heap = &totals->heap;
    struct heap_growth_part part = { 0 };
    size_t at = 0;
    int code;

    if (!heap->change_count)
        return 0;
    int64_t first_ns = heap->changes[0].time_ns, last_ns = heap->changes[heap->change_count - 1].time_ns;
    double length_ns = (double)saturating_duration(first_ns, last_ns) / (double)totals->parts;
    for (int64_t i = 0; i < totals->parts; i++) {
        int64_t end_ns = i + 1 < totals->parts ? first_ns + (int64_t)(length_ns * (double)(i + 1)) : last_ns;
        part = (struct heap_growth_part){ .alive = part.alive, .highest = part.alive };
        for (; at < heap->change_count && heap->changes[at].time_ns <= end_ns; at++)
            heap_growth_add(&part, &heap->list[heap->changes[at].block], (int)heap->changes[at].is_end);
        if ((code = heap_growth_add_row(table, end_ns, &part)) != 0)
            return code;
    }
    return 0;
}

static int heap_growth_read(struct heap_growth_totals *totals, struct report *report,
                            const struct analysis_request *request, struct error *err)
{
    struct filter filter = { 0 };
    int code;

    if ((code = option_number(request, "parts", PARTS_USUAL, 1, PARTS_MOST, &totals->parts, err)) != 0)
        return code;
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto close_filter;
    code = heap_life_read(&totals->heap, report, &filter, err);
close_filter:
    filter_close(&filter);
    return code;
}

static void heap_growth_free(struct heap_growth_totals *totals)
{
    heap_life_free(&totals->heap);
}

static const struct table_column heap_growth_columns[CELLS] = {
    { "Time", CELL_INT, UNIT_TIME, 0 },     { "Alive", CELL_INT, UNIT_BYTES, 0 },
    { "Highest", CELL_INT, UNIT_BYTES, 0 }, { "Allocated", CELL_INT, UNIT_BYTES, 0 },
    { "Freed", CELL_INT, UNIT_BYTES, 0 },   { "Allocations", CELL_INT, UNIT_NONE, 0 },
    { "Frees", CELL_INT, UNIT_NONE, 0 },
};

REPORT_RUN(heap_growth, struct heap_growth_totals, heap_growth_columns, heap_growth_read, heap_growth_fill,
           heap_growth_free)

const struct analysis analysis_heap_growth = {
    .name = "heap_growth",
    .title = "Heap over Time",
    .usage = "[:parts=<count>]",
    .help = "Memory that the program had allocated, over time: the time from its first recorded allocation to the end "
            "of its last block in equal parts (default: 20). Time: the end of a part. Alive: bytes that were allocated "
            "and not freed then. Highest: the most in that part. Blocks that the program did not free end with its "
            "process.",
    .needs = { { "heap data", TABLES("TACHO_HEAP_ALLOCATION") } },
    .run = heap_growth,
};
