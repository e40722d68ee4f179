/* Sums the errors of two parts' clocks. Parts differ by their system, which every packed id has in it. */
#include "clock_errors.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "report/reader/unite.h"

static size_t system_of(int64_t id)
{
    return (size_t)((uint64_t)id >> 48);
}

int merged_parts_read(struct merged_parts *parts, struct report *report, struct error *err)
{
    static const char *const names[] = { "stretch", "rank", "system", "errorNs", NULL };
    enum { STRETCH, RANK, SYSTEM, ERROR };
    struct row_cursor rows;
    int code;

    *parts = (struct merged_parts){ 0 };
    if (report_part_count(report) > 1)
        return 0;
    if ((code = row_cursor_open(&rows, report, "TACHO_CLOCK_OFFSET", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_int_or(&rows, STRETCH, 0) != 0)
            continue;
        if (ARRAY_PUSH(parts->list, parts->room, parts->count,
                       (struct merged_part){ row_int_or(&rows, RANK, -1), row_int_or(&rows, SYSTEM, -1),
                                             row_int_or(&rows, ERROR, -1) }) != 0 &&
            (code = error_no_memory(err)) != 0)
            break;
    }
    row_cursor_close(&rows);
    if (parts->count < 2) /* all on one clock */
        parts->count = 0;
    return code;
}

void merged_parts_free(struct merged_parts *parts)
{
    free(parts->list);
    *parts = (struct merged_parts){ 0 };
}

static void add_error(struct clock_errors *errors, int64_t system, int64_t error_ns)
{
    int64_t *error = &errors->by_system[(uint64_t)system & (CLOCK_SYSTEMS - 1)];

    if (error_ns < 0 || *error < 0)
        *error = -1;
    else if (error_ns > *error)
        *error = error_ns;
}

int clock_errors_read(struct clock_errors *errors, struct report *report, struct error *err)
{
    struct merged_parts merged;
    size_t count = report_part_count(report);
    int code = merged_parts_read(&merged, report, err);

    *errors = (struct clock_errors){ 0 };
    if (code != 0 || (count < 2 && !merged.count))
        goto free_merged;
    errors->by_system = calloc(CLOCK_SYSTEMS, sizeof *errors->by_system);
    if (!errors->by_system && (code = error_no_memory(err)) != 0)
        goto free_merged;
    for (size_t i = 0; count > 1 && i < count; i++)
        add_error(errors, report_part_at(report, i)->system, report_part_at(report, i)->clock_error_ns);
    for (size_t i = 0; i < merged.count; i++)
        add_error(errors, merged.list[i].system, merged.list[i].error_ns);
free_merged:
    merged_parts_free(&merged);
    return code;
}

void clock_errors_free(struct clock_errors *errors)
{
    free(errors->by_system);
    *errors = (struct clock_errors){ 0 };
}

int64_t clock_errors_of(const struct clock_errors *errors, int64_t thread, int64_t other)
{
    if (!errors->by_system || global_process(thread) == global_process(other))
        return 0;
    int64_t one = errors->by_system[system_of(thread)], two = errors->by_system[system_of(other)];
    return one < 0 || two < 0 ? INT64_MAX : saturating_add(one, two);
}
