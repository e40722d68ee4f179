/* The sweep of src/analyze/launches.c over the calls and the operators of every thread; a report without operators has its NVTX
 * ranges of the default domain instead. */
#include "owners.h"

#include <stdlib.h>
#include <string.h>

#include "../analyze/events.h"
#include "../analyze/launches.h"
#include "../analyze/order.h"

static uint64_t rows_of(struct report *report, const char *name)
{
    const struct report_table *table = report_table(report, name);

    return table ? table->rows : 0;
}

int64_t owners_operator_id(uint64_t row)
{
    return (int64_t)row + 1;
}

int64_t owners_range_id(struct report *report, uint64_t row)
{
    return (int64_t)(rows_of(report, "TACHO_TORCH_OP") + row) + 1;
}

enum { START, END, THREAD, CATEGORY, EXTERNAL, COLUMNS };

static int is_on_cpu(struct report *report, int64_t category)
{
    const char *name = report_string(report, category, NULL);

    return strcmp(name, "cpu_op") == 0 || strcmp(name, "user_annotation") == 0;
}

/* By thread, then by start, the longer first. */
static int by_place(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Operators as ranges; ids are by row. */
static int read_operators(struct report *report, struct ranges *ranges, int64_t **ids, struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "end", "globalTid", "category", "externalId" };
    struct report_columns columns = {0};
    int code = columns_read(report, "TACHO_TORCH_OP", names, COLUMNS, &columns, err);

    if (code != 0)
        return code;
    ranges->list = malloc((columns.rows + 1) * sizeof *ranges->list);
    *ids = malloc((columns.rows + 1) * sizeof **ids);
    code = ranges->list && *ids && columns.rows < NO_RANGE ? 0 : error_set(err, ERR_NO_MEMORY, "not enough memory for the operators");
    for (size_t row = 0; row < columns.rows && code == 0; row++) {
        (*ids)[row] = columns_is_null(&columns, EXTERNAL, row) ? owners_operator_id(row) : columns.values[EXTERNAL][row];
        if (columns_is_null(&columns, END, row) || columns_is_null(&columns, THREAD, row) || !is_on_cpu(report, columns.values[CATEGORY][row]))
            continue;
        ranges->list[ranges->count++] = (struct range){ .start_ns = columns.values[START][row], .end_ns = columns.values[END][row],
                                                        .thread = columns.values[THREAD][row], .row = (uint32_t)row };
    }
    if (columns.values)
        report_columns_free(&columns);
    if (code == 0)
        qsort(ranges->list, ranges->count, sizeof *ranges->list, by_place);
    return code;
}

static int read_ranges(struct report *report, struct ranges *ranges, int64_t **ids, struct error *err)
{
    struct filter everything = {0};
    size_t kept = 0;
    int code = ranges_read(ranges, report, RANGE_PUSHPOP, &everything, err);

    if (code != 0)
        return code;
    *ids = malloc((rows_of(report, "NVTX_EVENTS") + 1) * sizeof **ids);
    if (!*ids)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the ranges");
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->list[i].domain == NVTX_NO_NAME) {
            ranges->list[kept] = ranges->list[i];
            (*ids)[ranges->list[kept].row] = owners_range_id(report, ranges->list[kept].row);
            kept++;
        }
    ranges->count = kept;
    return 0;
}

struct finding {
    struct owners *owners;
    const struct ranges *ranges;
    const int64_t *ids;
};

static int take_innermost(void *context, uint32_t call, const uint32_t *around, size_t around_count)
{
    const struct finding *finding = context;

    if (around_count)
        finding->owners->external[call] = finding->ids[finding->ranges->list[around[around_count - 1]].row];
    return 0;
}

static int find_owners(struct owners *owners, const struct ranges *ranges, const int64_t *ids, struct error *err)
{
    struct finding finding = { owners, ranges, ids };
    size_t count = owners->calls.count;
    uint32_t *list = malloc((count + 1) * sizeof *list);
    int code = list ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < count && code == 0; i++)
        list[i] = (uint32_t)i;
    if (code == 0)
        code = launches_sweep(&owners->calls, list, count, ranges, 1, take_innermost, &finding);
    free(list);
    return code ? error_set(err, code, "not enough memory to find the operators of CUDA calls") : 0;
}

int owners_read(struct owners *owners, struct report *report, struct error *err)
{
    struct ranges ranges = {0};
    int64_t *ids = NULL;
    int code = calls_read(&owners->calls, report, err);

    if (code != 0 || !owners->calls.count)
        return code;
    owners->external = calloc(owners->calls.count, sizeof *owners->external);
    owners->pointed = calloc(owners->calls.count, 1);
    if (!owners->external || !owners->pointed)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the CUDA calls");
    code = rows_of(report, "TACHO_TORCH_OP") ? read_operators(report, &ranges, &ids, err) : read_ranges(report, &ranges, &ids, err);
    if (code == 0 && ranges.count)
        code = find_owners(owners, &ranges, ids, err);
    ranges_free(&ranges);
    free(ids);
    return code;
}

void owners_free(struct owners *owners)
{
    calls_free(&owners->calls);
    free(owners->external);
    free(owners->pointed);
    *owners = (struct owners){0};
}
