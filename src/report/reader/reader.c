/* Opens and closes a report and looks up its tables. find_chunks.c finds chunks, table_definitions.c makes tables,
 * scan.c decodes columns, strings.c decodes strings; unite.c makes a set of reports. */
#include <stdlib.h>
#include <string.h>

#include "reader_state.h"

int report_open_host(const struct report_host *host, struct report **out, struct error *err)
{
    struct report *report = calloc(1, sizeof *report);
    int code;
    if (!report)
        return error_no_memory(err);
    report->host = *host;
    pthread_mutex_init(&report->lock, NULL);
    if ((code = report_find_chunks(report, err)) != 0)
        goto close_report;
    if ((code = report_make_tables(report, err)) != 0)
        goto close_report;
    if ((code = report_make_strings(report, err)) != 0)
        goto close_report;
    *out = report;
    return 0;
close_report:
    report_close(report);
    return code;
}

static void reader_free_parts(struct report *set)
{
    set_strings_free(set);
    for (size_t p = 0; p < set->part_count && !set->lender; p++)
        report_close(set->parts[p].report);
    for (size_t t = 0; t < set->table_count && set->lender; t++) { /* what was read of some was read of all */
        const struct report_table *same = report_table(set->lender, set->tables[t]->public.name);
        if (same && set->tables[t]->is_read)
            ((struct reader_table *)same)->is_read = 1;
    }
    free(set->parts);
    pthread_mutex_destroy(&set->set_lock);
}

void report_close(struct report *report)
{
    if (!report)
        return;
    report_free_strings(report);
    if (report->parts)
        reader_free_parts(report);
    for (size_t i = 0; i < report->table_count; i++) {
        free(report->tables[i]->columns);
        free(report->tables[i]->chunks);
    }
    free(report->tables);
    intern_free(&report->table_names);
    free(report->definitions);
    free(report->found);
    reader_scratches_delete(report);
    arena_free(&report->arena);
    pthread_mutex_destroy(&report->lock);
    if (report->host_delete)
        report->host_delete(report->host.context);
    free(report);
}

struct report_health report_health(const struct report *report)
{
    struct report_health health = {
        .has_index = report->has_index,
        .complete = report->complete,
        .recovered = report->recovered,
        .damaged_chunks = report->damaged_chunks,
        .damaged_bytes = report->damaged_bytes,
        .cut_bytes = report->cut_bytes,
        .file_bytes = report->host.size,
    };

    for (size_t p = 0; p < report->part_count; p++) { /* more may have been met since they were united */
        health.damaged_chunks += report->parts[p].report->damaged_chunks;
        health.damaged_bytes += report->parts[p].report->damaged_bytes;
    }
    return health;
}

/* How many strings a set has is known once they are united. */
static const struct report_table *reader_known(const struct report *report, const struct reader_table *table)
{
    if (table == report->string_table)
        set_strings_make((struct report *)report, NULL);
    return &table->public;
}

size_t report_table_count(const struct report *report)
{
    return report->table_count;
}

const struct report_table *report_table_at(const struct report *report, size_t index)
{
    return index < report->table_count ? reader_known(report, report->tables[index]) : NULL;
}

struct report_span report_times(const struct report *report)
{
    struct report_span span = { INT64_MAX, INT64_MIN };

    for (size_t i = 0; i < report->table_count; i++) {
        const struct report_table *table = &report->tables[i]->public;
        if (table->first_ns > table->last_ns || strcmp(table->name, "DIAGNOSTIC_EVENT") == 0)
            continue;
        span.from_ns = table->first_ns < span.from_ns ? table->first_ns : span.from_ns;
        span.to_ns = table->last_ns > span.to_ns ? table->last_ns : span.to_ns;
    }
    return span;
}

const struct report_table *report_table(const struct report *report, const char *name)
{
    const struct reader_table *table = reader_table_find(report, name, strlen(name));

    return table ? reader_known(report, table) : NULL;
}

uint64_t report_rows(const struct report *report, const char *name)
{
    const struct report_table *table = report_table(report, name);

    return table ? table->rows : 0;
}

int report_was_read(const struct report_table *table)
{
    return ((const struct reader_table *)table)->is_read;
}

void report_mark_read(struct report *report, const char *table)
{
    struct reader_table *found = reader_table_find(report, table, strlen(table));

    if (found)
        found->is_read = 1;
}

int report_column(const struct report_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return (int)i;
    return -1;
}
