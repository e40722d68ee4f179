/* A row for each report of a set. */
#include "info_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/ranks/rank_lists.h"
#include "base/array.h"
#include "base/saturating.h"
#include "cmd/print/print.h"
#include "cmd/report_sources.h"
#include "report/reader/unite.h"

enum { RANK, HOST, GPU, FROM, SPAN, EVENTS, LOST, HEALTH, CLOCK, OFFSET, DRIFT, CLOCK_ERROR, FILE_NAME, COLUMNS };

static void info_set_text(struct table *table, struct table_cell *cell, const char *text)
{
    if (text && *text)
        cell_set_text(table, cell, text, strlen(text));
}

int info_is_set(const struct report *report, const char *path)
{
    size_t count = report_part_count(report);

    return count > 1 || (count == 1 && strcmp(report_part_at(report, 0)->name, path) != 0);
}

static void add_spans(struct text *out, const int64_t *ranks, size_t count)
{
    for (size_t first = 0, last; first < count; first = last + 1) {
        for (last = first; last + 1 < count && ranks[last + 1] - ranks[last] <= 1; last++)
            ;
        text_addf(out, "%s%" PRId64, first ? "," : "", ranks[first]);
        if (ranks[last] != ranks[first])
            text_addf(out, "-%" PRId64, ranks[last]);
    }
}

void info_add_ranks(struct text *out, const struct report_part *about)
{
    int64_t *ranks = array_alloc(about->rank_count + 1, sizeof *ranks);

    if (!ranks)
        return;
    ranks[0] = about->rank;
    for (size_t i = 0; i < about->rank_count; i++)
        ranks[i] = about->ranks[i].rank;
    qsort(ranks, about->rank_count, sizeof *ranks, array_by_int64);
    if (about->kept_ranks)
        add_spans(out, about->kept_ranks, about->kept_rank_count);
    else if (about->rank_count || about->rank >= 0)
        add_spans(out, ranks, about->rank_count ? about->rank_count : 1);
    free(ranks);
}

const char *info_part_state(struct report *part)
{
    struct report_health health = report_health(part);

    return health.damaged_chunks ? "damaged" : health.complete ? "complete" : "unfinished";
}

static int read_world_size(int64_t *size, struct report *set, struct error *err)
{
    static const char *const names[] = { "worldSize", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, set, "TACHO_PROCESS", names, err);

    *size = 0;
    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (row_int_or(&rows, 0, 0) > *size)
            *size = row_int(&rows, 0);
    row_cursor_close(&rows);
    return 0;
}

static void info_set_mark(char *is_there, int64_t world_size, int64_t rank)
{
    if (rank >= 0 && rank < world_size)
        is_there[rank] = 1;
}

int info_add_missing(struct text *out, struct report *set, int64_t *world_size, struct error *err)
{
    enum { MOST_SPANS = 8 };
    int code = read_world_size(world_size, set, err);

    if (code != 0 || *world_size < 1 || *world_size > REPORT_MOST_PARTS)
        return code;
    char *is_there = calloc((size_t)*world_size, 1);
    int64_t *missing = array_alloc((size_t)*world_size, sizeof *missing);
    size_t count = 0;
    if ((!is_there || !missing) && (code = error_no_memory(err)) != 0)
        goto free_lists;
    for (size_t i = 0; i < report_part_count(set); i++) {
        const struct report_part *about = report_part_at(set, i);
        info_set_mark(is_there, *world_size, about->rank);
        for (size_t r = 0; r < about->rank_count; r++)
            info_set_mark(is_there, *world_size, about->ranks[r].rank);
    }
    for (int64_t rank = 0; rank < *world_size; rank++)
        if (!is_there[rank])
            missing[count++] = rank;
    rank_list_add(out, missing, count, MOST_SPANS);
free_lists:
    free(is_there);
    free(missing);
    return code;
}

/* The GPUs that the report's processes opened, as they count them themselves. */
static int set_gpus(struct table *table, struct table_cell *cell, struct report *part, struct error *err)
{
    static const char *const names[] = { "deviceId", NULL };
    struct row_cursor rows;
    struct text list = { 0 };
    uint64_t seen = 0;
    int code = row_cursor_open(&rows, part, "TARGET_INFO_CUDA_CONTEXT_INFO", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t device = row_int_or(&rows, 0, -1);
        if (device < 0 || device >= 64 || (seen >> device & 1))
            continue;
        seen |= UINT64_C(1) << device;
        text_addf(&list, "%s%" PRId64, list.length ? "," : "", device);
    }
    row_cursor_close(&rows);
    info_set_text(table, cell, text_string(&list));
    text_free(&list);
    return 0;
}

static int set_events(struct table_cell *row, struct report *part, struct error *err)
{
    struct report_sources *sources = malloc(sizeof *sources);
    uint64_t recorded = 0, lost = 0;
    int code;

    if (!sources)
        return error_no_memory(err);
    if ((code = report_sources_read(sources, part, err)) != 0)
        goto free_sources;
    for (size_t i = 0; i < sources->count; i++) {
        recorded += sources->list[i].recorded;
        lost += sources->list[i].lost;
    }
    cell_set_int(&row[EVENTS], (int64_t)recorded);
    cell_set_int(&row[LOST], (int64_t)lost);
free_sources:
    free(sources);
    return code;
}

static int info_set_add_part(struct table *table, struct report *set, size_t index, struct error *err)
{
    const struct report_part *about = report_part_at(set, index);
    struct report *part = report_part_report(set, index);
    struct report_span span = report_times(part);
    struct table_cell *row = table_add_row(table);
    struct text ranks = { 0 };
    int code;

    if (!row)
        return error_no_memory(err);
    info_add_ranks(&ranks, about);
    info_set_text(table, &row[RANK], text_string(&ranks));
    text_free(&ranks);
    info_set_text(table, &row[HOST], about->host);
    info_set_text(table, &row[HEALTH], info_part_state(part));
    info_set_text(table, &row[CLOCK], about->clock);
    cell_set_int(&row[OFFSET], report_part_offset(about));
    cell_set_real(&row[DRIFT], report_part_drift(about));
    if (about->clock_error_ns >= 0)
        cell_set_int(&row[CLOCK_ERROR], about->clock_error_ns);
    info_set_text(table, &row[FILE_NAME], about->name);
    if (span.from_ns <= span.to_ns) {
        cell_set_int(&row[FROM], report_part_time(about, span.from_ns));
        cell_set_int(&row[SPAN], saturating_duration(span.from_ns, span.to_ns));
    }
    if ((code = set_gpus(table, &row[GPU], part, err)) != 0)
        return code;
    return set_events(row, part, err);
}

static void info_set_add_reports(struct text *out, const struct table *table)
{
    const struct print_request request = { .time = time_unit_find("seconds"),
                                           .to_terminal = 1,
                                           .terminal_columns = print_terminal_columns(STDOUT_FILENO) };

    text_add(out, "\nReports\n");
    (request.terminal_columns ? &print_human : &print_column)->table(out, table, &request);
}

int info_add_merged(struct text *out, struct report *report, struct error *err)
{
    enum { OWN_RANK, OWN_HOST, METHOD, OWN_OFFSET, OWN_DRIFT, OWN_ERROR, OWN_FILE, STRETCH, OWN_COLUMNS = STRETCH };
    static const char *const names[] = { "rank",    "host", "method",  "offsetNs", "driftPpm",
                                         "errorNs", "file", "stretch", NULL };
    static const struct table_column columns[OWN_COLUMNS] = {
        { "Rank", CELL_INT, UNIT_ID, 0 },           { "Host", CELL_TEXT, UNIT_NONE, 0 },
        { "Clock", CELL_TEXT, UNIT_NONE, 0 },       { "Offset", CELL_INT, UNIT_TIME, 0 },
        { "Drift (ppm)", CELL_REAL, UNIT_NONE, 3 }, { "Error (ns)", CELL_INT, UNIT_NONE, 0 },
        { "File", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, OWN_COLUMNS);
    struct row_cursor rows = { 0 };
    int code = table ? row_cursor_open(&rows, report, "TACHO_CLOCK_OFFSET", names, err) : error_no_memory(err);

    while (row_cursor_next(&rows)) {
        struct table_cell *row = row_int_or(&rows, STRETCH, 0) ? NULL : table_add_row(table);
        for (size_t i = 0; row && i < OWN_COLUMNS; i++) {
            if (row_is_null(&rows, i))
                continue;
            if (columns[i].kind == CELL_TEXT)
                info_set_text(table, &row[i], report_string(report, row_int(&rows, i), NULL));
            else if (columns[i].kind == CELL_REAL)
                cell_set_real(&row[i], row_real(&rows, i));
            else
                cell_set_int(&row[i], row_int(&rows, i));
        }
    }
    row_cursor_close(&rows);
    if (table && table_row_count(table))
        info_set_add_reports(out, table);
    table_delete(table);
    return code;
}

int info_add_set(struct text *out, struct report *set, struct error *err)
{
    static const struct table_column columns[COLUMNS] = {
        [RANK] = { "Rank", CELL_TEXT, UNIT_NONE, 0 },         [HOST] = { "Host", CELL_TEXT, UNIT_NONE, 0 },
        [GPU] = { "GPU", CELL_TEXT, UNIT_NONE, 0 },           [FROM] = { "From", CELL_INT, UNIT_TIME, 0 },
        [SPAN] = { "Span", CELL_INT, UNIT_TIME, 0 },          [EVENTS] = { "Events", CELL_INT, UNIT_NONE, 0 },
        [LOST] = { "Lost", CELL_INT, UNIT_NONE, 0 },          [HEALTH] = { "Health", CELL_TEXT, UNIT_NONE, 0 },
        [CLOCK] = { "Clock", CELL_TEXT, UNIT_NONE, 0 },       [OFFSET] = { "Offset", CELL_INT, UNIT_TIME, 0 },
        [DRIFT] = { "Drift (ppm)", CELL_REAL, UNIT_NONE, 3 }, [CLOCK_ERROR] = { "Error (ns)", CELL_INT, UNIT_NONE, 0 },
        [FILE_NAME] = { "File", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, COLUMNS);
    int code = 0;

    if (!table)
        return error_no_memory(err);
    for (size_t i = 0; i < report_part_count(set); i++) {
        if ((code = info_set_add_part(table, set, i, err)) != 0)
            goto delete_table;
        report_release_memory(report_part_report(set, i));
    }
    info_set_add_reports(out, table);
delete_table:
    table_delete(table);
    return code;
}
