/* For each source, the number of events that it produced, and their fate. Recorded + below threshold + untimed + lost +
 * empty polls = produced. */
#include "info_sources.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "cmd/print/print.h"
#include "cmd/report_sources.h"

/* A figure, or "?" where none is known. */
static void info_sources_set_figure(struct table *out, struct table_cell *cell, uint64_t count, int uncertain)
{
    if (uncertain && !count)
        cell_set_text(out, cell, "?", 1);
    else
        cell_set_int(cell, (int64_t)count);
}

static void info_sources_add_row(struct table *out, const struct report_source *source, int uncertain)
{
    struct table_cell *row = table_add_row(out);

    if (!row)
        return;
    cell_set_text(out, &row[0], source->name, strlen(source->name));
    cell_set_int(&row[1], (int64_t)source->recorded);
    if (source->is_counted || uncertain) {
        info_sources_set_figure(out, &row[2], source->below_threshold, uncertain);
        info_sources_set_figure(out, &row[3], source->untimed, uncertain);
        info_sources_set_figure(out, &row[4], source->lost, uncertain);
    }
    if (!source->table)
        return;
    cell_set_int(&row[5], (int64_t)source->table->packed_bytes);
    if (source->table->first_ns <= source->table->last_ns) {
        cell_set_int(&row[6], source->table->first_ns);
        cell_set_int(&row[7], source->table->last_ns);
    }
}

static void print_sources(struct text *out, const struct report_sources *sources)
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
    const struct print_request request = { .time = time_unit_find("seconds"),
                                           .to_terminal = 1,
                                           .terminal_columns = print_terminal_columns(STDOUT_FILENO) };
    struct table *table = table_new(columns, COUNT_OF(columns));

    for (size_t i = 0; table && i < sources->count; i++)
        info_sources_add_row(table, &sources->list[i], sources->is_uncertain);
    text_add(out, "\nSources\n");
    if (table)
        (request.terminal_columns ? &print_human : &print_column)->table(out, table, &request);
    table_delete(table);
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->list[i].left_out) {
            text_addf(out, " %s: and ", sources->list[i].name);
            human_count(out, sources->list[i].left_out);
            text_add(out, " left out to keep the cost of recording low, counted only\n");
        }
        if (!sources->list[i].empty_polls)
            continue;
        text_addf(out, " %s: and ", sources->list[i].name);
        human_count(out, sources->list[i].empty_polls);
        text_add(out, sources->list[i].empty_polls == 1 ? " call" : " calls");
        text_add(out, " that found nothing (polls), counted only\n");
    }
    for (size_t i = 0; i < sources->counts.loss_count; i++) {
        text_add_char(out, ' ');
        loss_add(out, &sources->counts.losses[i]);
        text_add_char(out, '\n');
    }
}

int info_add_sources(struct text *out, struct report *report, struct error *err)
{
    struct report_sources *sources = malloc(sizeof *sources);
    int code;

    if (!sources)
        return error_no_memory(err);
    if ((code = report_sources_read(sources, report, err)) == 0 && sources->count)
        print_sources(out, sources);
    free(sources);
    return code;
}
