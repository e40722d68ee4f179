/* The sweep of src/analyze/model/launches.c over the calls and the operators of every thread; a report without
 * operators has its NVTX ranges of the default domain instead. */
#include "call_owners.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/launches.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/torch/operators.h"

int64_t call_owners_operator_id(uint64_t row)
{
    return (int64_t)row + 1;
}

int64_t call_owners_range_id(struct report *report, uint64_t row)
{
    return (int64_t)(report_rows(report, "TACHO_TORCH_OP") + row) + 1;
}

enum { START, END, THREAD, CATEGORY, EXTERNAL, NAME };
enum { IS_OPERATOR, IS_ANNOTATION }; /* style of a range, here */

/* IS_…, or -1 for an event that is not on the CPU. */
static int style_of(struct report *report, int64_t category)
{
    const char *name = report_string(report, category, NULL);

    return strcmp(name, "cpu_op") == 0 ? IS_OPERATOR : strcmp(name, "user_annotation") == 0 ? IS_ANNOTATION : -1;
}

/* By thread, then by start, the longer first. */
static int call_owners_by_place(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    int order = COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);

    return order ?: COMPARE(y->end_ns, x->end_ns) ?: COMPARE(x->row, y->row);
}

/* Operators as ranges; ids are by row. */
static int call_owners_read_operators(struct report *report, struct ranges *ranges, int64_t **ids, struct error *err)
{
    static const char *const names[] = { "start", "end", "globalTid", "category", "externalId", "nameId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_TORCH_OP", names, err);

    if (code != 0)
        return code;
    ranges->list = malloc((rows.columns.rows + 1) * sizeof *ranges->list);
    *ids = malloc((rows.columns.rows + 1) * sizeof **ids);
    if ((!ranges->list || !*ids || rows.columns.rows >= NO_RANGE) &&
        (code = error_short_memory(err, "for the operators")) != 0)
        goto close_rows;
    while (row_cursor_next(&rows)) {
        (*ids)[rows.row] = row_int_or(&rows, EXTERNAL, call_owners_operator_id(rows.row));
        int style = style_of(report, row_int(&rows, CATEGORY));
        if (row_is_null(&rows, END) || row_is_null(&rows, THREAD) || style < 0)
            continue;
        ranges->list[ranges->count++] = (struct range){
            .start_ns = row_int(&rows, START),
            .end_ns = row_int(&rows, END),
            .thread = row_int(&rows, THREAD),
            .row = (uint32_t)rows.row,
            .name = row_int(&rows, NAME),
            .style = (uint32_t)style,
        };
    }
    qsort(ranges->list, ranges->count, sizeof *ranges->list, call_owners_by_place);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int call_owners_read_ranges(struct report *report, struct ranges *ranges, int64_t **ids, struct error *err)
{
    struct filter everything = { 0 };
    size_t kept = 0;
    int code = ranges_read(ranges, report, RANGE_PUSHPOP, &everything, err);

    if (code != 0)
        return code;
    *ids = malloc((report_rows(report, "NVTX_EVENTS") + 1) * sizeof **ids);
    if (!*ids)
        return error_short_memory(err, "for the ranges");
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->list[i].domain == NVTX_NO_NAME) {
            struct range *range = &ranges->list[kept++];
            size_t length = 0;
            *range = ranges->list[i];
            const char *text = range->name == NVTX_NO_NAME ? "" : report_string(report, range->name, &length);
            range->style = operator_text(text, length).is_operator ? IS_OPERATOR : IS_ANNOTATION;
            (*ids)[range->row] = call_owners_range_id(report, range->row);
        }
    ranges->count = kept;
    return 0;
}

struct call_owners_finding {
    struct call_owners *owners;
    const struct ranges *ranges;
    const int64_t *ids;
    uint32_t *numbers; /* by range: the number of its annotation, or NO_ANNOTATION */
};

/* The number of an annotation; those around it, which the list begins with, have theirs already. */
static uint32_t call_owners_number_of(const struct call_owners_finding *finding, uint32_t range, uint32_t parent)
{
    struct call_owners *owners = finding->owners;
    const struct range *of = &finding->ranges->list[range];

    if (finding->numbers[range] == NO_ANNOTATION) {
        finding->numbers[range] = (uint32_t)owners->annotation_count;
        owners->annotations[owners->annotation_count++] = (struct call_owners_annotation){ of->name,
                                                                                           finding->ids[of->row],
                                                                                           parent };
    }
    return finding->numbers[range];
}

static int take_around(void *context, uint32_t call, const uint32_t *around, size_t around_count)
{
    const struct call_owners_finding *finding = context;
    uint32_t annotation = NO_ANNOTATION;

    for (size_t i = 0; i < around_count; i++)
        if (finding->ranges->list[around[i]].style == IS_ANNOTATION)
            annotation = call_owners_number_of(finding, around[i], annotation);
    finding->owners->annotation[call] = annotation;
    if (around_count)
        finding->owners->external[call] = finding->ids[finding->ranges->list[around[around_count - 1]].row];
    return 0;
}

static int find_owners(struct call_owners *owners, const struct ranges *ranges, const int64_t *ids, struct error *err)
{
    struct call_owners_finding finding = { owners, ranges, ids, malloc(ranges->count * sizeof *finding.numbers) };
    size_t count = owners->calls.count;
    uint32_t *list = malloc((count + 1) * sizeof *list);
    int code = ERR_NO_MEMORY;

    owners->annotations = malloc(ranges->count * sizeof *owners->annotations);
    if (!list || !finding.numbers || !owners->annotations)
        goto done;
    for (size_t i = 0; i < count; i++)
        list[i] = (uint32_t)i;
    for (size_t i = 0; i < ranges->count; i++)
        finding.numbers[i] = NO_ANNOTATION;
    code = launches_sweep(&owners->calls, list, count, ranges, SIZE_MAX, take_around, &finding);
done:
    free(list);
    free(finding.numbers);
    return code != 0 ? error_set(err, code, "not enough memory to find the operators of CUDA calls") : 0;
}

int call_owners_read(struct call_owners *owners, struct report *report, struct error *err)
{
    struct ranges ranges = { 0 };
    int64_t *ids = NULL;
    int code = calls_read(&owners->calls, report, err);

    if (code != 0 || !owners->calls.count)
        return code;
    owners->external = calloc(owners->calls.count, sizeof *owners->external);
    owners->pointed = calloc(owners->calls.count, 1);
    owners->annotation = malloc(owners->calls.count * sizeof *owners->annotation);
    if (!owners->external || !owners->pointed || !owners->annotation)
        return error_short_memory(err, "for the CUDA calls");
    for (size_t i = 0; i < owners->calls.count; i++)
        owners->annotation[i] = NO_ANNOTATION;
    code = report_rows(report, "TACHO_TORCH_OP") ? call_owners_read_operators(report, &ranges, &ids, err)
                                                 : call_owners_read_ranges(report, &ranges, &ids, err);
    if (code != 0)
        goto done;
    if (ranges.count)
        code = find_owners(owners, &ranges, ids, err);
done:
    ranges_free(&ranges);
    free(ids);
    return code;
}

void call_owners_free(struct call_owners *owners)
{
    calls_free(&owners->calls);
    free(owners->external);
    free(owners->pointed);
    free(owners->annotation);
    free(owners->annotations);
    *owners = (struct call_owners){ 0 };
}
