/* Joins TACHO_COUNT with the tables that the rows of sources name. */
#include "report_sources.h"

#include <string.h>

#include "cmd_source.h"

static const struct report_table *report_sources_table_of(struct report *report, const char *events)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        for (const struct cmd_source_table *at = (*source)->tables; at && at->events; at++)
            if (strcmp(at->events, events) == 0)
                return report_table(report, at->table);
    return NULL;
}

static int report_sources_is_known(const struct report_sources *sources, const char *name)
{
    for (size_t i = 0; i < sources->count; i++)
        if (strcmp(sources->list[i].name, name) == 0)
            return 1;
    return 0;
}

static void report_sources_add_counted(struct report_sources *sources, struct report *report,
                                       const struct counted_source *counted)
{
    const struct report_table *table = report_sources_table_of(report, counted->name);
    uint64_t rows = table ? table->rows : 0;
    int is_certain = !sources->is_uncertain && counted->recorded; /* a part of a capture has only the losses counted */

    sources->list[sources->count++] = (struct report_source){
        .name = counted->name,
        .recorded = is_certain || rows < counted->recorded ? counted->recorded : rows,
        .below_threshold = counted->below_threshold,
        .untimed = counted->untimed,
        .left_out = counted->left_out,
        .lost = counted->lost,
        .empty_polls = counted->empty_polls,
        .is_counted = 1,
        .table = table,
    };
}

/* A table whose source counted nothing. */
static void add_uncounted(struct report_sources *sources, struct report *report)
{
    const struct cmd_source *ordered[CMD_SOURCE_COUNT];

    cmd_sources_order(SOURCE_LAST_IN_TABLES, ordered);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        for (const struct cmd_source_table *at = ordered[i]->tables; at && at->events; at++) {
            const struct report_table *table = report_table(report, at->table);
            if (!table || !table->rows || report_sources_is_known(sources, at->events) ||
                sources->count == COUNT_OF(sources->list))
                continue;
            sources->list[sources->count++] = (struct report_source){ .name = at->events,
                                                                      .recorded = table->rows,
                                                                      .table = table };
        }
}

int report_sources_read(struct report_sources *sources, struct report *report, struct error *err)
{
    struct report_health health = report_health(report);
    int code;

    *sources = (struct report_sources){ .is_uncertain = !health.complete || health.recovered };
    if ((code = event_counts_read(&sources->counts, report, err)) != 0)
        return code;
    for (size_t i = 0; i < sources->counts.source_count; i++)
        report_sources_add_counted(sources, report, &sources->counts.sources[i]);
    add_uncounted(sources, report);
    return 0;
}

const struct cmd_source_subject *report_sources_subject(struct report *report)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        for (const struct cmd_source_subject *at = (*source)->subjects; at && at->table; at++) {
            const struct report_table *table = report_table(report, at->table);
            if (table && table->rows)
                return at;
        }
    return NULL;
}
