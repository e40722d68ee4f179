/* Sorts row numbers first and makes ranges of them afterwards, so that nothing large is moved twice. */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/array.h"

enum { END_THREAD = NVTX_COLUMNS, COLUMNS };

struct ranges_reading {
    struct report_columns columns;
    struct report_block block; /* the same, as one */
    struct nvtx_domains domains;
    int64_t last_ns;
    int64_t *ends;             /* owned; of every row, open ranges included */
    uint32_t *order;           /* owned; the rows that are ranges */
    size_t count;
};

/* Ends of all rows; a range that is still open ends with the last moment of the table. */
static int find_ends(struct ranges_reading *reading)
{
    const struct report_columns *columns = &reading->columns;

    reading->ends = malloc((columns->rows + 1) * sizeof *reading->ends);
    if (!reading->ends)
        return ERR_NO_MEMORY;
    reading->last_ns = INT64_MIN;
    for (size_t row = 0; row < columns->rows; row++) {
        int64_t end = columns->values[columns_is_null(columns, NVTX_END, row) ? NVTX_START : NVTX_END][row];
        reading->last_ns = end > reading->last_ns ? end : reading->last_ns;
        reading->ends[row] = end;
    }
    for (size_t row = 0; columns->nulls[NVTX_END] && row < columns->rows; row++)
        if (columns_is_null(columns, NVTX_END, row))
            reading->ends[row] = reading->last_ns;
    return 0;
}

/* Picks the rows that are ranges; names: NULL for all. */
static int pick_rows(struct ranges_reading *reading, uint32_t styles, const struct filter *filter,
                     const struct range_names *names)
{
    const struct report_columns *columns = &reading->columns;
    const int64_t *types = columns->values[NVTX_TYPE], *threads = columns->values[NVTX_THREAD];

    reading->order = malloc((columns->rows + 1) * sizeof *reading->order);
    if (!reading->order)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < columns->rows; row++) {
        if (nvtx_domains_take(&reading->domains, &reading->block, row) != 0)
            return ERR_NO_MEMORY;
        if (!((uint32_t)range_style(types[row]) & styles) ||
            !filter_thread(filter, threads[row], columns->values[NVTX_START][row], reading->ends[row]) ||
            (!(styles & RANGE_CROSSING) && !columns_is_null(columns, END_THREAD, row) &&
             columns->values[END_THREAD][row] != threads[row]))
            continue;
        if (!names || names->is_wanted(names->context, nvtx_name(&reading->block, row)))
            reading->order[reading->count++] = (uint32_t)row;
    }
    return 0;
}

static int compare_ties(const void *a, const void *b, void *context)
{
    const struct ranges_reading *reading = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return COMPARE(reading->ends[y], reading->ends[x]) ?: COMPARE(x, y); /* the longer one is outside */
}

static int ranges_sort_rows(struct ranges_reading *reading)
{
    const int64_t *starts = reading->columns.values[NVTX_START], *threads = reading->columns.values[NVTX_THREAD];
    uint32_t *rows = reading->order;

    if (order_by_thread(rows, reading->count, threads, starts) != 0)
        return ERR_NO_MEMORY;
    for (size_t first = 0, i = 1; i <= reading->count; i++) {
        if (i < reading->count && starts[rows[i]] == starts[rows[first]] && threads[rows[i]] == threads[rows[first]])
            continue;
        if (i - first > 1)
            qsort_r(rows + first, i - first, sizeof *rows, compare_ties, reading);
        first = i;
    }
    return 0;
}

static int ranges_make_ranges(struct ranges *ranges, const struct ranges_reading *reading)
{
    const struct report_columns *columns = &reading->columns;

    ranges->list = malloc((reading->count + 1) * sizeof *ranges->list);
    if (!ranges->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < reading->count; i++) {
        uint32_t row = reading->order[i];
        int64_t thread = columns->values[NVTX_THREAD][row];
        int64_t domain = columns_is_null(columns, NVTX_DOMAIN, row) ? 0 : columns->values[NVTX_DOMAIN][row];
        ranges->list[i] = (struct range){
            .start_ns = columns->values[NVTX_START][row],
            .end_ns = reading->ends[row],
            .thread = thread,
            .name = nvtx_name(&reading->block, row),
            .domain = domain ? nvtx_domain_name(&reading->domains, global_process(thread), domain) : NVTX_NO_NAME,
            .row = row,
            .style = (uint32_t)range_style(columns->values[NVTX_TYPE][row]),
            .parent = NO_RANGE,
        };
    }
    ranges->count = reading->count;
    return 0;
}

static int ranges_collect(struct ranges *ranges, struct ranges_reading *reading, int styles,
                          const struct filter *filter, const struct range_names *names)
{
    if (find_ends(reading) != 0 || pick_rows(reading, (uint32_t)styles, filter, names) != 0 ||
        ranges_sort_rows(reading) != 0)
        return ERR_NO_MEMORY;
    nvtx_domains_sort(&reading->domains);
    return ranges_make_ranges(ranges, reading);
}

int ranges_read(struct ranges *ranges, struct report *report, int styles, const struct filter *filter,
                struct error *err)
{
    return ranges_read_named(ranges, report, styles, filter, NULL, err);
}

int ranges_read_named(struct ranges *ranges, struct report *report, int styles, const struct filter *filter,
                      const struct range_names *names, struct error *err)
{
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    struct ranges_reading reading = { 0 };
    int wanted[COLUMNS];

    *ranges = (struct ranges){ 0 };
    if (!table || !table->rows)
        return 0;
    if (table->rows >= NO_RANGE)
        return error_set(err, ERR_UNSUPPORTED, "the report has too many NVTX ranges to nest");
    nvtx_columns(table, wanted);
    wanted[END_THREAD] = report_column(table, "endGlobalTid");
    int code = report_read(report, table, wanted, COLUMNS, &reading.columns, err);
    if (code != 0)
        return code;
    columns_fill_nulls(&reading.columns, NVTX_THREAD, 0);
    reading.block = (struct report_block){
        .rows = reading.columns.rows,
        .values = (const int64_t *const *)reading.columns.values,
        .nulls = (const uint64_t *const *)reading.columns.nulls,
    };
    code = ranges_collect(ranges, &reading, styles, filter, names);
    report_columns_free(&reading.columns);
    nvtx_domains_free(&reading.domains);
    free(reading.ends);
    free(reading.order);
    return code != 0 ? error_short_memory(err, "for the ranges") : 0;
}

void ranges_free(struct ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ranges){ 0 };
}

/* The parent field is the link of the stack. A range that ends before the next one ends cannot contain that one, nor
 * any later one that the next does not contain too, so it leaves the stack for good. */
void ranges_nest(struct ranges *ranges)
{
    uint32_t top = NO_RANGE;

    for (size_t i = 0; i < ranges->count; i++) {
        struct range *range = &ranges->list[i];
        if (i > 0 && ranges->list[i - 1].thread != range->thread)
            top = NO_RANGE;
        while (top != NO_RANGE && ranges->list[top].end_ns < range->end_ns)
            top = ranges->list[top].parent;
        range->parent = top;
        range->level = range->children = 0;
        if (top != NO_RANGE) {
            range->level = ranges->list[top].level + 1;
            ranges->list[top].children++;
        }
        top = (uint32_t)i;
    }
}

/* Writes the text from its end, since the links lead outwards. */
void range_stack(struct text *out, const struct ranges *ranges, const struct range *range)
{
    static const char cut[] = "…";
    char text[RANGES_DEEPEST_SHOWN * 21];
    size_t at = sizeof text;

    for (int shown = 0; range && shown < RANGES_DEEPEST_SHOWN; shown++) {
        uint64_t id = (uint64_t)range->row + 1;
        do
            text[--at] = (char)('0' + id % 10);
        while (id /= 10);
        text[--at] = ':';
        range = range->parent == NO_RANGE ? NULL : &ranges->list[range->parent];
    }
    text_clear(out);
    if (range)
        text_add(out, cut);
    text_add_bytes(out, text + at, sizeof text - at);
}

const char *range_style_name(uint32_t style)
{
    return style == RANGE_PUSHPOP ? "PushPop" : "StartEnd";
}

void range_label(struct text *out, struct report *report, const struct range *range)
{
    text_clear(out);
    if (range)
        nvtx_label(out, report, range->domain, range->name);
}
