/* Per source: what it produced and what became of it. Recorded + below threshold + untimed + lost = produced. */
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "human.h"
#include "info.h"
#include "print.h"
#include "rows.h"

/* Where a source's events are. A table whose source counted nothing (an import) still gets its row. */
static const struct { const char *source, *table; } source_tables[] = {
    { "nvtx", "NVTX_EVENTS" },
    { "osrt", "OSRT_API" },
    { "cuda api", "CUPTI_ACTIVITY_KIND_RUNTIME" },
    { "cuda kernels", "CUPTI_ACTIVITY_KIND_KERNEL" },
};

enum { SOURCES_MAX = 32, CAUSES_MAX = 64 };

struct source {
    const char *name;
    uint64_t recorded, below_threshold, untimed, lost;
    int counted; /* TACHO_COUNT has it */
};

struct cause {
    const char *source, *name;
    uint64_t count;
};

struct counts {
    struct source sources[SOURCES_MAX];
    size_t source_count;
    struct cause causes[CAUSES_MAX];
    size_t cause_count;
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

static void add_cause(struct counts *counts, const char *source, const char *name, uint64_t count)
{
    for (size_t i = 0; i < counts->cause_count; i++)
        if (strcmp(counts->causes[i].source, source) == 0 && strcmp(counts->causes[i].name, name) == 0) {
            counts->causes[i].count += count;
            return;
        }
    if (counts->cause_count < CAUSES_MAX)
        counts->causes[counts->cause_count++] = (struct cause){ source, name, count };
}

static void add_count(struct counts *counts, const char *source_name, const char *fate, const char *cause, uint64_t count)
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
    } else {
        source->lost += count;
        if (count)
            add_cause(counts, source_name, cause, count);
    }
}

static const struct report_table *table_of(struct report *report, const char *source)
{
    for (size_t i = 0; i < sizeof source_tables / sizeof source_tables[0]; i++)
        if (strcmp(source_tables[i].source, source) == 0)
            return report_table(report, source_tables[i].table);
    return NULL;
}

static void add_row(struct table *out, struct report *report, const struct source *source)
{
    const struct report_table *table = table_of(report, source->name);
    struct table_cell *row = table_add_row(out);

    if (!row)
        return;
    cell_set_text(out, &row[0], source->name, strlen(source->name));
    cell_set_int(&row[1], (int64_t)(source->counted ? source->recorded : table ? table->rows : 0));
    if (source->counted) {
        cell_set_int(&row[2], (int64_t)source->below_threshold);
        cell_set_int(&row[3], (int64_t)source->untimed);
        cell_set_int(&row[4], (int64_t)source->lost);
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
        { "Source", CELL_TEXT, UNIT_NONE, 0 }, { "Recorded", CELL_INT, UNIT_NONE, 0 }, { "Below threshold", CELL_INT, UNIT_NONE, 0 },
        { "Untimed", CELL_INT, UNIT_NONE, 0 }, { "Lost", CELL_INT, UNIT_NONE, 0 }, { "Bytes", CELL_INT, UNIT_NONE, 0 },
        { "First", CELL_INT, UNIT_NS, 0 }, { "Last", CELL_INT, UNIT_NS, 0 },
    };
    const struct print_request request = { .time = time_unit_find("seconds"), .to_terminal = 1 };
    struct table *table = table_new(columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; table && i < counts->source_count; i++)
        add_row(table, report, &counts->sources[i]);
    text_add(out, "\nSources\n");
    if (table)
        print_column.table(out, table, &request);
    table_delete(table);
    for (size_t i = 0; i < counts->cause_count; i++) {
        text_add(out, " lost of ");
        display_add(out, counts->causes[i].source, strlen(counts->causes[i].source), 40);
        text_add(out, ": ");
        human_count(out, counts->causes[i].count);
        text_add(out, " by ");
        display_add(out, counts->causes[i].name, strlen(counts->causes[i].name), 40);
        text_add_char(out, '\n');
    }
}

int info_add_sources(struct text *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "source", "fate", "cause", "count", NULL };
    struct counts *counts = calloc(1, sizeof *counts);
    struct rows rows;

    if (!counts)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    int code = rows_read(&rows, report, "TACHO_COUNT", names, err);
    for (size_t i = 0; code == 0 && i < rows.columns.rows; i++)
        add_count(counts, rows_text(&rows, i, 0, NULL), rows_text(&rows, i, 1, NULL), rows_text(&rows, i, 2, NULL),
                  (uint64_t)rows_number(&rows, i, 3, 0));
    rows_free(&rows);
    for (size_t i = 0; code == 0 && i < sizeof source_tables / sizeof source_tables[0]; i++) {
        const struct report_table *table = report_table(report, source_tables[i].table);
        if (table && table->rows)
            find_source(counts, source_tables[i].source);
    }
    if (code == 0 && counts->source_count)
        print_sources(out, report, counts);
    free(counts);
    return code;
}
