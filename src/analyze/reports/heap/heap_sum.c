/* heap_sum: what a program has allocated, by function or line of its own code: alive at the peak, in all, temporary,
 * and never freed. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/report_options.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/heap/heap_origins.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/saturating.h"

/* What blocks are added up as. */
enum heap_sum_measure { AT_PEAK, ALLOCATED, TEMPORARY, NEVER_FREED, MEASURES };
static const char *const heap_sum_options[MEASURES] = { NULL, "allocated", "temporary", "leaks" };

/* Lines and functions. Place, frame, thread: -1: none. */
enum { GROUP_FILE, GROUP_FUNCTION, GROUP_LINE, GROUP_FRAME, GROUP_THREAD, GROUP_PARTS };

struct heap_sum_group {
    double bytes[MEASURES], blocks[MEASURES];
    double most_bytes; /* of one block, which stands for the others in the text */
    struct heap_origin origin;
    int64_t thread;
};

struct heap_sum_totals {
    struct heap_life heap;
    struct heap_origins origins;
    struct thread_names names;
    struct keys groups;
    struct heap_sum_group *list; /* owned; by group */
    size_t room;
    enum heap_sum_measure measure;
    int by_line, by_thread;
    int64_t rate_bytes;
};

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static void heap_sum_key(int64_t key[GROUP_PARTS], const struct heap_sum_totals *totals, const struct heap_block *block,
                         struct heap_origin origin)
{
    for (int i = 0; i < GROUP_PARTS; i++)
        key[i] = -1;
    if (totals->by_thread) {
        key[GROUP_THREAD] = block->thread;
    } else if (origin.place != NO_PLACE) {
        struct place place = places_get(&totals->origins.places, origin.place);
        key[GROUP_FILE] = place.file;
        key[GROUP_FUNCTION] = place.function;
        key[GROUP_LINE] = totals->by_line ? place.line : -1;
    } else {
        key[GROUP_FRAME] = origin.frame;
    }
}

static void heap_sum_add_to_group(struct heap_sum_group *group, const struct heap_sum_totals *totals,
                                  const struct heap_block *block)
{
    const int counts[MEASURES] = {
        [AT_PEAK] = heap_block_is_at(block, totals->heap.peak_ns),
        [ALLOCATED] = 1,
        [TEMPORARY] = block->is_temporary,
        [NEVER_FREED] = block->freed_ns == HEAP_NEVER,
    };

    for (int i = 0; i < MEASURES; i++) {
        group->bytes[i] += counts[i] ? heap_block_weight(block) : 0;
        group->blocks[i] += counts[i] ? block->represents : 0;
    }
}

static int heap_sum_add_block(struct heap_sum_totals *totals, const struct heap_block *block)
{
    struct heap_origin origin = heap_origin_of(&totals->origins, block);
    int64_t key[GROUP_PARTS];

    heap_sum_key(key, totals, block, origin);
    uint32_t at = keys_add(&totals->groups, key);
    if (at == NO_KEY || heap_origins_failed(&totals->origins) ||
        array_reserve_zeroed(&totals->list, &totals->room, at + 1u, sizeof *totals->list) != 0)
        return ERR_NO_MEMORY;
    struct heap_sum_group *group = &totals->list[at];
    if (!group->blocks[ALLOCATED] || heap_block_weight(block) > group->most_bytes) {
        group->most_bytes = heap_block_weight(block);
        group->origin = origin;
        group->thread = block->thread;
    }
    heap_sum_add_to_group(group, totals, block);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_SHARE,
    CELL_PEAK,
    CELL_PEAK_BLOCKS,
    CELL_ALLOCATED,
    CELL_ALLOCATIONS,
    CELL_TEMPORARY,
    CELL_NEVER_FREED,
    CELL_NEVER_FREED_BLOCKS,
    CELL_WHERE,
    CELL_CALL,
    CELLS
};

static int64_t heap_sum_whole(double number)
{
    return saturating_from_double(number + 0.5);
}

static int heap_sum_set_texts(struct table *table, struct table_cell *row, const struct heap_sum_totals *totals,
                              const struct heap_sum_group *group, struct text *text)
{
    const struct places *places = &totals->origins.places;
    uint32_t place = group->origin.place;

    text_clear(text);
    if (totals->by_thread)
        thread_name_label(text, &totals->names, places->report, group->thread);
    else
        heap_origin_text(text, &totals->origins, group->origin);
    if (cell_set_built(table, &row[CELL_WHERE], text) != 0)
        return ERR_NO_MEMORY;
    return totals->by_thread || place == NO_PLACE
               ? 0
               : cell_set_string(table, &row[CELL_CALL], places_string(places, places_get(places, place).act));
}

static int heap_sum_add_row(struct table *table, const struct heap_sum_totals *totals,
                            const struct heap_sum_group *group, double whole, struct text *text)
{
    struct table_cell *row = table_add_row(table);

    if (!row || heap_sum_set_texts(table, row, totals, group, text) != 0)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_SHARE], whole > 0 ? 100 * group->bytes[totals->measure] / whole : 0);
    cell_set_int(&row[CELL_PEAK], heap_sum_whole(group->bytes[AT_PEAK]));
    cell_set_int(&row[CELL_PEAK_BLOCKS], heap_sum_whole(group->blocks[AT_PEAK]));
    cell_set_int(&row[CELL_ALLOCATED], heap_sum_whole(group->bytes[ALLOCATED]));
    cell_set_int(&row[CELL_ALLOCATIONS], heap_sum_whole(group->blocks[ALLOCATED]));
    cell_set_int(&row[CELL_TEMPORARY], heap_sum_whole(group->blocks[TEMPORARY]));
    cell_set_int(&row[CELL_NEVER_FREED], heap_sum_whole(group->bytes[NEVER_FREED]));
    cell_set_int(&row[CELL_NEVER_FREED_BLOCKS], heap_sum_whole(group->blocks[NEVER_FREED]));
    return 0;
}

/* Rows without a part in the measure are left out. */
static int heap_sum_add_rows(struct table *table, const struct heap_sum_totals *totals, struct text *text)
{
    static const int columns[MEASURES] = { CELL_PEAK, CELL_ALLOCATED, CELL_SHARE, CELL_NEVER_FREED };
    double whole = 0;
    int code;

    for (uint32_t i = 0; i < totals->groups.count; i++)
        whole += totals->list[i].bytes[totals->measure];
    for (uint32_t i = 0; i < totals->groups.count; i++)
        if (totals->list[i].blocks[totals->measure] > 0 &&
            (code = heap_sum_add_row(table, totals, &totals->list[i], whole, text)) != 0)
            return code;
    table_sort_by(table, BY(DOWN(columns[totals->measure]), DOWN(CELL_ALLOCATED), CELL_WHERE, CELL_CALL));
    return 0;
}

/* The relative error of a sum over n sampled blocks is about the root of 1 / n. */
static int heap_sum_add_note(struct table *table, const struct heap_sum_totals *totals, struct text *text)
{
    text_clear(text);
    text_add(text, "Peak: ");
    human_bytes(text, (uint64_t)heap_sum_whole(totals->heap.peak_bytes));
    text_add(text, " at ");
    human_time(text, totals->heap.peak_ns);
    if (totals->rate_bytes) {
        text_addf(text, ", from %zu sampled blocks.", totals->heap.peak_recorded);
    } else {
        text_add(text, "; every allocation was recorded.");
    }
    return text_failed(text) ? ERR_NO_MEMORY : table_set_note(table, text_string(text));
}

static int heap_sum_add_all(struct table *table, struct heap_sum_totals *totals, struct text *text)
{
    int code;

    for (size_t i = 0; i < totals->heap.count; i++)
        if ((code = heap_sum_add_block(totals, &totals->heap.list[i])) != 0)
            return code;
    if ((code = heap_sum_add_rows(table, totals, text)) != 0)
        return code;
    return heap_sum_add_note(table, totals, text);
}

static int heap_sum_fill(struct table *table, struct heap_sum_totals *totals)
{
    struct text text = { 0 };
    int code = heap_sum_add_all(table, totals, &text);

    text_free(&text);
    return code;
}

static int heap_sum_read(struct heap_sum_totals *totals, struct report *report, const struct analysis_request *request,
                         struct error *err)
{
    struct filter filter = { 0 };
    int code;

    totals->groups.width = GROUP_PARTS;
    totals->by_line = option_given(request, "lines");
    totals->by_thread = option_given(request, "threads");
    for (int i = 1; i < MEASURES; i++)
        if (option_given(request, heap_sum_options[i]))
            totals->measure = (enum heap_sum_measure)i;
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto close_filter;
    if ((code = heap_life_read(&totals->heap, report, &filter, err)) != 0 ||
        (code = heap_life_rate(&totals->rate_bytes, report, err)) != 0 ||
        (code = thread_names_read(&totals->names, report, err)) != 0)
        goto close_filter;
    code = heap_origins_open(&totals->origins, report, err);
close_filter:
    filter_close(&filter);
    return code;
}

static void heap_sum_free(struct heap_sum_totals *totals)
{
    heap_life_free(&totals->heap);
    heap_origins_close(&totals->origins);
    thread_names_free(&totals->names);
    keys_free(&totals->groups);
    free(totals->list);
}

static const struct table_column heap_sum_columns[CELLS] = {
    { "Share", CELL_REAL, UNIT_PERCENT, 1 },      { "At Peak", CELL_INT, UNIT_BYTES, 0 },
    { "Blocks At Peak", CELL_INT, UNIT_NONE, 0 }, { "Allocated", CELL_INT, UNIT_BYTES, 0 },
    { "Allocations", CELL_INT, UNIT_NONE, 0 },    { "Temporary", CELL_INT, UNIT_NONE, 0 },
    { "Never Freed", CELL_INT, UNIT_BYTES, 0 },   { "Blocks Never Freed", CELL_INT, UNIT_NONE, 0 },
    { "Where", CELL_TEXT, UNIT_NONE, 0 },         { "Call", CELL_TEXT, UNIT_NONE, 0 },
};

REPORT_RUN(heap_sum, struct heap_sum_totals, heap_sum_columns, heap_sum_read, heap_sum_fill, heap_sum_free)

const struct analysis analysis_heap_sum = {
    .name = "heap_sum",
    .title = "Heap Summary",
    .usage = "[:allocated|:temporary|:leaks][:lines|:threads]",
    .help = "Memory that the program allocated with malloc(), operator new and their like, by function of its own code "
            "(lines: by line; threads: by the thread that allocated it). At Peak: bytes that were allocated and not "
            "freed when the program had most of them; of a tree of processes, all together. Allocated: over the whole "
            "run. Temporary: allocations that the same thread freed before it allocated anything else. Never Freed: "
            "until the program ended or recording did. Share and the order of the rows are those of At Peak; "
            "allocated, temporary, leaks: of that column. Where: the place with the largest block. Sizes are those "
            "that the program asked for. Figures are estimates unless all allocations were recorded (--heap=all).",
    .needs = { { "heap data", TABLES("TACHO_HEAP_ALLOCATION") } },
    .default_rows = 20,
    .run = heap_sum,
};
