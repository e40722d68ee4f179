/* Per source: what it produced and what became of it. Recorded + below threshold + untimed + lost = produced. */
#include "info_sources.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/losses.h"
#include "base/human.h"
#include "cmd/cmd_source.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "cmd/small_table.h"

enum { SOURCES_MAX = 32 };

struct source {
    const char *name;
    uint64_t recorded, below_threshold, untimed, lost;
    int counted; /* TACHO_COUNT has it */
};

struct counts {
    struct source sources[SOURCES_MAX];
    size_t source_count;
    struct losses losses;
    int uncertain; /* counts are written when a process ends, and the report ends before */
};

static struct source *find_source(struct counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->source_count; i++)
        if (strcmp(counts->sources[i].name, name) == 0)
            return &counts->sources[i];
    if (counts->source_count == SOURCES_MAX)
        return NULL;
    counts->sources[counts->source_count].name = name;
    return &counts->sources[counts->source_count++];
}

static void add_count(struct counts *counts, const char *source_name, const char *fate, uint64_t count)
{
    struct source *source = find_source(counts, source_name);

    if (!source)
        return;
    source->counted = 1;
    if (strcmp(fate, "recorded") == 0) {
        source->recorded += count;
    } else if (strcmp(fate, "below-threshold") == 0) {
        source->below_threshold += count;
    } else if (strcmp(fate, "untimed") == 0) {
        source->untimed += count;
    } else if (strcmp(fate, "lost") == 0) {
        source->lost += count;
    }
}

static const struct report_table *table_of(struct report *report, const char *events)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        for (const struct cmd_source_table *at = (*source)->tables; at && at->events; at++)
            if (strcmp(at->events, events) == 0)
                return report_table(report, at->table);
    return NULL;
}

/* A table whose source counted nothing (an import) still gets its row. */
static void add_uncounted(struct counts *counts, struct report *report)
{
    const struct cmd_source *sources[CMD_SOURCE_COUNT];

    cmd_sources_order(SOURCE_LAST_IN_TABLES, sources);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        for (const struct cmd_source_table *at = sources[i]->tables; at && at->events; at++) {
            const struct report_table *table = report_table(report, at->table);
            if (table && table->rows)
                find_source(counts, at->events);
        }
}

/* A figure, or "?" where none is known. */
static void set_figure(struct table *out, struct table_cell *cell, uint64_t count, int uncertain)
{
    if (uncertain && !count)
        cell_set_text(out, cell, "?", 1);
    else
        cell_set_int(cell, (int64_t)count);
}

static void add_row(struct table *out, struct report *report, const struct source *source, int uncertain)
{
    const struct report_table *table = table_of(report, source->name);
    struct table_cell *row = table_add_row(out);

    if (!row)
        return;
    cell_set_text(out, &row[0], source->name, strlen(source->name));
    uint64_t rows = table ? table->rows : 0;
    cell_set_int(&row[1],
                 (int64_t)(source->counted && (!uncertain || source->recorded > rows) ? source->recorded : rows));
    if (source->counted || uncertain) {
        set_figure(out, &row[2], source->below_threshold, uncertain);
        set_figure(out, &row[3], source->untimed, uncertain);
        set_figure(out, &row[4], source->lost, uncertain);
    }
    if (!table)
        return;
    cell_set_int(&row[5], (int64_t)table->packed_bytes);
    if (table->first_ns <= table->last_ns) {
        cell_set_int(&row[6], table->first_ns);
        cell_set_int(&row[7], table->last_ns);
    }
}

static void print_sources(struct text *out, struct report *report, const struct counts *counts)
{
    static const struct table_column columns[] = {
        { "Source", CELL_TEXT, UNIT_NONE, 0 },
        { "Recorded", CELL_INT, UNIT_NONE, 0 },
        { "Below threshold", CELL_INT, UNIT_NONE, 0 },
        { "Untimed", CELL_INT, UNIT_NONE, 0 },
        { "Lost", CELL_INT, UNIT_NONE, 0 },
        { "Bytes", CELL_INT, UNIT_NONE, 0 },
        { "First", CELL_INT, UNIT_TIME, 0 },
        { "Last", CELL_INT, UNIT_TIME, 0 },
    };
    const struct print_request request = { .time = time_unit_find("seconds"), .to_terminal = 1 };
    struct table *table = table_new(columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; table && i < counts->source_count; i++)
        add_row(table, report, &counts->sources[i], counts->uncertain);
    text_add(out, "\nSources\n");
    if (table)
        print_column.table(out, table, &request);
    table_delete(table);
    for (size_t i = 0; i < counts->losses.count; i++) {
        const struct loss *loss = &counts->losses.items[i];
        if (loss_is_of_processes(loss)) {
            text_add(out, " processes not recorded");
        } else {
            text_add(out, " lost of ");
            display_add(out, loss->source, strlen(loss->source), 40);
        }
        text_add(out, ": ");
        human_count(out, loss->count);
        text_add(out, loss_is_of_processes(loss) ? ", " : " by ");
        display_add(out, loss->cause, strlen(loss->cause), 40);
        text_add_char(out, '\n');
    }
}

int info_add_sources(struct text *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "source", "fate", "count", NULL };
    struct counts *counts = calloc(1, sizeof *counts);
    struct small_table rows;
    int code;

    if (!counts)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    if ((code = small_table_read(&rows, report, "TACHO_COUNT", names, err)) != 0)
        goto free_counts;
    for (size_t i = 0; i < rows.columns.rows; i++)
        add_count(counts, small_table_text(&rows, i, 0, NULL), small_table_text(&rows, i, 1, NULL),
                  (uint64_t)small_table_number(&rows, i, 2, 0));
    small_table_free(&rows);
    if ((code = losses_read(&counts->losses, report, err)) != 0)
        goto free_counts;
    counts->uncertain = !report_health(report).complete || report_health(report).recovered;
    add_uncounted(counts, report);
    if (counts->source_count)
        print_sources(out, report, counts);
free_counts:
    free(counts);
    return code;
}
