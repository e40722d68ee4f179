/* The meaning of the numbers in nsys's event tables, and the arithmetic with them that all analyses share. */
#ifndef TACHO_ANALYZE_ENGINE_EVENT_COLUMNS_H
#define TACHO_ANALYZE_ENGINE_EVENT_COLUMNS_H

#include "base/saturating.h"
#include "report/reader/reader.h"

/* NVTX_EVENTS.eventType. The NVTXT ones come from ranges that were imported as text. */
enum {
    EVENT_NVTX_CATEGORY = 33,
    EVENT_NVTX_MARK = 34,
    EVENT_NVTX_END_RANGE = 38, /* from the mark to here: events, ranges in halves among them */
    EVENT_NVTX_THREAD_NAME = 39,
    EVENT_NVTX_PUSHPOP = 59,
    EVENT_NVTX_STARTEND = 60,
    EVENT_NVTXT_MARK = 65,
    EVENT_NVTXT_END_RANGE = 69,
    EVENT_NVTXT_PUSHPOP = 70,
    EVENT_NVTXT_STARTEND = 71,
    EVENT_NVTX_DOMAIN_CREATE = 75,
};

static inline int nvtx_is_range(int64_t event_type)
{
    return event_type == EVENT_NVTX_PUSHPOP || event_type == EVENT_NVTX_STARTEND || event_type == EVENT_NVTXT_PUSHPOP ||
           event_type == EVENT_NVTXT_STARTEND;
}

/* OSRT_API.eventClass */
enum { EVENT_CLASS_OSRT = 27 };

/* Global ids: thread in bits 0–23, process in 24–47, machine above. */
static inline int64_t global_process(int64_t global_tid)
{
    return global_tid & ~INT64_C(0xffffff);
}
static inline int64_t global_pid_number(int64_t global_tid)
{
    return global_tid >> 24 & 0xffffff;
}
static inline int64_t global_tid_number(int64_t global_tid)
{
    return global_tid & 0xffffff;
}

/* Reads whole columns of a table, by name. A table that the file lacks has no rows; that is no error. */
static inline int columns_read(struct report *report, const char *name, const char *const *names, size_t count,
                               struct report_columns *out, struct error *err)
{
    const struct report_table *table = report_table(report, name);
    int wanted[count];

    if (!table || !table->rows)
        return 0;
    for (size_t i = 0; i < count; i++)
        wanted[i] = report_column(table, names[i]);
    return report_read(report, table, wanted, count, out, err);
}

/* Sets the rows that are NULL in a column to a value; before, their values are undefined. */
static inline void columns_fill_nulls(struct report_columns *columns, size_t column, int64_t value)
{
    for (size_t row = 0; columns->nulls[column] && row < columns->rows; row++)
        if (columns_is_null(columns, column, row))
            columns->values[column][row] = value;
}

/* Whether [start, end] touches the span; no span is all of time. */
static inline int span_overlaps(const struct report_span *span, int64_t start, int64_t end)
{
    return !span || (start <= span->to_ns && end >= span->from_ns);
}

#endif
